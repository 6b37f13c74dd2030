/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The locks of buckets as locks of the machine, for the explorer: lock.h has cases of its own, and its sleepers would
 * multiply the executions of the futexes' cases. In front of futex-buckets.c, which has two buckets then.
 */
#pragma once

#include "layer-model.h"

/* The buckets have 64 bytes each. */
static inline unsigned model_lock_of(const struct lock *lock) { return 1 + ((uintptr_t)lock >> 6 & 1); }

#define lock_try(lock)        (model_take(model_lock_of(lock)), true)
#define lock_give(lock)       model_release(model_lock_of(lock))
#define lock_is_held(lock)    model_is_taken(model_lock_of(lock))
