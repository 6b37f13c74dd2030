/* SPDX-License-Identifier: BSD-2-Clause */
#include "tlb.h"
#include "kernel.h"
#include "remote.h"
#include "vspace.h"
#include LOCKING_HEADER

static uint64_t cores_of(const struct tlb_spaces *spaces)
{
	uint64_t cores = 0;
	for (uint32_t i = 0; i < spaces->count; i++)
		cores |= atomic_load(&spaces->vspace[i]->active_mask);
	return cores;
}

void tlb_owe(struct cpu *cpu, struct vspace *vspace)
{
	struct tlb_spaces *owed = &cpu->shared.owed;
	assert_exclusive();
	kernel_assert(owed->count <= TLB_SPACES);
	if (vspace->owed_in == kernel_of(cpu)->tlb_round || !atomic_load(&vspace->active_mask))
		return;
	kernel_irrevocable(cpu); /* not only when it is settled: the whole entry would be done twice */
	if (owed->count == TLB_SPACES)
		tlb_flush_pending(cpu);
	vspace->owed_in = kernel_of(cpu)->tlb_round;
	owed->vspace[owed->count++] = vspace;
}

void tlb_flush_pending(struct cpu *cpu)
{
	struct tlb_spaces *owed = &cpu->shared.owed;
	if (!owed->count)
		return;
	assert_exclusive();
	remote_request(cpu, cores_of(owed), REQUEST_FLUSH, owed);
	owed->count = 0;
	kernel_of(cpu)->tlb_round++;
}

void tlb_leave(struct cpu *cpu, struct vspace *vspace)
{
	const struct tlb_spaces gone = { 1, { vspace } };
	assert_exclusive();
	struct tlb_spaces *owed = &cpu->shared.owed;
	remote_request(cpu, cores_of(&gone), REQUEST_FLUSH_AND_UNLOAD, &gone);
	for (uint32_t i = 0; i < owed->count; i++)
		if (owed->vspace[i] == vspace)
			owed->vspace[i] = owed->vspace[--owed->count];
}
