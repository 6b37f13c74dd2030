/* SPDX-License-Identifier: BSD-2-Clause */
/* What the regimes cannot beat: a CLH lock whose user keeps its node in a register, and an empty transaction. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>
#include <cpuid.h>

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
		_mm_pause();
	return before;
}

static inline void bare_exit(struct bare_node *mine) { atomic_store_explicit(&mine->held, 0, memory_order_release); }

/* CPUID.7.0:EBX.RTM */
static inline bool bare_has_rtm(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 11 & 1;
}

/* Begins and ends a transaction; false when it was aborted. */
static inline __attribute__((target("rtm"))) bool bare_transaction(void)
{
	if (_xbegin() != _XBEGIN_STARTED)
		return false;
	_xend();
	return true;
}
