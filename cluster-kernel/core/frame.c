/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame.h"
#include "arch.h"
#include "cnode.h"
#include "domain.h"
#include "guard.h"
#include "kernel.h"
#include "message.h"
#include "outcome.h"
#include "protect.h"
#include "vspace.h"
#include "work.h"

/* `skip`: bytes from the address that the message names to this frame's. */
static uint64_t frame_map(struct cpu *cpu, struct cap *cap, uint64_t info, uint64_t skip)
{
	const struct thread *thread = current(cpu);
	struct vspace *vspace;
	unsigned missing;
	uint64_t error = mapping_check(cpu, cap, info, 3, &vspace);
	if (error)
		return error;
	uint64_t vaddr = message_word(thread, 0), rights = message_word(thread, 1),
	         attributes = message_word(thread, 2);
	uint64_t size = 1ull << frame_bits(cap->type);
	kernel_assert(!(cap->object & (size - 1)));
	if (vaddr & (size - 1))
		return SKERRY_ALIGNMENT;
	if (vaddr >= USER_TOP || skip > USER_TOP - vaddr)
		return SKERRY_BAD_ARGUMENT;
	vaddr += skip;
	if (vaddr >= USER_TOP || size > USER_TOP - vaddr || attributes > CACHE_WRITE_COMBINING)
		return SKERRY_BAD_ARGUMENT;
	rights &= cap->rights;
	if (!(rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS;
	uint64_t *entry = vspace_entry(vspace, vaddr, frame_level(cap), &missing);
	if (!entry)
		return SKERRY_MISSING_TABLE;
	uint64_t mapped = arch_pte_frame(cap->object, frame_level(cap), rights, attributes);
	kernel_assert(arch_pte_present(mapped) && arch_pte_address(mapped, frame_level(cap)) == cap->object);
	if (!entry_fill(cpu, entry, mapped))
		return SKERRY_MAPPED;
	mapping_note(cpu, cap, vspace, vaddr);
	return SKERRY_OK;
}

/* Maps or unmaps, with the frame's slot guarded. */
static uint64_t frame_change(struct cpu *cpu, struct cap *cap, uint64_t info)
{
	struct guard guard = { 0 };
	if (!guard_take(cpu, &guard, cap))
		return KERNEL_EXCLUSIVE;
	uint64_t result = message_label(info) == FRAME_MAP ? frame_map(cpu, cap, info, 0) : mapping_undo(cpu, cap);
	guard_drop(cpu, &guard, cap);
	guard_end(cpu, &guard);
	return result;
}

/* --- frames of consecutive capability pointers --- */

/* Returns the number of frames that the message has, in the word of number *index: 0 or absent for one. */
static uint64_t range_count(struct cpu *cpu, uint64_t info, unsigned *index)
{
	*index = message_label(info) == FRAME_MAP ? 3 : 1;
	return message_words(info) > *index ? message_word(current(cpu), *index) : 0;
}

/*
 * Maps or protects the frames that `count` capability pointers from the invoked one on name: the last of them first, so
 * that the number of those that are left is all that a later entry needs. Only a writer does this.
 */
static uint64_t frame_range(struct cpu *cpu, const struct slot *first, uint64_t info, uint64_t count, unsigned index)
{
	struct thread *thread = current(cpu);
	const unsigned type = first->cap.type;
	if (count > RANGE_COUNT_MAX)
		return SKERRY_BAD_ARGUMENT;
	if (!kernel_exclusive(cpu))
		return KERNEL_EXCLUSIVE;
	for (;;) {
		struct slot *slot = cspace_lookup(thread, context_cptr(&thread->context) + count - 1);
		if (!slot || slot->cap.type != type)
			return SKERRY_BAD_CAP;
		uint64_t result = message_label(info) == FRAME_MAP
			? frame_map(cpu, &slot->cap, info, (count - 1) << frame_bits(type))
			: frame_protect(cpu, slot, info);
		if (result || --count == 0)
			return result;
		message_set_word(thread, index, count);
		work_done(cpu, WORK_MAP);
		if (work_over(cpu))
			return KERNEL_AGAIN;
	}
}

uint64_t invoke_frame(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_entered();
	struct cap *cap = &slot->cap;
	unsigned index;
	if (message_label(info) == FRAME_MAP || message_label(info) == FRAME_PROTECT) {
		uint64_t count = range_count(cpu, info, &index);
		if (count > 1)
			return frame_range(cpu, slot, info, count, index);
	}
	switch (message_label(info)) {
	case FRAME_MAP:
	case FRAME_UNMAP: return frame_change(cpu, cap, info);
	case FRAME_PROTECT: return frame_protect(cpu, slot, info);
	case FRAME_ADDRESS: message_set_word(current(cpu), 0, cap->object); return SKERRY_OK;
	case FRAME_SPLIT: return frame_split(cpu, slot, info);
	case FRAME_GUARD: message_set_word(current(cpu), 0, domain_guard(kernel_of(cpu), cap)); return SKERRY_OK;
	default: return SKERRY_BAD_LABEL;
	}
}
