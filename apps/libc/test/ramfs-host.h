/* SPDX-License-Identifier: BSD-2-Clause */
/* The file system alone, on the host under the sanitizers: what it needs of the rest of the layer is in
 * ramfs-host.c. */
#pragma once

#include <skerry/file_tree.h>
#include "check.h"
#include "platform.h"
#include "ramfs.h"

extern struct process_info host_info;
extern uint64_t host_time;    /* in ns; it goes on with each look */
extern long allocations_left; /* below 0: without end */
extern long blocks_held;      /* blocks and pages that are not given back */

/* A tree of files from lines "MODE PATH SIZE LETTER", parents before what is in them; `*bytes` is its size. */
struct host_file {
	const char *path; /* without a slash at its begin; "" is the root */
	uint32_t mode;
	size_t size;
	char letter;
};
struct file_tree *tree_make(const struct host_file *, uint32_t count);
void tree_give(const struct file_tree *, size_t bytes);

/* System calls, as programs make them. */
long call_open(const char *path, int flags);
long call_close(long fd);
#define CALLS(X)                                                                                                    \
	X(openat) X(read) X(pread64) X(pwrite64) X(lseek) X(fstat) X(stat) X(access) X(mkdir) X(rmdir) X(unlink)    \
	X(rename) X(link) X(linkat) X(truncate) X(ftruncate) X(getdents64) X(utimensat) X(chdir) X(fchdir) X(getcwd)
#define DECLARE(name) long sys_##name(const long *);
CALLS(DECLARE)
#undef DECLARE
#define CALL(name, ...) sys_##name((const long[6]){ __VA_ARGS__ })
#define P(pointer) (long)(uintptr_t)(pointer)
