/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that interrupt a thread of their own process: those that one thread sends to another, and those of timers. A
 * thread of the layer's own, the helper, looks for them when it is told to, when a timer expires, and each millisecond
 * while one is there that has not been taken. A thread that
 *
 *  - sleeps in the layer gives up with -EINTR, as one that was cancelled (cancel.c): its handlers run at the end of its
 *    call (restart.c);
 *  - is in the layer otherwise is left alone: its handlers run at the end of its call;
 *  - runs code of the program is put at take_signals(), where its handlers run, and goes on behind that with all its
 *    registers.
 *
 * The helper holds the layer's lock while it decides, so a thread that it interrupts does not. Nothing of this is there
 * before the first such signal: from then on each call counts (signal_state.depth), and none goes straight into the
 * layer (direct.c).
 */
#include <errno.h>
#include <string.h>
#include "family.h"
#include "platform.h"
#include "registers-kept.h"
#include "signals.h"

enum { STACK_PAGES = 4 };
static const uint64_t AGAIN = 1000000; /* nanoseconds */

bool signals_interrupt, calls_plain;
uint64_t (*interrupts_timers)(void);
static struct thread *helper;
static char *stack;
static struct {
	void *self;
	char rest[504]; /* nothing of the layer uses it */
} own_tls;
const volatile int signal_interrupted = 1;

static void handle_signals(void)
{
	layer_lock();
	signal_leave(0);
}

/* The address where the thread goes on is on its stack, behind the red zone. */
static __attribute__((naked, noinline)) void take_signals(void)
{
	__asm__ volatile(REGISTERS_KEPT("call %P0")
	                 : : "i"(handle_signals));
}

/* Returns the number of calls that a thread is in. */
static const volatile unsigned *depth_of(const struct thread *t)
{
#ifdef LAYER_FAMILY
	/* nobody counts those of other threads: they take signals at their calls' ends */
	static const unsigned always = 1;

	return t->index ? &always : &family_depth;
#else
	return &signal_state_of(t)->depth;
#endif
}

static bool sleeps(const struct thread *t)
{
	return t->event_waiter || t->futex || event_poller() == t || t == helper;
}

static void interrupt(struct thread *t)
{
#ifdef LAYER_FAMILY
	family_queued = true; /* its call looks at its end */
	/* The manager may be about to put the thread elsewhere, too; then one of the two places is lost. Hazard: a
	 * signal of the manager's that waits for the next. So they are taken here as well. */
	family_due = true;
#endif
	if (!*depth_of(t) && !sleeps(t) && platform_interrupt(t->index, depth_of(t), take_signals))
		return;
	t->cancel = &signal_interrupted;
	thread_interrupt(t->tid);
}

/* Interrupts the thread of each signal that is for one thread, and one for those of the process. Returns whether there
 * is any. */
static bool interrupt_all(void)
{
	bool any = false, process = false;

	if (!signal_any())
		return false;
	for (struct thread *t = threads; t < threads + thread_places; t++) {
		const struct signal_state *s = signal_state_of(t);

		if (!t->tid || t == helper || s->waits || !signal_is_due(s))
			continue;
		if (process && !(signal_pending_to(s) & ~s->blocked))
			continue;
		process = any = true;
		interrupt(t);
	}
	return any;
}

static int help(void *unused)
{
	layer_lock();
	for (;;) {
		uint64_t deadline = interrupts_timers ? interrupts_timers() : 0;

		if (interrupt_all()) {
			const uint64_t again = deadline_after(AGAIN);
			deadline = deadline && deadline < again ? deadline : again;
		}
		thread_sleep(helper, deadline);
	}
	return 0;
}

long interrupts_start(void)
{
	require(layer_is_locked());
	if (helper)
		return 0;
	if (!stack && !(stack = heap_map(STACK_PAGES)))
		return -EAGAIN;
	own_tls.self = &own_tls;
	const int tid = thread_create_own(help, stack + STACK_PAGES * PAGE, &own_tls);
	if (tid < 0)
		return -EAGAIN;
	for (helper = threads; helper->tid != tid;)
		helper++;
	signal_state_of(helper)->blocked = ~0ull;
	signals_interrupt = true;
	cancel_offset = 0;
	calls_plain = false;
	return 0;
}

void interrupts_look(void)
{
	require(helper);
	thread_signal(helper);
}

#ifdef LAYER_FAMILY
void interrupts_forked(void) { helper = 0; }
#endif
