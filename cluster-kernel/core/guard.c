/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard.h"
#include "kernel.h"
#include LOCKING_HEADER

/* A bit of a byte as a lock. */
static void bit_take(struct cpu *cpu, uint8_t *byte, uint8_t bit)
{
	while (__atomic_fetch_or(byte, bit, __ATOMIC_ACQUIRE) & bit)
		while (__atomic_load_n(byte, __ATOMIC_RELAXED) & bit)
			kernel_relax(cpu);
}

static void bit_release(uint8_t *byte, uint8_t bit)
{
	kernel_assert(__atomic_load_n(byte, __ATOMIC_RELAXED) & bit);
	__atomic_fetch_and(byte, (uint8_t)~bit, __ATOMIC_RELEASE);
}

void guard_end(struct cpu *cpu, struct guard *guard)
{
	(void)cpu;
	if (guard->held)
		ticket_release_current(&guard->held->lock);
	guard->held = 0;
}

bool guard_take(struct cpu *cpu, struct guard *guard, struct cap *cap)
{
	if (kernel_exclusive(cpu))
		return true;
	assert_entered();
	struct domain *domain = domain_of(kernel_of(cpu), cap);
	if (guard->held && guard->held != domain)
		guard_end(cpu, guard);
	if (!domain)
		return false;
	if (domain->granularity == GRANULARITY_FINE) {
		bit_take(cpu, &cap->flags, CAP_LOCKED);
	} else if (!guard->held) {
		uint32_t ticket;
		ticket_take(&domain->lock, &ticket, cpu);
		guard->held = domain;
	}
	return true;
}

void guard_drop(struct cpu *cpu, const struct guard *guard, struct cap *cap)
{
	if (!kernel_exclusive(cpu) && !guard->held)
		bit_release(&cap->flags, CAP_LOCKED);
}
