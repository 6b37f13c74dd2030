/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the `clh` regime that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* One waits on its predecessor's node, so each node has a cache line. */
struct clh_node {
	_Alignas(64) _Atomic uint32_t held;
};

struct lock_kernel {
	_Alignas(64) _Atomic(struct clh_node *) tail;
	struct clh_node first; /* the node that the first core finds released */
};

struct lock_cpu {
	struct clh_node node;       /* the node this core started with */
	struct clh_node *mine;      /* the node it queues next; they migrate between cores */
	struct clh_node *waited_on; /* the predecessor's, which becomes ours on release */
	uint64_t acquired;          /* +stat: TSC */
};

#include "no-object-locks.h"
#include "no-transactions.h"
