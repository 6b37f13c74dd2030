/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of which one at a time goes on, without the host's scheduler: where one waits and names the next, the
 * processor goes on with the other's registers, stack and thread-local storage (its FS base) at once. A switch between
 * threads of the host is a hundred times as dear, and a modelled machine makes one each few dozen instructions.
 *
 * What a thread executes is its fiber. Threads of the host are carriers: each runs its own fiber until that waits, then
 * whichever may go on. To the C library and QEMU a fiber is the thread that it began as, whichever thread carries it.
 * Only the host's kernel sees carriers: by its signal mask and scheduling, in which they must not differ, and its
 * thread id. A fiber does not end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The calling thread becomes a carrier, and what it executes fiber `party`, below MOST_CORES, which may not go on once
 * it waits. */
void fiber_join(unsigned party);
/* The fiber may go on: it does, on a carrier that is idle. */
void fiber_go(unsigned party);
/* The same, but in the place of `from`, the caller, which waits next. */
void fiber_go_after(unsigned from, unsigned party);
/* It may not go on once it waits. */
void fiber_stop(unsigned party);
/* The caller waits until it may go on. */
void fiber_await(unsigned party);
/* The thread of the host that carries it, or did so last. */
pid_t fiber_thread(unsigned party);
/* Carrier `was` has another thread id, in a copy of the process (snapshot.h). */
void fiber_thread_moved(pid_t was, pid_t is);
