/* SPDX-License-Identifier: BSD-2-Clause */
#include "tlb.h"
#include "kernel.h"
#include "remote.h"
#include "vspace.h"
#include LOCKING_HEADER

/* The cores that may hold translations of any of the spaces. */
static struct core_set cores_of(const struct kernel *kernel, const struct tlb_spaces *spaces)
{
	struct core_set cores = { 0 };
	for (uint32_t i = 0; i < spaces->count; i++)
		for (uint32_t word = 0; word < kernel->core_words; word++)
			cores.word[word] |= atomic_load(&spaces->vspace[i]->active_mask[word]);
	return cores;
}

bool tlb_has_cores(const struct kernel *kernel, const struct vspace *vspace)
{
	for (uint32_t word = 0; word < kernel->core_words; word++)
		if (atomic_load(&vspace->active_mask[word]))
			return true;
	return false;
}

/* Makes a reader's round. Only this core and those that it asks access its list. */
static void round_of_reader(struct cpu *cpu)
{
	const struct core_set cores = cores_of(kernel_of(cpu), &cpu->shared.owed);
	remote_flush(cpu, &cores);
	cpu->shared.owed.count = 0;
}

static void reader_owes(struct cpu *cpu, struct vspace *vspace)
{
	struct tlb_spaces *owed = &cpu->shared.owed;
	kernel_assert(atomic_load_explicit(&cpu->shared.debts, memory_order_relaxed) & 1);
	for (uint32_t i = 0; i < owed->count; i++)
		if (owed->vspace[i] == vspace)
			return;
	/*
	 * Store buffering: this core writes the page-table entry, then reads the mask; a core that loads the space sets
	 * its bit, then walks. All seq_cst: either this sees the bit, or the walk sees the new entry.
	 */
	if (!tlb_has_cores(kernel_of(cpu), vspace))
		return;
	if (owed->count == TLB_SPACES)
		round_of_reader(cpu);
	owed->vspace[owed->count++] = vspace;
}

static void wait_for_debts(struct cpu *cpu)
{
	const struct kernel *kernel = kernel_of(cpu);
	for (unsigned i = 0; i < kernel->cpu_count; i++) {
		const _Atomic uint64_t *debts = &kernel->cpu[i]->shared.debts;
		uint64_t found = atomic_load_explicit(debts, memory_order_acquire);
		while ((found & 1) && atomic_load_explicit(debts, memory_order_acquire) == found)
			kernel_relax(cpu);
	}
}

/*
 * Hazard: deadlock. A core pays its own debts before it waits for those of others, or two cores would wait for each
 * other.
 */
static void reader_settles(struct cpu *cpu)
{
	uint64_t debts = atomic_load_explicit(&cpu->shared.debts, memory_order_relaxed);
	if (cpu->shared.owed.count)
		round_of_reader(cpu);
	if (debts & 1)
		atomic_store_explicit(&cpu->shared.debts, debts + 1, memory_order_release);
	if (cpu->own.doubts)
		wait_for_debts(cpu);
	cpu->own.doubts = false;
}

void tlb_debt(struct cpu *cpu)
{
	uint64_t debts = atomic_load_explicit(&cpu->shared.debts, memory_order_relaxed);
	assert_entered();
	if (!(debts & 1))
		atomic_store_explicit(&cpu->shared.debts, debts + 1,
		                      /* ordered before the change of the entry, which is seq_cst */
		                      memory_order_relaxed);
}

void tlb_doubt(struct cpu *cpu)
{
	if (!kernel_exclusive(cpu))
		cpu->own.doubts = true;
}

void tlb_owe(struct cpu *cpu, struct vspace *vspace)
{
	struct tlb_spaces *owed = &cpu->shared.owed;
	if (!kernel_exclusive(cpu)) {
		reader_owes(cpu, vspace);
		return;
	}
	kernel_assert(owed->count <= TLB_SPACES);
	if (vspace->owed_in == kernel_of(cpu)->tlb_round || !tlb_has_cores(kernel_of(cpu), vspace))
		return;
	/* early: if the transaction fell back only at the flush, the whole entry would be done twice */
	kernel_irrevocable(cpu);
	if (owed->count == TLB_SPACES)
		tlb_flush_pending(cpu);
	vspace->owed_in = kernel_of(cpu)->tlb_round;
	owed->vspace[owed->count++] = vspace;
}

void tlb_flush_pending(struct cpu *cpu)
{
	struct tlb_spaces *owed = &cpu->shared.owed;
	if (!kernel_exclusive(cpu)) {
		reader_settles(cpu);
		return;
	}
	if (!owed->count)
		return;
	const struct core_set cores = cores_of(kernel_of(cpu), owed);
	remote_request(cpu, &cores, REQUEST_FLUSH, owed);
	owed->count = 0;
	kernel_of(cpu)->tlb_round++;
}

void tlb_leave(struct cpu *cpu, struct vspace *vspace)
{
	const struct tlb_spaces gone = { 1, { vspace } };
	assert_exclusive();
	struct tlb_spaces *owed = &cpu->shared.owed;
	const struct core_set cores = cores_of(kernel_of(cpu), &gone);
	remote_request(cpu, &cores, REQUEST_FLUSH_AND_UNLOAD, &gone);
	for (uint32_t i = 0; i < owed->count; i++)
		if (owed->vspace[i] == vspace)
			owed->vspace[i] = owed->vspace[--owed->count];
}
