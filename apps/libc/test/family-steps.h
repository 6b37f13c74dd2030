/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of what processes share: a process may end before each access to what it shares with others. */
#pragma once

#include <stdatomic.h>

void step(void);

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_or
#undef atomic_fetch_and
#undef atomic_compare_exchange_strong
#undef atomic_store_explicit
#define SEQUENTIAL memory_order_seq_cst
#define atomic_load(at) (step(), atomic_load_explicit(at, SEQUENTIAL))
#define atomic_store(at, value) (step(), __atomic_store_n(at, value, SEQUENTIAL))
#define atomic_store_explicit(at, value, order) (step(), __atomic_store_n(at, value, order))
#define atomic_exchange(at, value) (step(), atomic_exchange_explicit(at, value, SEQUENTIAL))
#define atomic_fetch_or(at, bits) (step(), atomic_fetch_or_explicit(at, bits, SEQUENTIAL))
#define atomic_fetch_and(at, bits) (step(), atomic_fetch_and_explicit(at, bits, SEQUENTIAL))
#define atomic_compare_exchange_strong(at, old, new) \
	(step(), atomic_compare_exchange_strong_explicit(at, old, new, SEQUENTIAL, SEQUENTIAL))
