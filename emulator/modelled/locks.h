/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lock statistics of plain kernels. Code of the locks is inlined everywhere, so that no instruction says which lock it
 * is about. But the words in memory do: what a core reads and writes there, and the values, are the protocol of
 * cluster-kernel/lock/.
 *
 *                   wanted                        has it                                    gives it up
 *     ticket, fine  LOCK XADD of a word: ticket   reads its ticket in the word behind it    writes that word
 *     clh, rtm      XCHG of the tail              reads 0 in the node that it got from it   writes 0 to the node that
 *     it put there
 *     mcs           XCHG of the tail              got null; or reads 0 in its node          CMPXCHG of the tail from
 *     its node; or
 *                                                                                           writes 0 to another's node
 *
 * The tail is the first word of `struct kernel`. Every pair of words that is used as a ticket lock is one.
 */
#pragma once

#include <stdio.h>
#include "memory.h"

enum lock_protocol { PROTOCOL_TICKET, PROTOCOL_CLH, PROTOCOL_MCS };
/* of kernel entries: system calls, then vectors */
enum { LOCK_KINDS = 512, KIND_VECTOR = 256, KIND_UNKNOWN = LOCK_KINDS - 1 };

struct lock_access {
	unsigned core;
	bool store, atomic;
	uint64_t address, physical, value; /* address: virtual */
	unsigned size;
	uint64_t before, after; /* moments */
};

/* `tail`: its virtual address in every kernel. */
void locks_make(enum lock_protocol protocol, uint64_t tail, unsigned cores);
void locks_free(void);
/* Takes each access of the kernel; of a locked instruction its load, then its store. Returns whether the core got a
 * lock by it. */
bool locks_access(const struct lock_access *access);
/* A line moved to the core for the access that follows. */
void locks_moved(unsigned core, uint64_t line, uint64_t address);
/* The core enters the kernel. */
void locks_entered(unsigned core, unsigned kind);
void locks_reset(void);
/* Writes the members "locks" and "kinds". Times are cycles. */
void locks_write(FILE *out);
