/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Localities (Uhlig 2007, section 3.1): the cores that may touch an object, as a cluster mask. A system call of another
 * core is made by the object's home (core/visit.h). For entries that have the kernel for themselves there are none.
 *
 *     mask                 cores of the mask      others
 *     all cores (0)        lock
 *     several              lock                   away
 *     mask_of(one core)    no lock: alone         away
 *
 * A locality is plain memory: only an exclusive entry changes it, so no reader is inside, and later readers see it.
 * Hazard otherwise: a core could still hold the object's lock while the one core that may now touch the object takes
 * none.
 *
 * Included by object-locks.h of a regime that defines, before it, lock_own(cpu)->locality: mask_of() the core.
 */
#ifndef LOCALITIES_H /* in the place of no-localities.h */
#define LOCALITIES_H

#include <stdbool.h>
#include <stdint.h>
#include <skerry/cluster_mask.h>

struct cpu;
struct object_lock;

struct lock_locality {
	uint32_t mask;
};

static inline bool objects_have_homes(void) { return true; }
static inline __attribute__((always_inline)) bool object_alone(struct cpu *cpu, const struct object_lock *lock);
static inline __attribute__((always_inline)) bool object_here(struct cpu *cpu, const struct object_lock *lock);
static inline __attribute__((always_inline)) bool kernel_enter_biased(struct cpu *cpu);
static inline __attribute__((always_inline)) void kernel_enter_unbiased(struct cpu *cpu);
static inline __attribute__((always_inline)) bool kernel_biased(struct cpu *cpu);
static inline __attribute__((always_inline)) void kernel_exit_biased(struct cpu *cpu);
static inline uint32_t object_locality(const struct object_lock *lock);
static inline void object_set_locality(struct object_lock *lock, uint32_t mask);

#endif
