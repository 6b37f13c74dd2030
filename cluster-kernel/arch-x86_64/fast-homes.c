/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In the place of fast.c, for regimes with homes of objects. An entry has one of three guards (core/fastpath.h), which
 * only the entry itself tells. Each guard has a function of its own, so that registers saved around one guard's waiting
 * loops cost the others nothing. The arguments stay in their registers.
 */
#include "fast.h"

#define JUMP(function)                                                                                            \
	do {                                                                                                      \
		asm volatile("jmp " #function ::"D"(cptr), "S"(info), "d"(reply), "c"(cpu) : "memory");           \
		__builtin_unreachable();                                                                          \
	} while (0)
#define FAST __attribute__((noinline, used, flatten)) _Noreturn

_Noreturn void trap_call_locked(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_call_home(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_call_unbiased(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_reply_receive_locked(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_reply_receive_home(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);
_Noreturn void trap_reply_receive_unbiased(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu);

FAST void trap_call_locked(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	(void)reply;
	leave_fast(call_entered(cpu, current(cpu), cptr, info, FAST_LOCKS, &unguarded));
}

FAST void trap_call_home(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	const struct context *context = call_entered(cpu, current(cpu), cptr, info, FAST_HOME, &unguarded);
	if (!unguarded)
		leave_fast(context);
	JUMP(trap_call_locked);
}

FAST void trap_call_unbiased(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	kernel_enter_unbiased(cpu);
	if (kernel_locks_objects(cpu))
		JUMP(trap_call_locked);
	leave_fast(call_entered(cpu, current(cpu), cptr, info, FAST_KERNEL, &unguarded));
}

_Noreturn void trap_call(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	if (kernel_enter_biased(cpu))
		JUMP(trap_call_home);
	JUMP(trap_call_unbiased);
}

FAST void trap_reply_receive_locked(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	leave_fast(reply_receive_entered(cpu, current(cpu), cptr, info, reply, FAST_LOCKS, &unguarded));
}

FAST void trap_reply_receive_home(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	const struct context *context = reply_receive_entered(cpu, current(cpu), cptr, info, reply, FAST_HOME,
	                                                      &unguarded);
	if (!unguarded)
		leave_fast(context);
	JUMP(trap_reply_receive_locked);
}

FAST void trap_reply_receive_unbiased(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	bool unguarded = false;
	kernel_enter_unbiased(cpu);
	if (kernel_locks_objects(cpu))
		JUMP(trap_reply_receive_locked);
	leave_fast(reply_receive_entered(cpu, current(cpu), cptr, info, reply, FAST_KERNEL, &unguarded));
}

_Noreturn void trap_reply_receive(uint64_t cptr, uint64_t info, uint64_t reply, struct cpu *cpu)
{
	if (kernel_enter_biased(cpu))
		JUMP(trap_reply_receive_home);
	JUMP(trap_reply_receive_unbiased);
}
