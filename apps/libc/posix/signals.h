/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of signals: signal.c, signal-queue.c and signal-calls.c. All of it is used under the layer's
 * lock. */
#pragma once

#include <signal.h>
#include "layer.h"

enum { SIGNALS = 64, SIGNAL_MASK_BYTES = 8 };

#define SIGNAL_BIT(number) (1ull << ((number) - 1))
#define SIGNALS_NEVER_BLOCKED (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

/* As musl gives it: its struct k_sigaction. */
struct signal_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

struct signal_state { /* of a thread */
	uint64_t blocked;
	bool waits; /* for a signal: it looks for one when event_notify() wakes it */
	bool restarts; /* LAYER_FAMILY: each handler that ran since this was set has SA_RESTART */
	uintptr_t alternate;
	size_t alternate_size; /* 0: it has no alternate stack */
	/* Calls of the layer that the thread is in: signals wait for their end. For the first thread of a family this
	 * is `family_depth`. Counted while signals_interrupt. */
	volatile unsigned depth;
};

struct pending_signal {
	const struct signal_state *to; /* null: the process, and so any thread */
	int number, code, sender;
	unsigned user;
	int timer, overrun; /* its timer's number, from 1 on, and how often that has expired again meanwhile; 0: none */
	union sigval value;
};

/* signal-queue.c. put: 0, or -EAGAIN when the queue is full. take: the one of `set` that is delivered first, if there
 * is any. */
long signal_put(const struct pending_signal *);
bool signal_take(const struct signal_state *, uint64_t set, struct pending_signal *);
uint64_t signal_pending(const struct signal_state *); /* a set */
uint64_t signal_pending_to(const struct signal_state *); /* of these, those that are for this thread alone */
bool signal_any(void);                                /* one is pending; also without the lock */
/* Counts `times` more expirations of a timer where its signal is pending. Returns whether it is. */
bool signal_overrun(int timer, int times);
void signal_drop(int number);                         /* wherever it is pending */
void signal_drop_all(void);                           /* LAYER_FAMILY */
/* LAYER_FAMILY: copies those that are for the thread or the process, `most` at most. Returns how many. */
unsigned signal_list(const struct signal_state *, struct pending_signal *list, unsigned most);

/* signal.c */
extern struct signal_action signal_actions[SIGNALS + 1];
struct signal_state *signal_state_of(const struct thread *);
bool signal_is_ignored(int number);
/* Returns whether one is pending of which a handler runs, or that ends the program. */
bool signal_is_due(const struct signal_state *);
bool signal_is_on_alternate(const struct signal_state *, uintptr_t address);
void signal_fill(siginfo_t *, const struct pending_signal *);
/* All that the thread does not block; it blocks `after` afterwards if a handler has run, which is the answer. */
bool signal_deliver(struct thread *, uint64_t after);
/* Sends one; 0 or an error. Handlers of the caller's run when it leaves (signal_leave()). */
long signal_send(const struct pending_signal *);
/* LAYER_FAMILY: keeps one from another process; one that stops the process does so. Returns whether it is kept. */
bool signal_receive(const struct pending_signal *);
/* Ends a call that may have made signals deliverable: delivers them, unlocks the layer and returns `result`. */
long signal_leave(long result);

/*
 * interrupt.c: a thread of the layer's own, for signals that have to interrupt another thread and for timers. It takes
 * one of the program's places for threads.
 */
extern bool signals_interrupt; /* there is such a thread */
extern const volatile int signal_interrupted; /* in place of what `cancel` of a thread points to: its sleep ends */
#ifndef LAYER_FAMILY /* else family_enter() */
/* No signal interrupts the calling thread in between. */
static inline void calls_enter(void) { signal_state_of(thread_self())->depth++; }
static inline void calls_leave(void) { signal_state_of(thread_self())->depth--; }
#endif
long interrupts_start(void);   /* makes it: 0, or -EAGAIN: there is no place or no memory. With the lock. */
void interrupts_look(void);    /* there may be something to do: an earlier deadline, or a signal */
void interrupts_forked(void);  /* LAYER_FAMILY */
/* timer.c's, once there are timers. Sends the signals of all that have expired. Returns when the next one may, by the
 * TSC; 0: never. With the lock. */
extern uint64_t (*interrupts_timers)(void);
extern bool calls_plain; /* for dispatch.c: the layer has started, and calls need not be made by signal_call() */

/* restart.c: makes a system call, again where its end by a signal is to be made up for (SA_RESTART). */
long signal_call(long number, const long *arguments, long (*call)(long, const long *));

/* timer.c */
enum { TIMERS = 32 }; /* of a program */
void timers_forked(void);
extern int timer_overruns[TIMERS]; /* of the signal of each that was taken last */
