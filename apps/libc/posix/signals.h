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
};

struct pending_signal {
	const struct signal_state *to; /* null: the process, and so any thread */
	int number, code, sender;
	unsigned user;
	union sigval value;
};

/* signal-queue.c. put: 0, or -EAGAIN when the queue is full. take: the one of `set` that is delivered first, if there
 * is any. */
long signal_put(const struct pending_signal *);
bool signal_take(const struct signal_state *, uint64_t set, struct pending_signal *);
uint64_t signal_pending(const struct signal_state *); /* a set */
void signal_drop(int number);                         /* wherever it is pending */
void signal_drop_all(void);                           /* LAYER_FAMILY */
/* LAYER_FAMILY: copies those that are for the thread or the process, `most` at most. Returns how many. */
unsigned signal_list(const struct signal_state *, struct pending_signal *list, unsigned most);

/* signal.c */
extern struct signal_action signal_actions[SIGNALS + 1];
struct signal_state *signal_state_of(const struct thread *);
bool signal_is_ignored(int number);
bool signal_is_on_alternate(const struct signal_state *, uintptr_t address);
void signal_fill(siginfo_t *, const struct pending_signal *);
/* All that the thread does not block; it blocks `after` afterwards if a handler has run, which is the answer. */
bool signal_deliver(struct thread *, uint64_t after);
/* Returns whether one is pending of which a handler runs, or that ends the program. */
bool signal_is_due(const struct signal_state *);
/* LAYER_FAMILY: keeps one from another process. */
void signal_receive(const struct pending_signal *);
/* Ends a call that may have made signals deliverable: delivers them, unlocks the layer and returns `result`. */
long signal_leave(long result);
