/* SPDX-License-Identifier: BSD-2-Clause */
#include "cnode.h"
#include "channel.h"
#include "io_port.h"
#include "kernel.h"
#include "message.h"

/* The n highest bits of a capability pointer of which `bits` are left. */
static uint64_t take_bits(uint64_t cptr, unsigned bits, unsigned n)
{
	return n ? cptr << (64 - bits) >> (64 - n) : 0;
}

struct slot *cspace_lookup(const struct thread *thread, uint64_t cptr)
{
	const struct slot *slot = &thread->slot[THREAD_CSPACE];
	unsigned bits = 64;
	do {
		const struct cap *node = &slot->cap;
		if (node->type != OBJECT_CNODE || bits < node->guard_bits + node->size_bits)
			return 0;
		if (take_bits(cptr, bits, node->guard_bits) != node->badge)
			return 0;
		bits -= node->guard_bits;
		slot = cnode_slot(node, take_bits(cptr, bits, node->size_bits));
		bits -= node->size_bits;
	} while (slot && bits);
	return (struct slot *)slot;
}

struct slot *cnode_slot(const struct cap *cap, uint64_t index)
{
	if (index == 0 || index >= 1ull << cap->size_bits)
		return 0;
	return (struct slot *)cap->object + index;
}

/* What a copy of `source` becomes; an error when it may not be copied so. */
static uint64_t derive(const struct cap *source, uint64_t rights, bool mint, uint64_t badge, struct cap *copy)
{
	*copy = *source;
	copy->rights &= rights;
	switch (source->type) {
	case OBJECT_UNTYPED:
	case OBJECT_PAGE_TABLE:
	case OBJECT_IRQ_HANDLER:
		return SKERRY_BAD_ARGUMENT; /* these have one owner; they can be moved */
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G:
		copy->flags &= ~CAP_MAPPED;
		copy->vaddr = copy->vspace = 0;
		return SKERRY_OK;
	case OBJECT_ENDPOINT:
	case OBJECT_NOTIFICATION:
		if (mint && source->badge)
			return SKERRY_BAD_ARGUMENT;
		if (mint)
			copy->badge = badge;
		return SKERRY_OK;
	case OBJECT_CNODE:
		if (mint)
			return SKERRY_BAD_ARGUMENT;
		return SKERRY_OK;
	case OBJECT_IO_PORT:
		return mint ? io_port_narrow(copy, badge) : SKERRY_OK;
	case OBJECT_CHANNEL:
		return mint ? channel_mint_doorbell(copy, badge) : SKERRY_OK;
	default:
		return mint ? SKERRY_BAD_ARGUMENT : SKERRY_OK;
	}
}

static uint64_t invoke_copy(struct cpu *cpu, struct slot *to, uint64_t info, bool mint)
{
	struct thread *thread = current(cpu);
	struct slot *from_node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	struct cap copy;
	if (message_words(info) < (mint ? 4u : 3u))
		return SKERRY_TRUNCATED;
	if (!from_node)
		return SKERRY_BAD_CAP;
	struct slot *from = cnode_slot(&from_node->cap, message_word(thread, 1));
	if (!from || slot_empty(from))
		return SKERRY_EMPTY_SLOT;
	if (!slot_empty(to))
		return SKERRY_SLOT_FULL;
	uint64_t error = derive(&from->cap, message_word(thread, 2), mint, mint ? message_word(thread, 3) : 0, &copy);
	if (error)
		return error;
	slot_insert(to, &copy, from);
	return SKERRY_OK;
}

static uint64_t invoke_move(struct cpu *cpu, struct slot *to, uint64_t info)
{
	struct slot *from_node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	if (message_words(info) < 2)
		return SKERRY_TRUNCATED;
	if (!from_node)
		return SKERRY_BAD_CAP;
	struct slot *from = cnode_slot(&from_node->cap, message_word(current(cpu), 1));
	if (!from || slot_empty(from))
		return SKERRY_EMPTY_SLOT;
	if (!slot_empty(to))
		return SKERRY_SLOT_FULL;
	slot_move(to, from);
	return SKERRY_OK;
}

uint64_t invoke_cnode(struct cpu *cpu, struct slot *node, uint64_t info)
{
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	struct slot *slot = cnode_slot(&node->cap, message_word(current(cpu), 0));
	if (!slot)
		return SKERRY_BAD_ARGUMENT;
	switch (message_label(info)) {
	case CNODE_COPY: return invoke_copy(cpu, slot, info, false);
	case CNODE_MINT: return invoke_copy(cpu, slot, info, true);
	case CNODE_MOVE: return invoke_move(cpu, slot, info);
	case CNODE_DELETE: slot_delete(cpu, slot); return SKERRY_OK;
	case CNODE_REVOKE: slot_revoke(cpu, slot); return SKERRY_OK;
	default: return SKERRY_BAD_LABEL;
	}
}

void cnode_doom(struct cpu *cpu, struct slot *slots, unsigned size_bits)
{
	slots->cap.size_bits = size_bits;
	slots->next = cpu->own.doomed;
	cpu->own.doomed = slots;
}

void cnode_destroy_doomed(struct cpu *cpu)
{
	if (cpu->own.destroying)
		return;
	cpu->own.destroying = true;
	while (cpu->own.doomed) {
		struct slot *slots = cpu->own.doomed;
		cpu->own.doomed = slots->next;
		for (uint64_t i = 1; i < 1ull << slots->cap.size_bits; i++)
			slot_delete(cpu, &slots[i]);
	}
	cpu->own.destroying = false;
}
