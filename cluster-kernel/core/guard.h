/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What keeps readers apart that map, unmap or protect frames at the same time. The derivation tree stands still while
 * readers are inside: they change what slots of frames say (rights, CAP_MAPPED, the page, `vspace`) and page-table
 * entries of frames, and nothing else.
 *
 *     a frame                     its slot is guarded by
 *     in the kernel's own domain  the kernel: readers leave it to a writer
 *     in a coarse domain          the domain's lock, which an entry keeps until it comes to another domain
 *     in a fine domain            CAP_LOCKED of the slot
 *
 * An entry holds one of these at a time. Page-table entries have no guard: capabilities of several domains may name one
 * address. They are changed by compare-and-exchange.
 *
 * A waiting core serves remote calls (remote.h). Hazard: deadlock. The holder of a guard waits for nothing but the
 * flushes of other cores (tlb_owe()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "domain.h"
#include "kernel.h"

struct guard {
	struct domain *held; /* the entry has this coarse domain's lock; null: none, or a slot's bit */
};

/*
 * Takes the guard of the slot of the frame `cap`. Returns false if the entry is a reader and the frame is in the
 * kernel's own domain.
 */
bool guard_take(struct cpu *cpu, struct guard *guard, struct cap *cap);
void guard_drop(struct cpu *cpu, const struct guard *guard, struct cap *cap);
/* Releases what guard_drop() has kept. */
void guard_end(struct cpu *cpu, struct guard *guard);

/*
 * Sets or clears a flag of a slot whose guard the caller holds. Hazard: lost update. Another reader may set CAP_NOTED
 * in a slot that it does not guard, and all flags share a byte, so readers change flags atomically.
 */
static inline void cap_set_flag(struct cpu *cpu, struct cap *cap, uint8_t flag)
{
	if (kernel_exclusive(cpu))
		cap->flags |= flag;
	else
		__atomic_fetch_or(&cap->flags, flag, __ATOMIC_RELAXED);
}
static inline void cap_clear_flag(struct cpu *cpu, struct cap *cap, uint8_t flag)
{
	if (kernel_exclusive(cpu))
		cap->flags &= (uint8_t)~flag;
	else
		__atomic_fetch_and(&cap->flags, (uint8_t)~flag, __ATOMIC_RELAXED);
}
static inline uint8_t cap_flags(const struct cap *cap) { return __atomic_load_n(&cap->flags, __ATOMIC_RELAXED); }
