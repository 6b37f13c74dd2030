/* SPDX-License-Identifier: BSD-2-Clause */
#include "fast.h"

_Noreturn void trap_signal_wait(uint64_t cptr, uint64_t info, uint64_t signal, struct cpu *cpu)
{
	const struct context *caller = &cpu->shared.current->context, *context = fastpath_signal_wait(cpu, cptr, signal);
	(void)info;
	if (context != caller)
		leave_fast(context);
	asm volatile("jmp entry_resume" ::"D"(context) : "memory"); /* the program goes on: it keeps its GS base */
	__builtin_unreachable();
}
