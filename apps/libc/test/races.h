/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the layer as threads of the host's C library: races-host.c. */
#pragma once

#include <pthread.h>
#include "layer.h"

/* thread.c's __clone() and malloc.c's functions, which must not take the place of the host's. */
int layer_clone(int (*function)(void *), void *stack, int flags, void *argument, int *parent_tid, void *tls,
                int *clear);
void *blocks_malloc(size_t size);
void blocks_free(void *block);
void *blocks_realloc(void *block, size_t size);

/* The caller is the layer's first thread; `tls` is what %fs:0 reads in it. */
void race_begin(uintptr_t tls);
/* Starts a thread of the layer. `*tid` is its number until it has ended, then 0, which a futex tells. Returns the
 * host's thread, to be joined when all is done. */
pthread_t race_thread(int (*function)(void *), void *argument, int *tid);
