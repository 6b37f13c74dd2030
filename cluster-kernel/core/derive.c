/* SPDX-License-Identifier: BSD-2-Clause */
#include "derive.h"
#include "channel.h"
#include "io_port.h"

static bool has_one_owner(const struct cap *cap)
{
	return cap->type == OBJECT_UNTYPED || cap->type == OBJECT_PAGE_TABLE || cap->type == OBJECT_IRQ_HANDLER;
}

void cap_set_guard(struct cap *cap, uint64_t guard, unsigned bits)
{
	kernel_assert(cap->type == OBJECT_CNODE && bits + cap->size_bits <= 64);
	kernel_assert(bits == 64 || !(guard >> bits));
	cap->badge = guard;
	cap->guard_bits = bits;
	cap->limit = guard == 0 && bits + cap->size_bits == 64 ? 1ull << cap->size_bits : 0;
}

uint64_t cap_copy(const struct cap *source, uint64_t rights, struct cap *copy)
{
	kernel_assert(source->type != CAP_NULL && source->type != CAP_ZOMBIE);
	*copy = *source;
	copy->rights &= rights;
	if (copy->flags & CAP_MAPPED) {
		cap_set_vaddr(copy, 0);
		copy->vspace = 0;
	}
	copy->flags &= ~(CAP_MAPPED | CAP_THREAD | CAP_NOTED);
	if (has_one_owner(source))
		return SKERRY_BAD_ARGUMENT;
	return cap_may_be_copied(source) ? SKERRY_OK : SKERRY_NO_RESOURCE;
}

uint64_t cap_mint(struct cap *copy, uint64_t badge, uint64_t guard_bits)
{
	kernel_assert(!(copy->flags & CAP_THREAD));
	switch (copy->type) {
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G: return SKERRY_OK;
	case OBJECT_ENDPOINT:
	case OBJECT_NOTIFICATION:
		if (copy->badge)
			return SKERRY_BAD_ARGUMENT; /* a badge is for ever */
		copy->badge = badge;
		return SKERRY_OK;
	case OBJECT_CNODE:
		if (guard_bits > 64u - copy->size_bits || badge >> guard_bits)
			return SKERRY_BAD_ARGUMENT;
		cap_set_guard(copy, badge, guard_bits);
		return SKERRY_OK;
	case OBJECT_IO_PORT: return io_port_narrow(copy, badge);
	case OBJECT_CHANNEL: return channel_mint_doorbell(copy, badge);
	default: return SKERRY_BAD_ARGUMENT;
	}
}

/* Children derive from type, rights and badge; the guard of a CNode is each capability's own. */
static bool fit_for_children(const struct cap *before, const struct cap *after)
{
	return before->type == after->type && before->rights == after->rights &&
	       (before->badge == after->badge || before->type == OBJECT_CNODE);
}

uint64_t cap_mutate(const struct slot *slot, uint64_t rights, uint64_t badge, uint64_t guard_bits, struct cap *mutant)
{
	kernel_assert(!slot_empty(slot));
	*mutant = slot->cap;
	mutant->rights &= rights;
	if (has_one_owner(mutant))
		return SKERRY_BAD_ARGUMENT;
	if ((mutant->flags & CAP_MAPPED) && mutant->rights != slot->cap.rights)
		return SKERRY_MAPPED; /* with rights it would not have */
	uint64_t error = cap_mint(mutant, badge, guard_bits);
	if (error)
		return error;
	return slot_has_children(slot) && !fit_for_children(&slot->cap, mutant) ? SKERRY_BUSY : SKERRY_OK;
}
