/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that a process of a family has been sent and has not taken yet (MANAGER_SIGNALS, skerry/process.h). The
 * manager knows neither masks nor handlers: it interrupts the process's first thread, and the process decides.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "grant.h"

struct sent_signal {
	uint32_t number, sender;
	int32_t code;
	uint64_t value;
};

struct inbox {
	uint64_t entry, size; /* where its first thread takes signals; entry 0: it cannot be interrupted yet */
	bool told;            /* it has been interrupted, and has not taken all since */
	bool drops_children;  /* its children leave no status */
	bool drops_stops;     /* it is sent no SIGCHLD for children that stop or go on */
	uint32_t stopped;     /* the signal that has stopped it: it takes none; 0: it goes on */
	uint32_t count;
	struct sent_signal signal[PROCESS_SIGNALS];
};

/* Adds a signal; one below 32 that is there already stays as it is. Returns 0 or -SKERRY_BUSY. */
int inbox_put(struct inbox *b, const struct sent_signal *signal);
/* Takes the oldest signal. Returns whether there was one; without, the process may be interrupted again. */
bool inbox_take(struct inbox *b, struct sent_signal *signal);
/* Forgets signals of `set`, a bit for each number less 1. Returns whether one was there. */
bool inbox_drop(struct inbox *b, uint64_t set);
/* Returns whether the process must be interrupted for what it has been sent. */
bool inbox_is_due(const struct inbox *b);
/* Lets the process's first thread, which is answered wherever it waits for the manager, go on at the entry. Returns 0
 * or an error. */
int inbox_interrupt(struct inbox *b, const struct process *p);
