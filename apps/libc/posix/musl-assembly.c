/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl's assembly files that hold raw system calls, again in C: __syscall_cp_asm, __restore_rt and vfork. (__clone and
 * __unmapself are in thread.c.)
 */
#include <errno.h>
#include <sys/types.h>
#include "family.h"
#include "layer.h"
#include "signals.h"

long skerry_syscall(long, long, long, long, long, long, long);
long __cancel(void);

/* musl's signal handler compares a program counter with these; it never runs. */
const char __cp_begin[1], __cp_end[1], __cp_cancel[1];

static __attribute__((noinline)) void learn_offset(volatile const int *cancelled)
{
	intptr_t tls;

	if (signals_interrupt)
		return;
	__asm__("mov %%fs:0, %0" : "=r"(tls));
	cancel_offset = (intptr_t)cancelled - tls;
}

/* Called for cancellation points only, and not by threads that have cancellation disabled. */
long __syscall_cp_asm(volatile int *cancelled, long n, long a, long b, long c, long d, long e, long f)
{
	struct thread *self = thread_self();

	if (*cancelled)
		return __cancel();
	require(!self->cancel || self->cancel == &signal_interrupted);
	self->cancel = cancelled;
	if (!cancel_offset) /* or signals_interrupt: no call goes straight into the layer */
		learn_offset(cancelled);
	long result = skerry_syscall(n, a, b, c, d, e, f);
	self->cancel = 0;
	return result;
}

/* Where a signal handler would return to, if the layer did not call it. */
_Noreturn void __restore_rt(void) { __builtin_trap(); }

#ifdef LAYER_FAMILY
pid_t _Fork(void);

/* As fork(), but for handlers of pthread_atfork(): POSIX lets a child of vfork() do no more than one of fork(). The
 * parent waits until the child ends or executes another program. */
int vfork(void)
{
	family_vfork_begin();
	const pid_t pid = _Fork();

	if (pid)
		family_vfork_wait(pid);
	return pid;
}
#else
int vfork(void)
{
	errno = ENOSYS; /* called from programs only, when thread-local storage exists */
	return -1;
}
#endif
