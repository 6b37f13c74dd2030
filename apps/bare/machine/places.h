/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a program finds what the kernel gives it: at its addresses (root_info.h). The kernel's tests have this header
 * once more, for the hosted port: apps/ktest/hosted/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include <skerry/stat.h>
#include <skerry/x86.h>

#define ROOT ((const struct root_info *)ROOT_INFO_VADDR)
#define IPC  ((struct ipc_buffer *)ROOT_IPC_BUFFER_VADDR) /* of the main thread */
#define STAT ((const volatile struct core_stat *)ROOT_STAT_VADDR)

/* The memory that is mapped at an address of the main address space. */
static inline void *place(uint64_t address) { return (void *)address; }

/* --- what a program does beside system calls --- */

/* Once in each turn of a loop that makes no system call. */
static inline void program_turn(void) { }
static inline uint64_t program_load(uint64_t address) { return *(volatile uint64_t *)address; }
static inline void program_store(uint64_t address, uint64_t value) { *(volatile uint64_t *)address = value; }
static inline void program_break(void) { __asm__ volatile("int3"); }
/* An undefined instruction, of two bytes. */
static inline void program_undefined(void) { __asm__ volatile("ud2"); }
/* Returns whether a RIP is one of a short function's. */
static inline bool program_in(const void *function, uint64_t rip) { return rip - (uint64_t)function < 128; }

/* Returns a number, not 0, that identifies the core it runs on. */
static inline uint64_t program_core(void) { return (cpuid(1, 0).ebx >> 24) + 1; } /* the local APIC's id */
