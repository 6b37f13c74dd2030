/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In front of each source of Redis, and of Valkey, which is built with -DVALKEY.
 *
 * The functions that data.c, no-disk.c, settings.c, replication.c and out-of-memory.c take the place of (--wrap in
 * build-redis.sh), declared in front of Redis's own declarations: optimised at link time they would be inlined where
 * they are called, and what is inlined is not replaced.
 */
#ifndef WRAPPED_H
#define WRAPPED_H

#include <malloc.h>
#include <stddef.h>
#include <skerry/malloc.h>

struct client;
struct rdbSaveInfo;

/* Names and parameters that Valkey 8 has in place of those of Redis 7. */
#ifdef VALKEY
#define masterhost primary_host
#define RDB_FLAGS       , int flags
#define RDB_FLAGS_GIVEN , flags
#else
#define RDB_FLAGS
#define RDB_FLAGS_GIVEN
#endif

__attribute__((noipa)) void saveCommand(struct client *);
__attribute__((noipa)) void bgsaveCommand(struct client *);
__attribute__((noipa)) void bgrewriteaofCommand(struct client *);
__attribute__((noipa)) int rdbSave(int request, char *name, struct rdbSaveInfo *replication RDB_FLAGS);
__attribute__((noipa)) int rdbSaveBackground(int request, char *name, struct rdbSaveInfo *replication RDB_FLAGS);
__attribute__((noipa)) int rewriteAppendOnlyFileBackground(void);
__attribute__((noipa)) void aofLoadManifestFromDisk(void);
__attribute__((noipa)) int aofDelHistoryFiles(void);
__attribute__((noipa)) void aclCommand(struct client *);
__attribute__((noipa)) void loadServerConfig(char *filename, char from_stdin, char *options);
__attribute__((noipa)) void appendServerSaveParams(long seconds, int changes);
__attribute__((noipa)) void configSetCommand(struct client *);
__attribute__((noipa)) void configRewriteCommand(struct client *);
__attribute__((noipa)) void replicaofCommand(struct client *);
__attribute__((noipa)) void clusterCommand(struct client *);
__attribute__((noipa)) void syncCommand(struct client *);
__attribute__((noipa)) void zmalloc_set_oom_handler(void (*)(size_t));

/*
 * In line, as zmalloc.h asks for it: never of a null pointer. A program that is trained runs on Linux, with musl's
 * malloc(). GCC takes a function's counts only if its control flow is the same: a call of a pure function does not
 * change that.
 */
#ifdef TRAINING
__attribute__((pure)) size_t malloc_usable_size(void *);
#else
#define malloc_usable_size(block) malloc_block_size(block)
#endif

#endif
