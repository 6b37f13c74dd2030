/* SPDX-License-Identifier: BSD-2-Clause */
/* Localities of the regimes that have none: each core may touch each object. */
#ifndef LOCALITIES_H /* where localities.h is not in its place */
#define LOCALITIES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct object_lock;

struct lock_locality {
};

static inline bool objects_have_homes(void) { return false; }
static inline bool kernel_is_coarse(struct cpu *cpu) { (void)cpu; return true; }
static inline bool kernel_is_fine(struct cpu *cpu) { (void)cpu; return false; }
static inline bool object_alone(struct cpu *cpu, const struct object_lock *lock)
{
	(void)cpu, (void)lock;
	return false;
}
static inline bool object_here(struct cpu *cpu, const struct object_lock *lock) { (void)cpu, (void)lock; return true; }
static inline bool kernel_enter_biased(struct cpu *cpu) { (void)cpu; return false; }
static inline void kernel_enter_unbiased(struct cpu *cpu) { (void)cpu; __builtin_unreachable(); }
static inline bool kernel_biased(struct cpu *cpu) { (void)cpu; return false; }
static inline void kernel_exit_biased(struct cpu *cpu) { (void)cpu; }
static inline uint32_t object_locality(const struct object_lock *lock) { (void)lock; return 0; }
static inline void object_set_locality(struct object_lock *lock, uint32_t mask) { (void)lock, (void)mask; }

#endif
