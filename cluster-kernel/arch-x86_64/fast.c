/* SPDX-License-Identifier: BSD-2-Clause */
#include "fast.h"

_Noreturn void trap_call(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	(void)reply;
	leave_fast(fastpath_call(cpu, cptr, info));
}

_Noreturn void trap_reply_receive(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	leave_fast(fastpath_reply_receive(cpu, cptr, info, reply));
}
