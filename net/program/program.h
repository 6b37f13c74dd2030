/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The little that the network's own processes (switch, drivers) need of a
 * runtime: they have one thread, no libc and no heap.
 */
#pragma once

#include <stdint.h>
#include <skerry/bell.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

/* Where each program begins. It has no end: what cannot go on calls program_fail(). */
_Noreturn void program_main(const struct process_info *info);

/* One line on the console; `number`, in hexadecimal, follows when it is not 0. */
void program_say(const char *text, uint64_t number);
_Noreturn void program_fail(const char *text, uint64_t number);

/* Until frames, room or an interrupt arrive. */
static inline void program_wait(void) { notification_wait(PROCESS_SLOT_WAKE, 0, 0); }
