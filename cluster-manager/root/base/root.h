/* SPDX-License-Identifier: BSD-2-Clause */
/* Needed by every file of the manager: its cluster and where its memory lies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include <skerry/stubs.h>

#define ROOT ((const struct root_info *)ROOT_INFO_VADDR)
#define IPC  ((struct ipc_buffer *)ROOT_IPC_BUFFER_VADDR) /* the main thread's; the timer thread has none */

/* The manager's own address space, above its image and below ROOT_RESERVED_BASE. */
#define WINDOW_VADDR  0x0000010000000000ull /* other programs' frames while they are written */
#define MODULES_VADDR 0x0000020000000000ull /* read-only */
#define OWN_VADDR     0x0000030000000000ull /* memory of its own, allocated at run time */
#define AREAS_VADDR   0x0000038000000000ull /* what each family of processes shares (skerry/family_area.h) */
#define CHANNEL_VADDR 0x0000040000000000ull /* headers and manager rings, CHANNEL_STRIDE apart */
#define CHANNEL_STRIDE 0x200000ull

enum { SIZE_4K = 0x1000, SIZE_2M = 0x200000 };

/* Priorities: the manager runs before everything else, and its timer (timer.c) before its main thread. */
enum { MANAGER_PRIORITY = 254, TIMER_PRIORITY = 255 };

/* The service endpoint's badges: application index + 1, its process's place << 16 (family.h), and BADGE_FAULT. */
#define BADGE_FAULT 0x100000000ull
enum { BADGE_PLACE = 16, BADGE_PART = 0xffff };

/* Bits of the main thread's bound notification */
enum { WAKE_TIMER = 1, WAKE_CHANNEL = 2, WAKE_OUTPUT = 4, WAKE_ALARM = 8 };

/* Ends this manager with a message. Only before the cluster serves any other. */
_Noreturn void manager_panic(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Called before the sentence is printed; null: nothing is. */
extern void (*manager_before_panic)(void);

/* The answer as TSC cycles. */
static inline uint64_t milliseconds(uint64_t ms) { return ROOT->tsc_hz / 1000 * ms; }
