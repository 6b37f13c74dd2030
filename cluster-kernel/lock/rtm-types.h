/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the `rtm` regime that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How much one kernel entry stakes on a transaction before it takes the lock. */
struct rtm_patience {
	uint32_t attempts; /* transactions that may abort, but for those that the lock aborts; 0: takes the lock at once */
	uint32_t turns;    /* of waiting for a lock that is held */
};

/* What clh.h uses of these three is as in clh-types.h. */
struct clh_node {
	_Alignas(64) _Atomic uint32_t held;
};

struct lock_kernel {
	_Alignas(64) _Atomic(struct clh_node *) tail; /* all transactions read this line */
	struct clh_node first;
	struct rtm_patience patience; /* where this machine has transactions */
};

struct lock_cpu {
	struct clh_node node;
	struct clh_node *mine, *waited_on;
	uint64_t acquired;
	struct rtm_patience patience; /* the kernel's, without its line */
	uint32_t status;              /* of the last transaction that aborted */
	bool locked;                  /* this entry has the lock; else it is a transaction */
};

#include "no-object-locks.h"
