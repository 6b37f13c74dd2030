/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where CALL, REPLY_RECV and SIGNAL_WAIT arrive, with their arguments still in registers: entry.S jumps there.
 *
 * None of these functions returns, so none needs a stack frame: meson.build compiles fast.c, or fast-homes.c in its
 * place, and fast-wait.c without frame pointers, which saves three to four instructions of each call.
 */
#pragma once

#include "arch.h"
#include "fastpath.h"
#include "fastpath_wait.h"

_Noreturn void trap_call(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_reply_receive(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_signal_wait(uint64_t cptr, uint64_t info, uint64_t signal, struct cpu *cpu);

/* Leaves the fast path through entry.S. */
static inline __attribute__((always_inline)) _Noreturn void leave_fast(const struct context *context)
{
	if (context)
		asm volatile("mov %0, %%rsp; jmp entry_resume_fast" ::"r"(context) : "memory");
	else
		asm volatile("jmp entry_declined" ::: "memory");
	__builtin_unreachable();
}
