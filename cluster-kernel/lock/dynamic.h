/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `dynamic`: one big lock (coarse, as regime `clh`) or a big-reader lock and object locks (fine, as regime
 * `fine`), changed by order of the root task while the kernel runs (grain.h; Uhlig 2007, section 2.3.2). An entry keeps
 * the grain with which it began:
 *
 *                           coarse          while it changes           fine
 *     kernel_enter()        queue lock      queue lock, own side       own side
 *     ..._exclusive()       queue lock      queue lock, all sides      all sides
 *     kernel_exclusive()    yes             as a writer                as a writer
 *     object locks          none            as a reader                as a reader
 *
 * While the kernel is fine, a core that enters often stops taking its side until a writer revokes its bias (bias.h). A
 * bias is on only while the kernel is fine and does not change, for two reasons. The core that orders a change has
 * revoked all biases. An entry turns its bias on only after it has read the grain while it holds its side, and the
 * grain cannot change meanwhile. So an entry that finds its bias on passes no epoch and reads no grain.
 *
 * An object with a locality (localities.h) may be touched by some cores only; the others have its home make their calls
 * (core/visit.h).
 *
 * Run queues and TCBs have no lock, even where the entry is a reader: only its core gives a thread a place
 * (core/schedule.h).
 *
 * Locks are taken in the order queue lock, sides, object locks, so that entries of different grains cannot wait for
 * each other in a circle.
 */
#pragma once

#include COUNT_HEADER
#include "../core/core_set.h"
#include "../core/regime.h"
#include "bias.h"
#include "brlock.h"
#include "clh_lock.h"
#include "epoch.h"
#include "grain.h"
#include "localities.h"
#include "no-transactions.h"
#include "object-locks.h"

struct lock_kernel {
	struct clh_lock queue;
	struct brlock readers;
	struct epochs epochs;
	struct grains grains;
	struct bias *bias[BRLOCK_MAX]; /* of each core */
};

/*
 * The locks that this core holds; 0: the queue lock alone. Between entries it is 0, or ENTRY_BIASED while the core's
 * bias is on, so that the begin and the end of a biased entry need not write it.
 */
enum entry { ENTRY_QUEUE = 1, ENTRY_SIDE = 2, ENTRY_ALL_SIDES = 4, ENTRY_BIASED = ENTRY_SIDE | 8 };

struct lock_cpu {
	_Alignas(64) struct object_lock side; /* of the big-reader lock */
	_Alignas(64) uint32_t entry;          /* enum entry */
	uint32_t locality;                    /* mask_of() this core */
	struct bias bias;
	struct epoch_place epoch;
	uint64_t acquired;       /* +stat: TSC, of the queue lock */
	uint64_t acquired_sides; /* +stat: TSC, of the write side */
	struct clh_place place;
};

_Static_assert((int)BRLOCK_MAX - 1 <= MASK_EXACT_LAST, "object_alone() compares masks of one core");
_Static_assert((int)BRLOCK_MAX <= EPOCH_CORES_MAX, "all cores have an epoch to pass");

#define INLINE static inline __attribute__((always_inline))
#define RARE   static __attribute__((noinline, cold, unused))

static inline void lock_kernel_init(struct kernel *kernel)
{
	clh_lock_init(&lock_of(kernel)->queue);
	brlock_init(&lock_of(kernel)->readers);
	epochs_init(&lock_of(kernel)->epochs, 0);
}

static inline void lock_cpu_init(struct cpu *cpu)
{
	clh_place_init(&lock_own(cpu)->place);
	lock_own(cpu)->locality = mask_of(core_index(cpu));
	brlock_join(&lock_shared(cpu)->readers, &lock_own(cpu)->side.ticket);
	lock_shared(cpu)->bias[core_index(cpu)] = &lock_own(cpu)->bias;
	lock_shared(cpu)->epochs.cores++;
	if (core_index(cpu) == 0) {
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
		count_instance(cpu, LOCK_CLASS_READ, 1);
		count_instance(cpu, LOCK_CLASS_WRITE, 1);
	}
	count_instance(cpu, LOCK_CLASS_TCB, 1); /* the idle thread's */
}

INLINE bool kernel_locks_objects(struct cpu *cpu) { return __builtin_expect(lock_own(cpu)->entry & ENTRY_SIDE, 0); }
INLINE bool cores_own_queues(void) { return true; }
static inline bool kernel_exclusive(struct cpu *cpu) { return !kernel_locks_objects(cpu); }
static inline bool kernel_is_coarse(struct cpu *cpu)
{
	return !(lock_own(cpu)->entry & (ENTRY_SIDE | ENTRY_ALL_SIDES));
}
static inline bool kernel_is_fine(struct cpu *cpu)
{
	return !kernel_is_coarse(cpu) && !(lock_own(cpu)->entry & ENTRY_QUEUE);
}

/* Returns whether only this core may touch the object. Exclusive entries take no object locks anyway. */
INLINE bool object_alone(struct cpu *cpu, const struct object_lock *lock)
{
	return lock->locality.mask == lock_own(cpu)->locality;
}
static inline uint32_t object_locality(const struct object_lock *lock) { return lock->locality.mask; }
static inline void object_set_locality(struct object_lock *lock, uint32_t mask) { lock->locality.mask = mask; }

/* Out of line, as most objects have no locality. */
RARE bool dynamic_here(struct cpu *cpu, uint32_t mask)
{
	return kernel_exclusive(cpu) || mask_has(mask, core_index(cpu));
}

INLINE bool object_here(struct cpu *cpu, const struct object_lock *lock)
{
	uint32_t mask = lock->locality.mask;
	return __builtin_expect(mask == MASK_ALL, 1) || mask == lock_own(cpu)->locality || dynamic_here(cpu, mask);
}

INLINE void dynamic_take_queue(struct cpu *cpu)
{
	struct lock_cpu *own = lock_own(cpu);
	uint64_t wanted = count_now();
	uint64_t spins = clh_take(&lock_shared(cpu)->queue, &own->place, cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &own->acquired, wanted, spins);
}

INLINE void dynamic_release_queue(struct cpu *cpu)
{
	count_released(cpu, LOCK_CLASS_KERNEL, lock_own(cpu)->acquired);
	clh_release(&lock_own(cpu)->place);
}

static inline void dynamic_take_side(struct cpu *cpu)
{
	struct object_lock *side = &lock_own(cpu)->side;
	uint64_t wanted = count_now();
	uint64_t spins = brlock_read(&side->ticket, cpu);
	count_acquired(cpu, LOCK_CLASS_READ, &side->acquired, wanted, spins);
}

/*
 * Core `first` has its bias revoked. Revokes those behind it, and waits until all these cores have given theirs up.
 * Returns how long, and for how many.
 */
RARE struct brlock_conflict dynamic_await_revoked(struct cpu *cpu, uint32_t first)
{
	const struct lock_kernel *shared = lock_shared(cpu);
	const uint32_t words = core_set_index(shared->readers.count - 1) + 1;
	struct brlock_conflict waited = { 0 };
	struct core_set revoked = { 0 };
	core_set_add(&revoked, first);
	for (uint32_t i = first + 1; i < shared->readers.count; i++)
		if (bias_revoke(shared->bias[i]))
			core_set_add(&revoked, i);
	kernel_interrupt_now(cpu, &revoked);
	FOR_CORES (core, &revoked, words) {
		waited.spins += bias_wait(shared->bias[core], cpu);
		waited.readers++;
	}
	return waited;
}

/* Revokes all biases, and waits until no core is inside without its side. Caller holds all sides. */
static inline void dynamic_revoke(struct cpu *cpu, struct brlock_conflict *conflict)
{
	const struct lock_kernel *shared = lock_shared(cpu);
	for (uint32_t i = 0; i < shared->readers.count; i++)
		if (bias_revoke(shared->bias[i])) {
			const struct brlock_conflict waited = dynamic_await_revoked(cpu, i);
			conflict->spins += waited.spins;
			conflict->readers += waited.readers;
			return;
		}
}

static inline void dynamic_take_all_sides(struct cpu *cpu)
{
	uint64_t wanted = count_now();
	struct brlock_conflict conflict = brlock_write(&lock_shared(cpu)->readers, cpu);
	dynamic_revoke(cpu, &conflict);
	if (conflict.spins)
		count_write_conflict(cpu, conflict.writer, conflict.readers);
	count_acquired(cpu, LOCK_CLASS_WRITE, &lock_own(cpu)->acquired_sides, wanted, conflict.spins);
}

/*
 * Begins an entry of a core without a bias in a kernel that was not coarse when the core looked. `alone`: the entry
 * will be exclusive.
 */
RARE void dynamic_enter(struct cpu *cpu, bool alone)
{
	struct lock_kernel *shared = lock_shared(cpu);
	struct lock_cpu *own = lock_own(cpu);
	bool biased = bias_give_up(&own->bias);
	own->entry = 0;
	if (epoch_pass(&shared->epochs, &own->epoch))
		kernel_interrupt_all(cpu);
	enum grain grain = grain_sample(&shared->grains, &own->epoch);
	if (grain != GRAIN_FINE)
		dynamic_take_queue(cpu);
	if (grain == GRAIN_COARSE)
		return;
	if (alone)
		dynamic_take_all_sides(cpu);
	else
		dynamic_take_side(cpu);
	if (alone && biased && grain_is_fine(&shared->grains))
		bias_turn_on(&own->bias); /* no other writer has asked for it */
	else if (!alone)
		bias_count(&own->bias, grain_is_fine(&shared->grains) && core_is_present(cpu));
	own->entry = (alone ? ENTRY_ALL_SIDES : ENTRY_SIDE) | (grain != GRAIN_FINE ? ENTRY_QUEUE : 0);
}

RARE void dynamic_exit(struct cpu *cpu)
{
	struct lock_cpu *own = lock_own(cpu);
	uint32_t entry = own->entry;
	/* no writer can revoke it before the side is released */
	own->entry = bias_is_on(&own->bias) ? ENTRY_BIASED : 0;
	if (entry & ENTRY_SIDE) {
		count_released(cpu, LOCK_CLASS_READ, own->side.acquired);
		brlock_read_end(&own->side.ticket);
	} else {
		count_released(cpu, LOCK_CLASS_WRITE, own->acquired_sides);
		brlock_write_end(&lock_shared(cpu)->readers);
	}
	if (entry & ENTRY_QUEUE)
		dynamic_release_queue(cpu);
}

/* Instead of its side the core has its bias. */
INLINE bool kernel_enter_biased(struct cpu *cpu)
{
	struct lock_cpu *own = lock_own(cpu);
	if (!__builtin_expect(bias_is_on(&own->bias), 0))
		return false;
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_READ, &own->side.acquired, count_now(), 0);
	return true;
}

INLINE void dynamic_exit_biased(struct cpu *cpu)
{
	struct lock_cpu *own = lock_own(cpu);
	count_released(cpu, LOCK_CLASS_READ, own->side.acquired);
}

INLINE void kernel_enter_unbiased(struct cpu *cpu)
{
	if (grain_coarse(&lock_shared(cpu)->grains))
		dynamic_take_queue(cpu);
	else
		dynamic_enter(cpu, false);
	count_entry(cpu);
}

INLINE void kernel_enter(struct cpu *cpu)
{
	if (!kernel_enter_biased(cpu))
		kernel_enter_unbiased(cpu);
}

/* Begins an exclusive entry in place of the one that this core has just given up. */
RARE void kernel_enter_exclusive(struct cpu *cpu)
{
	if (grain_coarse(&lock_shared(cpu)->grains))
		dynamic_take_queue(cpu);
	else
		dynamic_enter(cpu, true);
}

INLINE void kernel_exit(struct cpu *cpu)
{
	uint32_t entry = lock_own(cpu)->entry;
	if (__builtin_expect(!entry, 1))
		dynamic_release_queue(cpu);
	else if (entry == ENTRY_BIASED)
		dynamic_exit_biased(cpu);
	else
		dynamic_exit(cpu);
}

/* A coarse entry holds the queue lock alone. No reader's entry holds all sides. */
INLINE void kernel_exit_reader(struct cpu *cpu, bool locks)
{
	if (!locks)
		dynamic_release_queue(cpu);
	else if (lock_own(cpu)->entry == ENTRY_BIASED)
		dynamic_exit_biased(cpu);
	else
		dynamic_exit(cpu);
}

INLINE bool kernel_biased(struct cpu *cpu) { return lock_own(cpu)->entry == ENTRY_BIASED; }
INLINE void kernel_exit_biased(struct cpu *cpu) { dynamic_exit_biased(cpu); }

/*
 * A core that moves between kernels passes no epochs meanwhile. So kernel_granularity() begins none until it has
 * arrived, and a core leaves or is taken only when all counted cores have passed the last epoch. Cores of a coarse
 * kernel pass epochs only when they are asked to.
 */
static inline bool kernel_count_core(struct cpu *cpu, struct cpu *core, bool here)
{
	struct lock_kernel *shared = lock_shared(cpu);
	uint32_t word = atomic_load_explicit(&shared->epochs.word, memory_order_relaxed);
	bool passed = !(word & ~(uint32_t)EPOCH_NUMBER), over = grain_pass_all(&shared->grains, !passed);
	if (!passed) {
		bias_give_up(&lock_own(cpu)->bias); /* this core passes it, too */
		kernel_interrupt_all(cpu);
	}
	if (!passed || !over)
		return false;
	shared->epochs.cores += here ? 1u : -1u;
	if (here)
		lock_own(core)->epoch.seen = word;
	return true;
}

static inline bool kernel_granularity(struct cpu *cpu, enum granularity wanted, bool *under_way)
{
	struct lock_kernel *shared = lock_shared(cpu);
	bool fine = wanted == GRANULARITY_FINE;
	*under_way = kernel_cores_move(cpu);
	if (*under_way)
		return true;
	bias_give_up(&lock_own(cpu)->bias); /* those of all others have been revoked */
	if (grain_order(&shared->grains, &shared->epochs, &lock_own(cpu)->epoch, fine, under_way))
		kernel_interrupt_all(cpu);
	return true;
}

#undef RARE
#undef INLINE
