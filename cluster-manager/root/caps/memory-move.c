/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/memory_control.h>
#include <skerry/require.h>
#include <skerry/stubs.h>
#include "blocks.h"
#include "memory.h"
#include "memory-move.h"
#include "root.h"
#include "signs.h"
#include "slots.h"

static uint32_t single_records; /* spare ones whose other half is in use, linked by `next` */

/* A record is not used any more. Those of the loader's blocks are no pairs, and stay unused. */
static void record_put(uint32_t i)
{
	if (i < BLOCK_PAIRS)
		return;
	block_at(i)->state = BLOCK_NONE;
	if (block_at(i ^ 1)->state != BLOCK_NONE) {
		block_at(i)->next = single_records;
		single_records = i;
		return;
	}
	uint32_t *link = &single_records;
	while (*link != (i ^ 1)) {
		require(*link);
		link = &block_at(*link)->next;
	}
	*link = block_at(i ^ 1)->next;
	block_at(i)->state = block_at(i ^ 1)->state = BLOCK_FREE;
	block_pair_put(i & ~1u);
}

/* 0: there is none. */
static uint32_t record_take(void)
{
	uint32_t i = single_records;
	if (i) {
		require(i >= BLOCK_PAIRS && block_at(i)->state == BLOCK_NONE);
		single_records = block_at(i)->next;
		block_at(i)->state = BLOCK_TAKEN;
		return i;
	}
	i = block_pair_take();
	if (i) {
		block_at(i)->state = BLOCK_TAKEN;
		record_put(i + 1);
	}
	return i;
}

/* Slots that the kernel has filled at boot are not for others. */
static void slot_put(uint32_t slot)
{
	if (slot >= ROOT->first_free_slot)
		slots_give((int)slot, 1);
}

/* Deletes all untypeds that a block was made of: their halves derive from nothing then, and are not joined any more. */
static int block_uproot(uint32_t i)
{
	uint32_t above = block_at(i)->parent;
	if (!above)
		return 0;
	int error = block_uproot(above); /* as deep as there are sizes */
	if (!error)
		error = cnode_delete(ROOT_SLOT_CNODE, block_at(above)->slot);
	if (error)
		return error;
	slot_put(block_at(above)->slot);
	block_at(i)->parent = block_at(i ^ 1)->parent = 0;
	record_put(above);
	return 0;
}

static int give_block(uint32_t i, uint32_t cluster)
{
	unsigned bits = block_at(i)->bits;
	require(bits >= MEMORY_PIECE_BITS && block_at(i)->state == BLOCK_TAKEN);
	uint32_t slot = block_at(i)->slot;
	int error = block_uproot(i);
	if (!error)
		error = memory_give_to(IPC, ROOT_SLOT_CLUSTER_CONTROL, slot, cluster);
	if (error) {
		block_release(i);
		return error;
	}
	slot_put(slot);
	record_put(i);
	memory_total_change(-(int64_t)(1ull << bits));
	return 0;
}

uint32_t memory_free_pieces(void)
{
	uint64_t pieces = 0;
	for (unsigned bits = MEMORY_PIECE_BITS; bits <= BITS_MAX; bits++)
		for (uint32_t i = block_free(bits); i; i = block_at(i)->next)
			pieces += 1ull << (bits - MEMORY_PIECE_BITS);
	return pieces < UINT32_MAX ? (uint32_t)pieces : UINT32_MAX;
}

/* The size of the next block for that many pieces: no larger than one call moves. */
static unsigned largest_block(uint32_t pieces)
{
	require(pieces);
	unsigned bits = MEMORY_PIECE_BITS + 31u - (unsigned)__builtin_clz(pieces);
	return bits < MEMORY_MOVE_BITS_MAX ? bits : MEMORY_MOVE_BITS_MAX;
}

uint32_t memory_part_with(uint32_t pieces, uint32_t cluster, int *error)
{
	uint32_t count = 0, before = owner_set(OWNER_MANAGER);
	*error = 0;
	for (unsigned bits = MEMORY_MOVE_BITS_MAX; count < pieces;) {
		if (bits > largest_block(pieces - count))
			bits = largest_block(pieces - count);
		uint32_t i = block_take(bits, error);
		if (!i && bits > MEMORY_PIECE_BITS) {
			bits--;
			continue;
		}
		if (!i)
			break;
		*error = give_block(i, cluster);
		if (*error)
			break;
		count += 1u << (bits - MEMORY_PIECE_BITS);
		sign_pass();
	}
	owner_set(before);
	return count;
}

int memory_gain(uint64_t base, unsigned bits)
{
	uint32_t before = owner_set(OWNER_MANAGER), record = record_take();
	int slot = record ? slots_take_for_objects(1) : -SKERRY_NO_RESOURCE;
	owner_set(before);
	int error = slot < 0 ? slot : memory_take_parked(IPC, ROOT_SLOT_CLUSTER_CONTROL, base, bits, ROOT_SLOT_CNODE,
	                                                 (uint64_t)slot);
	if (!error) {
		*block_at(record) = (struct block){ .slot = (uint32_t)slot, .bits = (uint8_t)bits };
		block_push(record);
		memory_total_change((int64_t)(1ull << bits));
		return 0;
	}
	if (slot >= 0)
		slots_give(slot, 1);
	if (record)
		record_put(record);
	return error;
}
