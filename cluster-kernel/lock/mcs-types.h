/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the `mcs` regime that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* A core waits on its own node, so each node has a cache line. */
struct mcs_node {
	_Alignas(64) _Atomic(struct mcs_node *) next; /* its successor's, once that one has said so */
	_Atomic uint32_t waits;                       /* its predecessor clears it on release */
};

struct lock_kernel {
	_Alignas(64) _Atomic(struct mcs_node *) tail; /* of the last in the queue; null: the lock is free */
};

struct lock_cpu {
	struct mcs_node node;
	_Alignas(64) uint64_t acquired; /* +stat: TSC; not in the line that the neighbours in the queue write */
};

#include "no-object-locks.h"
#include "no-transactions.h"
