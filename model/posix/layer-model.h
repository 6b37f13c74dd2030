/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is below the POSIX layer's event.c, for the explorer: threads of one
 * program, the layer's lock, notifications, and a clock that stands still until
 * a thread sets it. The explorer's threads 0 to MODEL_THREADS - 1 are the
 * program's; others play the wire, the clock or a stack process.
 */
#pragma once

#include "explore.h"
#include "layer.h"
#include "platform.h"

enum { MODEL_THREADS = 4 };
_Static_assert((int)MODEL_THREADS < (int)THREADS_MAX, "one notification more is no thread's");
enum { MODEL_PEER = MODEL_THREADS, MODEL_PEERS = 2 }; /* the notifications of other processes, from the first on */
/* Takes a pending signal of PLATFORM_NET without waiting. Returns whether there was one. */
bool model_take_signal(void);

/* Locks of the machine; number 0 is the layer's. */
enum { MODEL_LOCKS = 3 };
void model_take(unsigned lock);
void model_release(unsigned lock);
bool model_is_taken(unsigned lock);

void model_set_up(void); /* a case's set_up */
void model_set_time(uint64_t now); /* by a thread without the lock */
/* Sleep until `*condition`, which the lock protects, as system calls that block do. */
void model_wait_for(const bool *condition);
/* Set the condition and wake the others, as file_ready_changed() does. */
void model_set(bool *condition);
/* Each thread calls this last; each execution ends with the other, for so many threads. */
void model_ended(void);
void model_all_ended(unsigned count);

/* A case: the file's set_up(), what holds before its threads, and that all that are the program's come to their end. */
#define CASE(function, count)                            \
	static void run_##function(unsigned self)        \
	{                                                \
		function(self);                          \
		model_ended();                           \
	}                                                \
	static void end_##function(void) { model_all_ended(count); }
#define RUN(count, before, function) \
	.threads = count, .set_up = set_up, .begin = before, .thread = run_##function, .end = end_##function
