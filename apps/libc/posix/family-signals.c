/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that other processes of the family send. The manager puts the first thread at take_signals(), with its place
 * in process_touched.resume. Where that thread is in the layer, it only makes its sleep end; the signal is delivered at
 * the end of the call. Where it is in the program, its handlers run at once, and the thread goes on behind that with
 * all its registers. If the first thread blocks a signal, or has ended, another thread takes it at its next call.
 *
 * Hazard: a lost signal, between the look at `family_due` and a sleep. The sleep ends at once then, for take_signals()
 * signals the notifications that a thread may sleep on; and MANAGER_WAIT does not wait while signals are there.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include "family.h"
#include "platform.h"
#include "registers-kept.h"

enum { ENTRY_SIZE = 32 /* bytes of take_signals(): beyond `resume`, before it asks for signals */ };

volatile unsigned family_depth;
volatile bool family_due, family_queued;
static bool started; /* the manager knows the entry */

static void interrupted(void)
{
	family_due = true;
	if (family_depth) { /* wherever it sleeps, it looks again */
		platform_signal(0);
		platform_signal(PLATFORM_NET);
	} else {
		family_deliver();
	}
}

/* Puts the address where the thread goes on behind the red zone of the code that it interrupts. */
static __attribute__((naked, noinline)) void take_signals(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
	                 "push %%rax\n\t"
	                 "movabs %0, %%rax\n\t"
	                 "mov (%%rax), %%rax\n\t"
	                 "xchg %%rax, (%%rsp)\n\t"
	                 REGISTERS_KEPT("call %P1")
	                 : : "i"(PROCESS_TOUCHED_VADDR + offsetof(struct process_touched, resume)), "i"(interrupted));
}

/* Stops the process until SIGCONT comes: its other threads wherever they are, the caller in the manager. */
void family_stop(int number)
{
	int error;

	require(layer_is_locked());
	family_signals_start(); /* SIGCONT must find it */
	platform_others_stop(true);
	while ((error = platform_stop((unsigned)number)) == -SKERRY_NO_RESOURCE) /* as many of the family wait as can */
		platform_yield();
	platform_others_stop(false);
	family_due |= !error; /* SIGCONT is there, and perhaps others that nobody was told of */
}

bool family_receive(void)
{
	struct sent sent;
	bool any = false;

	require(layer_is_locked());
	if (!started || !family_due)
		return false;
	family_due = false; /* first: the manager interrupts again when it has answered that there is none */
	for (platform_take_signal(&sent); sent.number; platform_take_signal(&sent)) {
		struct pending_signal p = { .number = (int)sent.number, .code = sent.code, .sender = (int)sent.sender };

		if (sent.number > SIGNALS)
			continue;
		p.value.sival_ptr = (void *)sent.value;
		any |= signal_receive(&p);
	}
	if (any)
		family_queued = true; /* the caller may end its call without a look at the queue */
	return any;
}

void family_deliver(void)
{
	layer_lock();
	family_receive();
	family_queued = false;
	signal_leave(0);
}

unsigned family_open(void)
{
	const unsigned depth = family_depth;

	if (thread_self()->index)
		return 1; /* its call, where the handler forks: it is the child's first thread then */
	family_depth = 1;
	family_leave();
	return depth;
}

void family_close(unsigned depth)
{
	if (thread_self()->index == 0)
		family_depth = depth;
}

void family_signals_changed(void)
{
	const struct signal_action *child = &signal_actions[SIGCHLD];

	const bool drops = child->handler == (void *)SIG_IGN || child->flags & SA_NOCLDWAIT;
	const bool drops_stops = child->handler == (void *)SIG_IGN || child->flags & SA_NOCLDSTOP;

	if (started && platform_signals((uintptr_t)take_signals, ENTRY_SIZE, drops, drops_stops) > 0)
		family_due = true;
}

void family_signals_start(void)
{
	require(layer_is_locked());
	if (started)
		return;
	started = true;
	family_signals_changed();
}

void family_signals_forked(void)
{
	family_due = family_queued = false;
	family_depth = 2; /* its call, and the lock */
	family_signals_changed();
}
