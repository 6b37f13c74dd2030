/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's form for programs that may be several processes (LAYER_FAMILY; `skerry cc --processes`, `processes` of
 * [[program]]). A child has a copy of all of the layer's variables. Each file that has some which would not be true in
 * the child sets them right in a function ..._forked(), called in the child under the layer's lock before anything
 * else: those of threads, of sleepers, of what the manager has made for the parent.
 */
#pragma once

#include <stdint.h>
#include "layer.h"
#include "signals.h"

#ifdef LAYER_FAMILY

extern int process_id; /* of the first process of a program: 1 */

/* Makes the parent's thread `self` thread 0 of the child, and its only one. */
void thread_forked(const struct thread *self);
void signal_forked(unsigned index); /* of the forking thread in the parent */
void event_forked(void);
void random_forked(void);
void malloc_forked(bool by_first_thread);
void platform_forked(void);

/*
 * The network is the first process's. In a child nothing of it runs, and the sockets that the child inherits are dead.
 */
#define OF_NETWORK(call, otherwise) (process_id == 1 ? (call) : (otherwise))
/* Makes a socket of the network dead: reads and writes answer EBADF, what only sockets have ENOTSOCK. */
void socket_forked(struct file *);
void descriptors_forked(void);
/* Returns the first open descriptor from this number on that has no FD_CLOEXEC, or -1. */
int descriptor_inherited(int from);
/* After a system call: what it made has FD_CLOEXEC where its flags say so. The lock is held. */
void descriptor_made(long number, const long *arguments, long result);
/* Makes all streams (family-stream.h) closed ones; closes those that are not counted again meanwhile. */
void family_streams_uncount(void);
void family_streams_close(void);
bool socket_is_pair(const struct file *);
bool pipe_is(const struct file *);
/*
 * After an exec (birth.h). The files of streams, by their rings as family_stream_rings() has them, or null: this
 * process has none of these; then streams that nobody has made again are closed ones.
 */
struct file *pipe_inherit(uint32_t flags, const int64_t rings[2]);
struct file *pair_inherit(uint32_t flags, const int64_t rings[2]);
void family_streams_born(void);
void family_born(int pid, int parent);
int family_parent(void); /* its pid; 0: none */
void thread_born(int pid);
void random_seed(const uint8_t seed[32]);
void user_get(int32_t id[6]); /* user, then group: real, effective, saved */
void user_set(const int32_t id[6]);
bool console_is(const struct file *);
/* Stores the path of the device that a file is. Returns whether it is one. */
bool device_is(const struct file *, char *path);

/* vfork(): its parent waits between the two calls; the second takes what fork() has answered. */
void family_vfork_begin(void);
void family_vfork_wait(long pid);

/* family-volume.c: before a fork, so that the child can use volumes. */
void volumes_fork(void);
/* family-lock.c: fcntl() and flock() of a file that processes share (volume_shared_file()). 0 or an error. */
struct flock;
long family_range_lock(struct file *, int command, struct flock *);
long family_flock(struct file *, int operation);
/* A descriptor of a file is closed, and with it this process's locks by fcntl(). */
void family_locks_closed(const struct file *);
/* Makes those look that wait for locks: one has been given up. */
void family_locks_changed(void);
bool family_locks_waited(void); /* threads of this process wait for some */
void family_locks_forked(void);

/* Returns an end for the manager: `code` as in exit_group(), or the signal that ends the process. */
int family_status(int code);
void family_ends_by(int number);
/* kill() of other processes, `signal` having the number; 1: the caller is one of them, too. Else 0 or an error. */
long family_kill(long process, const struct pending_signal *signal);

/*
 * family-signals.c: signals of other processes. The manager interrupts the first thread wherever it is. Where that
 * thread is in the layer, the signal waits for the end of its call; `family_depth` counts the calls and the lock that
 * it has not left yet.
 */
extern volatile unsigned family_depth;
extern volatile bool family_due; /* the manager has signals */
extern volatile bool family_queued; /* they may be to deliver */
void family_deliver(void);
static inline void family_enter(void)
{
	if (thread_self()->index == 0)
		family_depth++;
	__asm__ volatile("" : : : "memory");
}
/* The caller holds nothing of the layer's. Handlers may run, unless the thread is still in a call. */
static inline void family_leave(void)
{
	__asm__ volatile("" : : : "memory");
	if (thread_self()->index == 0 && --family_depth == 0 && (family_due || family_queued))
		family_deliver();
}
static inline void calls_enter(void) { family_enter(); }
static inline void calls_leave(void) { family_leave(); }
/* While a handler runs the thread is not in the layer. open: returns what close() takes. */
unsigned family_open(void);
void family_close(unsigned depth);
/* Signals that have been taken wait for the thread's next call, which they end. The caller holds the lock. */
static inline void family_keep(void) { family_queued = false; }
/* Stops the process until SIGCONT comes, which this signal does by default. The caller holds the lock. */
void family_stop(int number);
/* Takes all signals that have come. Returns whether there was one that is kept. The caller holds the lock. */
bool family_receive(void);
/* Tells the manager where the process takes signals; again when `SIGCHLD` is handled otherwise. */
void family_signals_start(void);
void family_signals_changed(void);
/* In the child; the lock is held. */
void family_signals_forked(void);
#else
static inline void family_enter(void) {}
static inline void family_leave(void) {}
static inline unsigned family_open(void) { return 0; }
static inline void family_close(unsigned depth) { (void)depth; }
static inline void family_keep(void) {}
#define OF_NETWORK(call, otherwise) (call)
#endif
