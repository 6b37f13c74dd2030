/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of Redis that no-disk.c and out-of-memory.c take the place of (--wrap in build-redis.sh), declared in
 * front of Redis's own declarations: optimised at link time they would be inlined where they are called, and what is
 * inlined is not replaced.
 */
#ifndef WRAPPED_H
#define WRAPPED_H

#include <stddef.h>

struct client;
struct rdbSaveInfo;

__attribute__((noipa)) void saveCommand(struct client *);
__attribute__((noipa)) void bgsaveCommand(struct client *);
__attribute__((noipa)) void bgrewriteaofCommand(struct client *);
__attribute__((noipa)) int rdbSave(int request, char *name, struct rdbSaveInfo *replication);
__attribute__((noipa)) void zmalloc_set_oom_handler(void (*)(size_t));

#endif
