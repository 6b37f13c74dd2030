/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cancellation, and musl's assembly files that hold raw system calls, again in
 * C. pthread_cancel() sets the target's `cancel` word, then sends SIGCANCEL
 * with tkill(). Its handler never runs, the layer does the rest: tkill() wakes
 * the target, and if it sleeps in a cancellation point its call returns -EINTR,
 * on which musl's __syscall_cp_c() ends the thread. A call that had its effect
 * returns that instead, so no data is lost. A thread that computes, or sleeps
 * elsewhere, is cancelled at its next cancellation point, whatever its type.
 */
#include <errno.h>
#include "layer.h"
#include "platform.h"

long skerry_syscall(long, long, long, long, long, long, long);
long __cancel(void);

/* musl's signal handler compares a program counter with these; it never runs. */
const char __cp_begin[1], __cp_end[1], __cp_cancel[1];

intptr_t cancel_offset; /* the same in each thread: of a member in musl's struct */

static __attribute__((noinline)) void learn_offset(volatile const int *cancelled)
{
	intptr_t tls;

	__asm__("mov %%fs:0, %0" : "=r"(tls));
	cancel_offset = (intptr_t)cancelled - tls;
}

/* Called for cancellation points only, and not by threads that have cancellation disabled. */
long __syscall_cp_asm(volatile int *cancelled, long n, long a, long b, long c, long d, long e, long f)
{
	struct thread *self = thread_self();

	if (*cancelled)
		return __cancel();
	self->cancel = cancelled;
	if (!cancel_offset)
		learn_offset(cancelled);
	long result = skerry_syscall(n, a, b, c, d, e, f);
	self->cancel = 0;
	return result;
}

bool thread_cancelled(const struct thread *thread) { return thread->cancel && *thread->cancel; }

/* The lock is held from this look until the thread sleeps, and by tkill(): the wake-up cannot be lost. */
int event_sleep(uint64_t deadline)
{
	if (thread_cancelled(thread_self()))
		return -EINTR;
	return event_wait(deadline) ? 0 : -EAGAIN;
}

long thread_interrupt(int tid)
{
	for (struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid == tid) {
			if (t->futex)
				thread_signal(t);
			event_notify();
			return 0;
		}
	return -ESRCH;
}

/* Where a signal handler would return to, if the layer did not call it. */
_Noreturn void __restore_rt(void) { __builtin_trap(); }

int vfork(void)
{
	errno = ENOSYS; /* called from programs only, when thread-local storage exists */
	return -1;
}
