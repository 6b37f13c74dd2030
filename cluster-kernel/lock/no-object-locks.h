/* SPDX-License-Identifier: BSD-2-Clause */
/* Object locks of the regimes in which the kernel's lock is lock enough. */
#pragma once

struct object_lock {
};

static inline void object_lock(struct object_lock *lock) { (void)lock; }
static inline void object_unlock(struct object_lock *lock) { (void)lock; }
static inline void object_lock_pair(struct object_lock *a, struct object_lock *b) { (void)a, (void)b; }
static inline void object_unlock_pair(struct object_lock *a, struct object_lock *b) { (void)a, (void)b; }
