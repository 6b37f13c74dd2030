/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_move.h"
#include <skerry/memory_control.h>
#include "arch.h"
#include "cap.h"
#include "cnode.h"
#include "core_move.h"
#include "kernel.h"
#include "message.h"
#include "remote.h"
#include LOCKING_HEADER

enum { SIBLINGS_MAX = 512 }; /* the most that is_root() visits */

struct move {
	struct memory_control *control;
	uint64_t base, piece; /* piece: number of the first */
	uint32_t count;
};

/* Returns whether all pieces of the block have a byte in the table. */
/*@ assigns \nothing;
  @ ensures \result <==> piece < pieces && piece + count <= pieces; */
static bool pieces_known(uint64_t piece, uint32_t count, uint64_t pieces)
{
	return !(piece >= pieces || count > pieces - piece);
}
/* Returns false if the block is too large, not aligned, or holds memory that does not move. */
static bool decode_move(const struct kernel *kernel, uint64_t base, uint64_t size_bits, struct move *m)
{
	const struct boot_info *boot = kernel->boot;
	if (!boot->memory_control || size_bits < MEMORY_PIECE_BITS || size_bits > MEMORY_MOVE_BITS_MAX ||
	    base & ((1ull << size_bits) - 1))
		return false;
	*m = (struct move){ direct(boot->memory_control), base, base >> MEMORY_PIECE_BITS,
	                    1u << (size_bits - MEMORY_PIECE_BITS) };
	/* not the table's own count: other clusters can write that */
	uint64_t pieces = boot->memory_size - sizeof(struct memory_control);
	if (!pieces_known(m->piece, m->count, pieces))
		return false;
	for (uint32_t i = 0; i < m->count; i++)
		if (!memory_home(m->control, boot->memory_size, m->piece + i))
			return false;
	return true;
}

static bool all_are_owned(const struct move *m, uint32_t cluster)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (memory_read(m->control, m->piece + i) != memory_byte(MEMORY_OWNED, cluster))
			return false;
	return true;
}

static bool all_are_parked(const struct move *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (memory_state(memory_read(m->control, m->piece + i)) != MEMORY_PARKED)
			return false;
	return true;
}

/* Returns whether the capability derives from no other: all brackets before it in its list close siblings. */
static bool is_root(const struct slot *slot)
{
	const struct link *before = slot->open.previous;
	for (unsigned i = 0; before && i < SIBLINGS_MAX; i++) {
		if (link_opens(before))
			return false;
		before = link_slot(before)->open.previous;
	}
	return !before;
}

static uint64_t give_memory(struct cpu *cpu, uint64_t info)
{
	struct kernel *kernel = kernel_of(cpu);
	uint32_t own = kernel->boot->cluster;
	uint64_t to = message_word(current(cpu), 0);
	struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_UNTYPED);
	struct move m;
	if (!is_neighbour(kernel, to))
		return SKERRY_BAD_ARGUMENT;
	if (!slot)
		return SKERRY_BAD_CAP;
	if ((slot->cap.flags & CAP_DEVICE) || !decode_move(kernel, slot->cap.object, slot->cap.size_bits, &m))
		return SKERRY_BAD_ARGUMENT;
	if (slot_has_children(slot) || !is_root(slot) || !all_are_owned(&m, own) ||
	    arch_direct_count(kernel, m.base, m.count) != m.count)
		return SKERRY_BUSY;

	kernel_irrevocable(cpu);
	slot_remove(slot);
	arch_direct_set(kernel, m.base, m.count, false);
	remote_request(cpu, &kernel->cores, REQUEST_FLUSH_KERNEL, 0);
	memory_give_all(m.control, m.piece, m.count, own, (uint32_t)to);
	memory_changed(m.control);
	return SKERRY_OK;
}

static uint64_t take_memory(struct cpu *cpu, uint64_t info)
{
	struct kernel *kernel = kernel_of(cpu);
	const struct thread *thread = current(cpu);
	uint64_t size_bits = message_word(thread, 1), index = message_word(thread, 2);
	const struct slot *node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	struct move m;
	if (!decode_move(kernel, message_word(thread, 0), size_bits, &m))
		return SKERRY_BAD_ARGUMENT;
	if (!node)
		return SKERRY_BAD_CAP;
	if (!(node->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	if (index == 0 || index >= 1ull << node->cap.size_bits)
		return SKERRY_BAD_ARGUMENT;
	if (!slot_empty(cnode_slot(&node->cap, index)))
		return SKERRY_SLOT_FULL;
	if (!all_are_parked(&m) || arch_direct_count(kernel, m.base, m.count) != 0)
		return SKERRY_BUSY;

	kernel_irrevocable(cpu);
	if (!memory_take_all(m.control, m.piece, m.count, kernel->boot->cluster))
		return SKERRY_BUSY;
	arch_direct_set(kernel, m.base, m.count, true);
	const struct cap untyped = { .type = OBJECT_UNTYPED, .rights = RIGHT_ALL, .size_bits = (uint8_t)size_bits,
	                             .object = m.base };
	slot_insert(cnode_slot(&node->cap, index), &untyped, 0);
	memory_changed(m.control);
	return SKERRY_OK;
}

uint64_t invoke_memory_control(struct cpu *cpu, const struct slot *slot, uint64_t info)
{
	assert_exclusive();
	uint64_t label = message_label(info);
	kernel_assert(slot->cap.type == OBJECT_CLUSTER_CONTROL && (label == MEMORY_GIVE || label == MEMORY_TAKE));
	if (message_words(info) < (label == MEMORY_GIVE ? 1u : 3u))
		return SKERRY_TRUNCATED;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	return label == MEMORY_GIVE ? give_memory(cpu, info) : take_memory(cpu, info);
}
