/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock seam (lock.h) with a record of the locks that each core holds, and of the line that took each. A macro's own
 * name in it is the function.
 */
#pragma once

#include <skerry/stat.h>
#include "../kernel.h"
#include "held.h"

#define HELD_HERE ((struct place){ __FILE__, __LINE__ })

/* A TCB's lock is taken as one of a pair; alone, a lock of that class is a reply object's. */
static inline enum held_rank held_rank(enum lock_class class)
{
	return class == LOCK_CLASS_NOTIFICATION ? RANK_NOTIFICATION
	       : class == LOCK_CLASS_ENDPOINT   ? RANK_ENDPOINT
	       : class == LOCK_CLASS_RUN_QUEUE  ? RANK_RUN_QUEUE
	                                        : RANK_REPLY;
}

#define kernel_enter(cpu) (held_enter(cpu, HELD_HERE), kernel_enter(cpu), held_entered(cpu, HELD_HERE))
#define kernel_enter_exclusive(cpu) (held_enter(cpu, HELD_HERE), kernel_enter_exclusive(cpu), \
                                     held_entered(cpu, HELD_HERE))
#define kernel_exit(cpu) (held_exit(cpu, HELD_HERE), kernel_exit(cpu))
#define kernel_enter_biased(cpu) \
	(held_enter(cpu, HELD_HERE), kernel_enter_biased(cpu) && (held_entered(cpu, HELD_HERE), true))
#define kernel_enter_unbiased(cpu) (held_enter(cpu, HELD_HERE), kernel_enter_unbiased(cpu), \
                                    held_entered(cpu, HELD_HERE))
#define kernel_exit_biased(cpu) (held_exit(cpu, HELD_HERE), kernel_exit_biased(cpu))
#define kernel_exit_reader(cpu, locks) (held_exit(cpu, HELD_HERE), kernel_exit_reader(cpu, locks))

#define object_lock(cpu, lock, class)                                                   \
	(held_take(cpu, lock, held_rank(class), HELD_HERE), object_lock(cpu, lock, class), \
	 held_taken(cpu, lock, held_rank(class), HELD_HERE))
#define object_unlock(cpu, lock, class) (held_drop(cpu, lock, HELD_HERE), object_unlock(cpu, lock, class))
#define object_lock_alone(cpu, lock, class)                                                   \
	(held_take(cpu, lock, held_rank(class), HELD_HERE), object_lock_alone(cpu, lock, class), \
	 held_taken(cpu, lock, held_rank(class), HELD_HERE))
#define object_unlock_alone(cpu, lock, class) (held_drop(cpu, lock, HELD_HERE), object_unlock_alone(cpu, lock, class))
#define object_lock_pair(cpu, a, b, class)                                                         \
	(held_take_pair(cpu, a, b, HELD_HERE), object_lock_pair(cpu, a, b, class),                  \
	 held_taken_pair(cpu, a, b, HELD_HERE))
#define object_unlock_pair(cpu, a, b, class)                             \
	(held_drop(cpu, a, HELD_HERE), held_drop(cpu, b, HELD_HERE), object_unlock_pair(cpu, a, b, class))
