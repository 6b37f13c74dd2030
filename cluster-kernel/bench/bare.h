/* SPDX-License-Identifier: BSD-2-Clause */
/* What the regimes cannot beat: a CLH lock whose user keeps its node in a register, and an empty transaction. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "rtm-instructions.h"

struct bare_node {
	_Alignas(64) _Atomic uint32_t held;
};

struct bare_clh {
	_Alignas(64) _Atomic(struct bare_node *) tail;
};

/* Returns the node that the caller queues next time, once it has released. */
static inline struct bare_node *bare_enter(struct bare_clh *lock, struct bare_node *mine)
{
	atomic_store_explicit(&mine->held, 1, memory_order_relaxed);
	struct bare_node *before = atomic_exchange_explicit(&lock->tail, mine, memory_order_acq_rel);
	while (atomic_load_explicit(&before->held, memory_order_acquire))
		__builtin_ia32_pause();
	return before;
}

static inline void bare_exit(struct bare_node *mine) { atomic_store_explicit(&mine->held, 0, memory_order_release); }

/* Begins and ends a transaction; false when it was aborted. Only where rtm_unusable() has no objection. */
static inline __attribute__((always_inline)) bool bare_transaction(void)
{
	uint32_t status;
	if (!rtm_xbegin(&status))
		return false;
	rtm_xend();
	return true;
}
