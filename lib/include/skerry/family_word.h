/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of the memory that the processes of a family share (skerry/family_area.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Accesses to these: all of them are in one order, the same for all processes. */
static inline uint64_t family_get(const _Atomic uint64_t *at) { return atomic_load(at); }
static inline void family_set(_Atomic uint64_t *at, uint64_t value) { atomic_store(at, value); }
static inline uint64_t family_or(_Atomic uint64_t *at, uint64_t bits) { return atomic_fetch_or(at, bits); }
static inline uint64_t family_and(_Atomic uint64_t *at, uint64_t bits) { return atomic_fetch_and(at, bits); }
static inline uint64_t family_swap(_Atomic uint64_t *at, uint64_t value) { return atomic_exchange(at, value); }
/* Returns whether it was `old`, and is `value` now. */
static inline bool family_replace(_Atomic uint64_t *at, uint64_t old, uint64_t value)
{
	return atomic_compare_exchange_strong(at, &old, value);
}
