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
bool socket_is_pair(const struct file *);

/* Returns an end for the manager: `code` as in exit_group(), or the signal that ends the process. */
int family_status(int code);
void family_ends_by(int number);
/* kill() of another process: 0 or an error. */
long family_kill(long process, long number);
#else
#define OF_NETWORK(call, otherwise) (call)
#endif
