/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_check() walks all that a kernel at rest (every core outside) holds,
 * and aborts with a sentence at the first thing that is not as it must be:
 *
 *     check-caps.c      derivation tree, reference counts, objects inside
 *                       their untyped and over nobody else's memory
 *     check-threads.c   states, queues, run queues, timers, replies, bindings
 *     check-vspaces.c   page tables lead to nothing but what live
 *                       capabilities map, TLBs, cores that have loaded them
 *     check-statistics.c  what was counted adds up; nothing, in images that
 *                       do not count
 *
 * What no capability reaches any more (a CNode that holds its own last
 * capability) is not seen.
 */
#pragma once

#include <stddef.h>
#include "hosted.h"

void kernel_check(const struct hosted *machine);

/* The rest is between the parts. */

/* An object with memory of its own, found through one of its capabilities. */
struct found {
	const struct slot *slot;    /* of one of them */
	const struct slot *untyped; /* nearest above it in the tree */
	uint64_t base, size;        /* physical */
	uint32_t references;        /* capabilities found */
	uint32_t depth;             /* of the first in the tree */
};

struct world {
	const struct hosted *machine;
	const struct kernel *kernel;
	const struct slot **slot; /* all that are not empty */
	size_t slots;
	struct found *found; /* by base, larger first */
	size_t founds;
};

_Noreturn void check_failed(const char *file, int line, const char *sentence, uint64_t a, uint64_t b);
/* `a`, `b`: two numbers that help. */
#define CHECK(condition, sentence, a, b) \
	((condition) ? (void)0 : check_failed(__FILE__, __LINE__, sentence, (uint64_t)(a), (uint64_t)(b)))

void check_caps(struct world *world);
void check_threads(const struct world *world);
void check_vspaces(const struct world *world);
void check_statistics(const struct world *world);
/* The object of this type at this address, null if no capability to it exists. */
const struct found *world_find(const struct world *world, unsigned type, uint64_t object);
