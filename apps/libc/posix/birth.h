/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The record that a program leaves in the heap for the one that it executes (LAYER_FAMILY): pid, working directory,
 * descriptors, files in memory, and ignored, blocked and pending signals. AT_SKERRY_BIRTH of the auxiliary vector has
 * its address. The layer of the new program may be of another build: the record has a version, and the layer trusts no
 * length in it.
 */
#pragma once

#include "layer.h"

#ifdef LAYER_FAMILY

struct birth {
	uint64_t magic;
	uint64_t pages;      /* of the heap, from the record's first byte on */
	uint64_t size;       /* bytes of the record */
	uint64_t break_end;  /* address: up to there brk()'s pages may hold what the former program left */
	int32_t pid, parent;
	int32_t id[6];       /* user, then group: real, effective, saved */
	uint64_t blocked, ignored;
	uint8_t random[32];
	uint32_t signals, nodes, descriptors; /* that follow, in this order, behind the working directory's path */
	uint32_t reserved;
};

/* Makes the record, of all that has no FD_CLOEXEC. Returns 0 or an error; birth_forget() gives it back. The caller
 * holds the lock. */
long birth_make(struct birth **made);
void birth_forget(struct birth *);

/* In the new program, before its heap exists: the record, or null. */
const struct birth *birth_found(void);
/* Makes the descriptors, and all else of the record, and gives its pages back. Returns false: there is no record. */
bool birth_begin(void);

/* memory.c: where brk() ends; the pages of the record are in use, others dirty. */
uintptr_t memory_break(void);

/* path calls that birth_begin() makes */
long sys_chdir(const long *);
long sys_getcwd(const long *);

#endif
