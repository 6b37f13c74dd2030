/* SPDX-License-Identifier: BSD-2-Clause */
#include "fast.h"

_Noreturn void trap_signal_wait(uint64_t cptr, uint64_t info, uint64_t signal, struct cpu *cpu)
{
	bool goes_on = false;
	const struct context *context = fastpath_signal_wait(cpu, cptr, signal, &goes_on);
	(void)info;
	if (!context)
		leave_fast(0);
	if (goes_on) /* the program keeps its GS base */
		asm volatile("jmp entry_resume" ::"D"(context) : "memory");
	else /* the first of the run queue may have been interrupted, and be in no system call */
		asm volatile("mov %0, %%rsp; jmp entry_resume_next" ::"r"(context) : "memory");
	__builtin_unreachable();
}
