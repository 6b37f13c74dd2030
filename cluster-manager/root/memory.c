/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"
#include "root.h"
#include "slots.h"

enum {
	BITS_MIN = 6, /* the smallest kernel object */
	BITS_MAX = 47,
	/* what one system call makes: bounds the time that the kernel zeroes memory with its lock held */
	RETYPE_BATCH = 32,
	RETYPE_BYTES = 4 << 20,
};

/* Free blocks of each size: lists threaded through their slots' numbers; slot 0 is never a block. */
static uint32_t free_list[BITS_MAX + 1];
static uint32_t next_free[1 << ROOT_CNODE_BITS];
static uint64_t total_bytes, free_bytes;

static void push(unsigned bits, uint32_t slot)
{
	next_free[slot] = free_list[bits];
	free_list[bits] = slot;
	free_bytes += 1ull << bits;
}

static uint32_t pop(unsigned bits)
{
	uint32_t slot = free_list[bits];
	free_list[bits] = next_free[slot];
	free_bytes -= 1ull << bits;
	return slot;
}

void memory_init(void)
{
	for (uint32_t i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_ORDINARY || u->size_bits < BITS_MIN || u->size_bits > BITS_MAX)
			continue;
		push(u->size_bits, ROOT_SLOT_UNTYPED + i);
		total_bytes += 1ull << u->size_bits;
	}
}

uint64_t memory_total(void) { return total_bytes; }
uint64_t memory_free(void) { return free_bytes; }

int memory_untyped(unsigned bits)
{
	if (bits < BITS_MIN)
		bits = BITS_MIN;
	unsigned from = bits;
	while (from <= BITS_MAX && !free_list[from])
		from++;
	if (from > BITS_MAX)
		return -SKERRY_NO_MEMORY;
	uint32_t block = pop(from);
	for (; from > bits; from--) {
		int halves = slots_take(2);
		int error = halves < 0 ? halves :
			untyped_retype(IPC, block, OBJECT_UNTYPED, from - 1, ROOT_SLOT_CNODE, (uint64_t)halves, 2);
		if (error) {
			push(from, block);
			return error;
		}
		push(from - 1, (uint32_t)halves + 1);
		block = (uint32_t)halves;
	}
	return (int)block;
}

void memory_return(int untyped, unsigned bits)
{
	push(bits < BITS_MIN ? BITS_MIN : bits, (uint32_t)untyped);
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

/* Fills `count` slots from `first` with objects out of `untyped`, which has room for them. */
static int retype(int untyped, enum skerry_object type, unsigned size_bits, int first, uint32_t count)
{
	uint32_t most = RETYPE_BYTES >> object_bits(type, size_bits);
	if (most > RETYPE_BATCH)
		most = RETYPE_BATCH;
	if (most == 0)
		most = 1;
	for (uint32_t done = 0; done < count;) {
		uint32_t batch = count - done < most ? count - done : most;
		int error = untyped_retype(IPC, (uint64_t)untyped, type, size_bits, ROOT_SLOT_CNODE,
					   (uint64_t)first + done, batch);
		if (error)
			return error;
		done += batch;
	}
	return 0;
}

int memory_object(enum skerry_object type, unsigned size_bits)
{
	int slot = slots_take(1);
	int untyped = slot < 0 ? slot : memory_untyped(object_bits(type, size_bits));
	if (untyped < 0)
		return untyped;
	int error = retype(untyped, type, size_bits, slot, 1);
	return error ? error : slot;
}

int memory_contiguous(enum skerry_object type, unsigned count_bits)
{
	int first = slots_take(1u << count_bits);
	int untyped = first < 0 ? first : memory_untyped(object_bits(type, 0) + count_bits);
	if (untyped < 0)
		return untyped;
	int error = retype(untyped, type, 0, first, 1u << count_bits);
	return error ? error : first;
}

int memory_frames(enum skerry_object type, uint32_t count)
{
	unsigned frame_bits = object_bits(type, 0);
	int first = slots_take(count);
	if (first < 0)
		return first;
	/* the largest blocks first; smaller ones when memory is in pieces */
	unsigned count_bits = 31;
	for (uint32_t done = 0; done < count;) {
		while (1u << count_bits > count - done)
			count_bits--;
		int untyped = memory_untyped(frame_bits + count_bits);
		if (untyped < 0) {
			if (count_bits == 0)
				return untyped;
			count_bits--;
			continue;
		}
		int error = retype(untyped, type, 0, first + (int)done, 1u << count_bits);
		if (error)
			return error;
		done += 1u << count_bits;
	}
	return first;
}
