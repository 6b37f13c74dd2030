/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls for several slots: CNODE_COPY, FRAME_MAP and FRAME_PROTECT with a count, UNTYPED_COPY. */
#include <string.h>
#include "arch.h"
#include "check.h"
#include "harness.h"
#include "kernel.h"
#include "vspace.h"
#include "work.h"

enum { TABLES = 1110, F = 1200, OTHERS = 1400, NEW = 1600, MANY = 3000, UNTYPED = 1100,
       RW = RIGHT_READ | RIGHT_WRITE, PAGES = 300, LARGE = 1 << 21 };
#define AT 0x8000000000ull

static void tables(void)
{
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
}

static unsigned mapped(unsigned page)
{
	unsigned missing;
	const uint64_t *entry = vspace_entry((struct vspace *)slot_of(VSPACE)->cap.object, AT + page * 4096ull,
	                                     LEVEL_4K, &missing);
	return entry && arch_pte_present(*entry) ? arch_pte_rights(*entry) : 0;
}

static unsigned mapped_with(unsigned first, unsigned count, unsigned rights)
{
	unsigned found = 0;
	for (unsigned i = first; i < first + count; i++)
		found += mapped(i) == rights;
	return found;
}

static uint64_t copies(uint64_t to, uint64_t from, uint64_t count)
{
	return call(CNODE, CNODE_COPY, W(to, from, RW, count), W(CNODE));
}

static void copies_of_capabilities(void)
{
	make(OBJECT_FRAME_4K, 0, F, 3);
	make(OBJECT_ENDPOINT, 0, NEW + 2, 1);
	EXPECT(copies(OTHERS, F, 3), 0);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT(slot_of(OTHERS + i)->cap.object, slot_of(F + i)->cap.object);
		EXPECT(slot_of(OTHERS + i)->cap.rights, RW);
		EXPECT(slot_has_children(slot_of(F + i)), true);
	}
	EXPECT(copies(NEW, F, 3), SKERRY_SLOT_FULL);
	EXPECT(word(running(0), 0), NEW + 2);
	EXPECT(word(running(0), 1), F + 2);
	EXPECT(word(running(0), 3), 1);
	EXPECT(slot_empty(slot_of(NEW + 1)), false);
	EXPECT(copies(NEW + 10, F + 1, 3), SKERRY_EMPTY_SLOT);
	EXPECT(copies(NEW + 20, F, RANGE_COUNT_MAX + 1), SKERRY_BAD_ARGUMENT);
	EXPECT(copies((1u << ROOT_CNODE_BITS) - 1, F, 2), SKERRY_BAD_ARGUMENT);
	EXPECT(slot_empty(slot_of(NEW + 20)), true);
}

static void copies_by_and_by(void)
{
	make(OBJECT_FRAME_4K, 0, F, 1);
	check_every(64);
	for (unsigned i = 0; i < PAGES; i++)
		copy(MANY + i, F, RIGHT_ALL, 0);
	stopped_begin();
	stopped_call(1, CNODE, CNODE_COPY, W(MANY + PAGES, MANY, RW, PAGES), W(CNODE));
	EXPECT(slot_empty(slot_of(MANY + PAGES)), false);
	EXPECT(slot_empty(slot_of(MANY + 2 * PAGES - 1)), true);
	stopped_finish(0);
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT(slot_of(MANY + PAGES + i)->cap.rights, RW);
}

static uint64_t maps(uint64_t page, uint64_t count)
{
	return call(F, FRAME_MAP, W(AT + page * 4096, RW, CACHE_WRITE_BACK, count), W(VSPACE));
}

static void frames_are_mapped_side_by_side(void)
{
	unsigned missing;
	make(OBJECT_FRAME_4K, 0, F, 3);
	EXPECT(maps(0, 3), SKERRY_MISSING_TABLE);
	EXPECT(word(running(0), 3), 3);
	tables();
	EXPECT(maps(0, 3), 0);
	EXPECT(mapped_with(0, 4, RW), 3);
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t *entry = vspace_entry((struct vspace *)slot_of(VSPACE)->cap.object, AT + i * 4096ull,
		                                     LEVEL_4K, &missing);
		EXPECT(arch_pte_address(*entry, LEVEL_4K), slot_of(F + i)->cap.object);
		EXPECT(call(F + i, FRAME_UNMAP, NONE, NONE), 0);
	}
	EXPECT(maps(0, RANGE_COUNT_MAX + 1), SKERRY_BAD_ARGUMENT);
	EXPECT(maps(0, 4), SKERRY_BAD_CAP); /* nothing is in the fourth slot */
	make(OBJECT_FRAME_2M, 0, F + 3, 1);
	EXPECT(maps(0, 4), SKERRY_BAD_CAP); /* of another size */
	EXPECT(maps((USER_TOP - AT) / 4096 - 2, 3), SKERRY_BAD_ARGUMENT);
	EXPECT(call(F, FRAME_MAP, W(~4095ull, RW, CACHE_WRITE_BACK, 2), W(VSPACE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(F + 1, FRAME_MAP, W(AT + 4096, RW, CACHE_WRITE_BACK), W(VSPACE)), 0);
	EXPECT(maps(0, 3), SKERRY_MAPPED);
	EXPECT(word(running(0), 3), 2); /* the last one is mapped */
	EXPECT(mapped_with(0, 3, RW), 2);
}

static uint64_t protects(uint64_t first, unsigned rights, uint64_t count)
{
	return call(first, FRAME_PROTECT, W(rights, count), W(VSPACE));
}

static void frames_are_protected_together(void)
{
	tables();
	make(OBJECT_FRAME_4K, 0, F, 3);
	copy(OTHERS, F + 1, RIGHT_ALL, 0);
	EXPECT(maps(0, 3), 0);
	EXPECT(protects(F, RIGHT_READ, RANGE_COUNT_MAX + 1), SKERRY_BAD_ARGUMENT);
	EXPECT(protects(F, RIGHT_READ, 4), SKERRY_BAD_CAP);
	EXPECT(mapped_with(0, 3, RW), 3);
	EXPECT(protects(F, RIGHT_READ, 3), 0);
	EXPECT(mapped_with(0, 3, RIGHT_READ), 3);
	EXPECT(slot_of(OTHERS)->cap.rights, RIGHT_READ);
	EXPECT(protects(F, RW, 2), 0);
	EXPECT(mapped_with(0, 2, RW), 2);
	EXPECT(mapped(2), RIGHT_READ);
}

/* The core that uses the frames is asked once for many of them, and has none of their old translations behind that. */
static void one_round_for_many(void)
{
	tables();
	make(OBJECT_FRAME_4K, 0, F, 24);
	EXPECT(maps(0, 24), 0);
	make_thread(2000, 100, 1);
	settle();
	const uint64_t before = machine->kernel.tlb_round;
	EXPECT(protects(F, RIGHT_READ, 20), 0);
	const unsigned budgets = 20 * (WORK_UNMAP + WORK_MAP) / machine->kernel.work_budget + 1;
	EXPECT(machine->kernel.tlb_round - before <= budgets && machine->kernel.tlb_round > before, true);
	EXPECT(mapped_with(0, 24, RIGHT_READ), 20);
}

static void protected_by_and_by(void)
{
	tables();
	make(OBJECT_FRAME_4K, 0, F, 150);
	check_every(64);
	EXPECT(maps(0, 150), 0);
	stopped_begin();
	stopped_call(1, F, FRAME_PROTECT, W(RIGHT_READ, 150), W(VSPACE));
	EXPECT(mapped(149), RIGHT_READ);
	EXPECT(mapped(0), RW);
	stopped_finish(0);
	EXPECT(mapped_with(0, 150, RIGHT_READ), 150);
}

static uint64_t copy_frames(uint64_t object, uint64_t from, uint64_t to, uint64_t count)
{
	return call(UNTYPED, UNTYPED_COPY, W(object, from, to, count), W(CNODE, CNODE));
}

static uint64_t *memory_of(uint64_t frame) { return direct(slot_of(frame)->cap.object); }

static void fill(uint64_t frame, uint64_t size, uint64_t seed)
{
	for (uint64_t i = 0; i < size / 8; i++)
		memory_of(frame)[i] = seed + i;
}

static void frames_with_content(void)
{
	enum { COUNT = 20 };
	make(OBJECT_FRAME_4K, 0, F, COUNT);
	make(OBJECT_UNTYPED, 18, UNTYPED, 1);
	for (unsigned i = 0; i < COUNT; i++)
		fill(F + i, 4096, i << 20);
	EXPECT(call(UNTYPED, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, NEW + COUNT, 1), W(CNODE)), 0);
	EXPECT(copy_frames(OBJECT_FRAME_4K, F, NEW, COUNT), 0);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(memcmp(memory_of(NEW + i), memory_of(F + i), 4096), 0);
	memory_of(NEW)[0] = 1;
	EXPECT(memory_of(F)[0], 0);
	EXPECT(call(UNTYPED, UNTYPED_RETYPE, W(OBJECT_FRAME_4K, 0, NEW + 30, 2), W(CNODE)), 0);
	for (unsigned i = 0; i < 512; i++)
		EXPECT(memory_of(NEW + 31)[i], 0);
	EXPECT(copy_frames(OBJECT_FRAME_4K, F, NEW, 1), SKERRY_SLOT_FULL);
	EXPECT(copy_frames(OBJECT_FRAME_4K, F + COUNT, NEW + 40, 1), SKERRY_BAD_CAP);
	EXPECT(copy_frames(OBJECT_FRAME_4K, F + COUNT - 1, NEW + 40, 2), SKERRY_BAD_CAP);
	EXPECT(slot_empty(slot_of(NEW + 40)), false);
	EXPECT(word(running(0), 1), F + COUNT);
	EXPECT(word(running(0), 3), 1);
	EXPECT(copy_frames(OBJECT_PAGE_TABLE, F, NEW + 50, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(copy_frames(OBJECT_FRAME_2M, F, NEW + 50, 1), SKERRY_NO_MEMORY);
	copy(OTHERS, F, RIGHT_WRITE, 0);
	EXPECT(copy_frames(OBJECT_FRAME_4K, OTHERS, NEW + 50, 1), SKERRY_NO_RIGHTS);
	EXPECT(copy_frames(OBJECT_FRAME_4K, F, NEW + 50, 60), SKERRY_NO_MEMORY);
	EXPECT(call(UNTYPED, UNTYPED_COPY, W(OBJECT_FRAME_4K, F, NEW + 50, 1), W(CNODE)), SKERRY_BAD_CAP);
	uint64_t device = U;
	while (!(slot_of(device)->cap.flags & CAP_DEVICE))
		device++;
	EXPECT(call(device, UNTYPED_COPY, W(OBJECT_FRAME_4K, F, NEW + 60, 1), W(CNODE, CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(device, UNTYPED_RETYPE, W(OBJECT_FRAME_4K, 0, NEW + 61, 1), W(CNODE)), 0);
	EXPECT(copy_frames(OBJECT_FRAME_4K, NEW + 61, NEW + 62, 1), SKERRY_BAD_CAP);
}

static uint64_t untyped_of(unsigned bits)
{
	uint64_t untyped = U;
	while (slot_of(untyped)->cap.size_bits != bits)
		untyped++;
	return untyped;
}

/* Large frames in F and behind it, and an untyped with room for two: all of the memory. A thread may be stopped. */
static void make_large(void)
{
	const uint64_t all = untyped_of(23);
	check_every(64);
	stopped_begin();
	EXPECT(call(all, UNTYPED_RETYPE, W(OBJECT_FRAME_2M, 0, F, 1), W(CNODE)), 0);
	EXPECT(call(all, UNTYPED_RETYPE, W(OBJECT_UNTYPED, 22, UNTYPED, 1), W(CNODE)), 0);
	EXPECT(call(untyped_of(21), UNTYPED_RETYPE, W(OBJECT_FRAME_2M, 0, F + 1, 1), W(CNODE)), 0);
	fill(F, LARGE, 7);
	fill(F + 1, LARGE, 1ull << 40);
}

/* Begins a copy of the large frame at F, and stops in the middle. */
static void stop_in_a_copy(void)
{
	make_large();
	stopped_call(5, UNTYPED, UNTYPED_COPY, W(OBJECT_FRAME_2M, F, NEW, 1), W(CNODE, CNODE));
	EXPECT(slot_empty(slot_of(NEW)), true);
	EXPECT(slot_of(UNTYPED)->cap.zeroed > 0 && slot_of(UNTYPED)->cap.zeroed < LARGE, true);
}

static void a_large_copy_goes_on(void)
{
	stop_in_a_copy();
	stopped_finish(0);
	EXPECT(memcmp(memory_of(NEW), memory_of(F), LARGE), 0);
}

/* A copy that has begun is taken neither for zeroes nor for the copy of another frame. */
static void others_use_the_untyped_meanwhile(void)
{
	stop_in_a_copy();
	EXPECT(call(UNTYPED, UNTYPED_RETYPE, W(OBJECT_FRAME_4K, 0, NEW + 1, 1), W(CNODE)), 0);
	for (unsigned i = 0; i < 512; i++)
		EXPECT(memory_of(NEW + 1)[i], 0);
	stopped_finish(0); /* at the next place for one */
	EXPECT(memcmp(memory_of(NEW), memory_of(F), LARGE), 0);
	for (unsigned i = 0; i < 512; i++)
		EXPECT(memory_of(NEW + 1)[i], 0);
}

static void another_copies_meanwhile(void)
{
	stop_in_a_copy();
	EXPECT(copy_frames(OBJECT_FRAME_2M, F + 1, NEW + 1, 1), 0);
	EXPECT(memcmp(memory_of(NEW + 1), memory_of(F + 1), LARGE), 0);
	stopped_finish(0);
	EXPECT(memcmp(memory_of(NEW), memory_of(F), LARGE), 0);
}

/* All objects of the untyped end while a copy stands behind the first of them: it begins anew at the start. */
static void the_room_is_whole_again_meanwhile(void)
{
	make_large();
	EXPECT(call(UNTYPED, UNTYPED_RETYPE, W(OBJECT_FRAME_2M, 0, NEW + 1, 1), W(CNODE)), 0);
	stopped_call(5, UNTYPED, UNTYPED_COPY, W(OBJECT_FRAME_2M, F, NEW, 1), W(CNODE, CNODE));
	delete(NEW + 1);
	stopped_finish(0);
	EXPECT(memcmp(memory_of(NEW), memory_of(F), LARGE), 0);
}

TESTS(ranges) = {
	{ "copies of capabilities", copies_of_capabilities, 1 },
	{ "copies by and by", copies_by_and_by, 1 | TEST_ONCE },
	{ "frames are mapped side by side", frames_are_mapped_side_by_side, 1 },
	{ "frames are protected together", frames_are_protected_together, 1 },
	{ "one round of interrupts for many frames", one_round_for_many, 2 },
	{ "frames are protected by and by", protected_by_and_by, 1 | TEST_ONCE },
	{ "frames with the content of others", frames_with_content, 1 },
	{ "a copy of a large frame goes on", a_large_copy_goes_on, 1 | TEST_ONCE },
	{ "others use the untyped while a copy is made", others_use_the_untyped_meanwhile, 1 | TEST_ONCE },
	{ "another copy is made meanwhile", another_copies_meanwhile, 1 | TEST_ONCE },
	{ "the untyped is whole again meanwhile", the_room_is_whole_again_meanwhile, 1 | TEST_ONCE },
	{ 0 },
};
