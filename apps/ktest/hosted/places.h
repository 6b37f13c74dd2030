/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of the processor's (apps/bare/machine/places.h): physical memory is an arena of the host's memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include <skerry/stat.h>

#define ROOT ((const struct root_info *)program_root_info())
#define IPC  ((struct ipc_buffer *)program_ipc_buffer())
#define STAT ((const volatile struct core_stat *)0) /* only the processor's tests read it */

const void *program_root_info(void);
void *program_ipc_buffer(void);
/* Returns the memory of the one page that is mapped at an address of the main address space. */
void *place(uint64_t address);
/* Other cores and interrupts get their turn; some time passes. */
void program_turn(void);
/* By the TLB of the core; a page fault where that has no such mapping. */
uint64_t program_load(uint64_t address);
void program_store(uint64_t address, uint64_t value);
void program_break(void);
void program_undefined(void);
bool program_in(const void *function, uint64_t rip);
uint64_t program_core(void);
