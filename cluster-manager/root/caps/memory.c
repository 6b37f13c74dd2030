/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "blocks.h"
#include "memory.h"
#include "root.h"
#include "signs.h"
#include "slots.h"

enum {
	/* what one system call makes: bounds the time that the kernel zeroes memory with its lock held */
	RETYPE_BATCH = 32,
	RETYPE_BYTES = 4 << 20,
};

enum { PAIRS = BLOCK_PAIRS, FIRST_RECORDS = PAIRS + 2048 };
enum { CHUNK = MEMORY_RECORDS_SIZE / sizeof(struct block) & ~1ul, CHUNKS_MAX = 1024 };

static struct block first_records[FIRST_RECORDS];
static struct block *chunk[CHUNKS_MAX]; /* records from FIRST_RECORDS on, CHUNK in each */
static uint32_t chunk_count, spare_pair, spare_count;
static uint32_t free_list[BITS_MAX + 1];
static struct {
	uint32_t first, last;
} held[OWNERS]; /* blocks of each owner, in the order in which they were taken; not the manager's */
static uint64_t total_bytes, free_bytes;

struct block *block_at(uint32_t i)
{
	require(i < FIRST_RECORDS + chunk_count * CHUNK);
	return i < FIRST_RECORDS ? &first_records[i] : &chunk[(i - FIRST_RECORDS) / CHUNK][(i - FIRST_RECORDS) % CHUNK];
}

void block_push(uint32_t i)
{
	struct block *b = block_at(i);
	require(i && b->bits >= BITS_MIN && b->bits <= BITS_MAX);
	b->state = BLOCK_FREE;
	b->previous = 0;
	b->next = free_list[b->bits];
	if (b->next)
		block_at(b->next)->previous = i;
	free_list[b->bits] = i;
	free_bytes += 1ull << b->bits;
}

static void block_unlink(uint32_t i)
{
	const struct block *b = block_at(i);
	require(b->state == BLOCK_FREE && free_bytes >= 1ull << b->bits);
	require(b->previous ? block_at(b->previous)->next == i : free_list[b->bits] == i);
	if (b->previous)
		block_at(b->previous)->next = b->next;
	else
		free_list[b->bits] = b->next;
	if (b->next)
		block_at(b->next)->previous = b->previous;
	free_bytes -= 1ull << b->bits;
}

void block_pair_put(uint32_t i)
{
	require(i >= PAIRS && i % 2 == 0);
	block_at(i)->next = spare_pair;
	spare_pair = i;
	spare_count++;
}

uint32_t block_pair_take(void)
{
	uint32_t i = spare_pair;
	if (!i)
		return 0;
	require(spare_count);
	spare_pair = block_at(i)->next;
	spare_count--;
	return i;
}

void memory_init(void)
{
	for (uint32_t i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_ORDINARY || u->size_bits < BITS_MIN || u->size_bits > BITS_MAX)
			continue;
		*block_at(i + 1) = (struct block){ .slot = ROOT_SLOT_UNTYPED + i, .bits = (uint8_t)u->size_bits };
		block_push(i + 1);
		total_bytes += 1ull << u->size_bits;
	}
	for (uint32_t i = PAIRS; i < FIRST_RECORDS; i += 2)
		block_pair_put(i);
}

/* One block may take a split of each size above it, of which those of an earlier one are left. */
bool memory_has_records(uint64_t blocks) { return spare_count >= blocks + BITS_MAX; }

void memory_give_records(void *memory)
{
	if (chunk_count == CHUNKS_MAX)
		return;
	require(memory);
	uint32_t first = FIRST_RECORDS + chunk_count * (uint32_t)CHUNK;
	chunk[chunk_count++] = memory;
	for (uint32_t i = 0; i < CHUNK; i += 2)
		block_pair_put(first + i);
}

uint32_t block_free(unsigned bits)
{
	require(bits <= BITS_MAX);
	return free_list[bits];
}
void memory_total_change(int64_t bytes)
{
	require(bytes >= 0 || total_bytes >= (uint64_t)-bytes);
	total_bytes += (uint64_t)bytes;
}

uint64_t memory_total(void) { return total_bytes; }
uint64_t memory_free(void) { return free_bytes; }

/* Halves a block, which is in no list. Returns its first half, or 0; the second half is free. */
static uint32_t block_split(uint32_t i, int *error)
{
	struct block *b = block_at(i);
	require(b->state == BLOCK_TAKEN && b->bits > BITS_MIN);
	uint32_t before = owner_set(OWNER_MANAGER);
	int halves = spare_pair ? slots_take_for_objects(2) : -SKERRY_NO_RESOURCE;
	owner_set(before);
	*error = halves < 0 ? halves : untyped_retype(IPC, b->slot, OBJECT_UNTYPED, b->bits - 1u, ROOT_SLOT_CNODE,
						      (uint64_t)halves, 2);
	if (*error) {
		if (halves >= 0)
			slots_give(halves, 2);
		return 0;
	}
	uint32_t low = block_pair_take();
	for (uint32_t half = 0; half < 2; half++)
		*block_at(low + half) = (struct block){ .slot = (uint32_t)halves + half, .parent = i,
		                                        .bits = b->bits - 1 };
	b->state = BLOCK_SPLIT;
	block_push(low + 1);
	return low;
}

void block_release(uint32_t i)
{
	for (;;) {
		const struct block *b = block_at(i), *other = block_at(i ^ 1);
		require(b->state != BLOCK_FREE && b->state != BLOCK_NONE);
		if (!b->parent || other->state != BLOCK_FREE ||
		    cnode_revoke(ROOT_SLOT_CNODE, block_at(b->parent)->slot)) {
			block_push(i);
			return;
		}
		uint32_t low = i & ~1u, parent = b->parent;
		block_unlink(i ^ 1);
		slots_give((int)block_at(low)->slot, 2);
		block_pair_put(low);
		i = parent;
	}
}

static void block_hold(uint32_t i)
{
	uint32_t owner = owner_now();
	block_at(i)->state = BLOCK_TAKEN;
	block_at(i)->next = 0;
	if (owner == OWNER_MANAGER)
		return;
	require(owner < OWNERS);
	if (held[owner].first)
		block_at(held[owner].last)->next = i;
	else
		held[owner].first = i;
	held[owner].last = i;
}

uint32_t block_take(unsigned bits, int *error)
{
	*error = -SKERRY_NO_MEMORY;
	if (bits < BITS_MIN)
		bits = BITS_MIN;
	unsigned from = bits;
	while (from <= BITS_MAX && !free_list[from])
		from++;
	if (from > BITS_MAX)
		return 0;
	uint32_t i = free_list[from];
	block_unlink(i);
	block_at(i)->state = BLOCK_TAKEN;
	for (; from > bits; from--) {
		uint32_t half = block_split(i, error);
		if (!half) {
			block_release(i);
			return 0;
		}
		i = half;
		block_at(i)->state = BLOCK_TAKEN;
	}
	block_hold(i);
	return i;
}

int memory_untyped(unsigned bits)
{
	int error;
	uint32_t i = block_take(bits, &error);
	return i ? (int)block_at(i)->slot : error;
}

/* In the order in which they were taken: an address space goes before the frames that are mapped there. */
static void return_blocks(uint32_t owner)
{
	uint32_t next;
	for (uint32_t i = held[owner].first; i; i = next) {
		require(block_at(i)->state == BLOCK_TAKEN);
		next = block_at(i)->next;
		int error = cnode_revoke(ROOT_SLOT_CNODE, block_at(i)->slot);
		if (error)
			manager_panic("memory cannot be taken back (error %d)", -error);
		block_release(i);
	}
	held[owner].first = held[owner].last = 0;
}

void memory_return(uint32_t owner)
{
	require(owner != OWNER_MANAGER && owner < OWNERS && owner != owner_now());
	return_blocks(owner);
	slots_return(owner);
}

static unsigned object_bits(enum skerry_object type, unsigned size_bits)
{
	switch (type) {
	case OBJECT_UNTYPED:
		return size_bits;
	case OBJECT_CNODE:
		return size_bits + SLOT_BITS;
	case OBJECT_TCB:
		return TCB_BITS;
	case OBJECT_VSPACE:
		return VSPACE_BITS;
	case OBJECT_PAGE_TABLE:
		return PAGE_TABLE_BITS;
	case OBJECT_FRAME_4K:
		return 12;
	case OBJECT_FRAME_2M:
		return 21;
	case OBJECT_FRAME_1G:
		return 30;
	default:
		return ENDPOINT_BITS; /* endpoint, notification and reply are of one size */
	}
}

/*
 * Fills `count` slots from `first` with objects out of `untyped`, which has room for them. `from`: first slot of as
 * many frames whose content they get; 0: they are empty.
 */
static int block_retype(int untyped, enum skerry_object type, unsigned size_bits, int first, uint32_t count, int from)
{
	require(untyped > 0 && first > 0);
	uint32_t most = RETYPE_BYTES >> object_bits(type, size_bits);
	if (most > RETYPE_BATCH)
		most = RETYPE_BATCH;
	if (most == 0)
		most = 1;
	for (uint32_t done = 0; done < count;) {
		uint32_t batch = count - done < most ? count - done : most;
		int error = from ? untyped_copy(IPC, (uint64_t)untyped, type, ROOT_SLOT_CNODE, (uint64_t)from + done,
		                                (uint64_t)first + done, batch)
		            : untyped_retype(IPC, (uint64_t)untyped, type, size_bits, ROOT_SLOT_CNODE,
		                             (uint64_t)first + done, batch);
		if (error)
			return error;
		done += batch;
		sign_pass();
	}
	return 0;
}

int memory_retype(int untyped, enum skerry_object type, int first, uint32_t count, int from)
{
	return block_retype(untyped, type, 0, first, count, from);
}

int memory_object(enum skerry_object type, unsigned size_bits)
{
	int slot = slots_take_for_objects(1);
	int untyped = slot < 0 ? slot : memory_untyped(object_bits(type, size_bits));
	if (slot >= 0 && untyped < 0)
		slots_give(slot, 1); /* the manager's would be missing for good */
	if (untyped < 0)
		return untyped;
	int error = block_retype(untyped, type, size_bits, slot, 1, 0);
	return error ? error : slot;
}

int memory_contiguous(enum skerry_object type, unsigned count_bits)
{
	int first = slots_take_for_objects(1u << count_bits);
	int untyped = first < 0 ? first : memory_untyped(object_bits(type, 0) + count_bits);
	if (untyped < 0)
		return untyped;
	int error = block_retype(untyped, type, 0, first, 1u << count_bits, 0);
	return error ? error : first;
}

/* Other owners give back all that they have. Returns the error. */
static int reserve_fails(const struct memory_reserve *reserve, int first, int error)
{
	uint32_t next;
	if (owner_now() != OWNER_MANAGER)
		return error;
	for (uint32_t i = reserve->block; i; i = next) {
		next = block_at(i)->next;
		block_release(i);
	}
	slots_give(first, reserve->left);
	return error;
}

int memory_reserve(struct memory_reserve *reserve, enum skerry_object type, unsigned size_bits, uint32_t count)
{
	unsigned bits = object_bits(type, size_bits);
	uint32_t last = 0;
	*reserve = (struct memory_reserve){ .type = type, .size_bits = size_bits, .left = count };
	int first = slots_take_for_objects(count);
	if (first < 0)
		return first;
	/* the largest blocks first; smaller ones when memory is in pieces */
	unsigned count_bits = 31;
	for (uint32_t done = 0; done < count;) {
		int error;
		while (1u << count_bits > count - done)
			count_bits--;
		uint32_t i = block_take(bits + count_bits, &error);
		if (!i) {
			if (count_bits == 0)
				return reserve_fails(reserve, first, error);
			count_bits--;
			continue;
		}
		if (last)
			block_at(last)->next = i; /* as block_hold() has it, but for the manager's */
		else
			reserve->block = i;
		last = i;
		done += 1u << count_bits;
	}
	return first;
}

int memory_commit(struct memory_reserve *reserve, int first, uint32_t count, int from)
{
	unsigned bits = object_bits(reserve->type, reserve->size_bits);
	if (count > reserve->left)
		return -SKERRY_SLOT_FULL; /* the next block is another's */
	while (count) {
		require(reserve->block);
		const struct block *b = block_at(reserve->block);
		require(b->state == BLOCK_TAKEN && reserve->used <= 1ull << b->bits);
		uint64_t left = ((1ull << b->bits) - reserve->used) >> bits;
		uint32_t now = left < count ? (uint32_t)left : count;
		if (!now) {
			reserve->block = b->next;
			reserve->used = 0;
			continue;
		}
		int error = block_retype((int)b->slot, reserve->type, reserve->size_bits, first, now, from);
		if (error)
			return error;
		from += from ? (int)now : 0;
		reserve->used += (uint64_t)now << bits;
		reserve->left -= now;
		first += (int)now;
		count -= now;
	}
	return 0;
}

int memory_frames_copy(enum skerry_object type, uint32_t count, int from)
{
	struct memory_reserve reserve;
	int first = memory_reserve(&reserve, type, 0, count);
	int error = first < 0 ? first : memory_commit(&reserve, first, count, from);
	return error ? error : first;
}

int memory_frames(enum skerry_object type, uint32_t count) { return memory_frames_copy(type, count, 0); }
