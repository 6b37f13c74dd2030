/* SPDX-License-Identifier: BSD-2-Clause */
/* FRAME_PROTECT. kernel_check() finds mappings that have more than their capabilities, and stale translations. */
#include "arch.h"
#include "check.h"
#include "harness.h"
#include "kernel.h"
#include "vspace.h"
#include "work.h"

enum { SPACE = 1100, TABLES = 1110, F = 1200, BUFFER_THREAD = 1150, MANY = 3000, RW = RIGHT_READ | RIGHT_WRITE };
#define AT 0x8000000000ull

static void tables(uint64_t space)
{
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(space)), 0);
}

static void map(uint64_t frame, uint64_t space, unsigned page, uint64_t rights)
{
	EXPECT(call(frame, FRAME_MAP, W(AT + page * 4096ull, rights, CACHE_DISABLED), W(space)), 0);
}

static uint64_t protect(uint64_t frame, uint64_t rights) { return call(frame, FRAME_PROTECT, W(rights), NONE); }

static unsigned rights_of(uint64_t slot) { return slot_of(slot)->cap.rights; }

/* What a page of the space that `space` names is mapped with; 0: nothing. */
static unsigned mapped(uint64_t space, unsigned page)
{
	unsigned missing;
	const uint64_t *entry = vspace_entry((struct vspace *)slot_of(space)->cap.object, AT + page * 4096ull, LEVEL_4K,
	                                     &missing);
	return entry && arch_pte_present(*entry) ? arch_pte_rights(*entry) : 0;
}

static void descendants_keep_at_most_these(void)
{
	enum { A = F + 1, B, C, D, READ_EXECUTE = RIGHT_READ | RIGHT_EXECUTE };
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	copy(A, F, RIGHT_ALL, 0);
	copy(B, A, RIGHT_ALL, 0);
	copy(C, B, RW, 0);
	copy(D, F, RW, 0);
	map(B, VSPACE, 1, RW);
	map(C, VSPACE, 2, RIGHT_ALL);
	map(D, VSPACE, 3, RIGHT_ALL);
	EXPECT(protect(A, READ_EXECUTE), 0);
	EXPECT(rights_of(F), RIGHT_ALL);
	EXPECT(rights_of(A), RIGHT_ALL);
	EXPECT(rights_of(B), READ_EXECUTE);
	EXPECT(rights_of(C), RIGHT_READ);
	EXPECT(rights_of(D), RW);
	EXPECT(mapped(VSPACE, 1), RIGHT_READ); /* less than its capability has: it does not gain */
	EXPECT(mapped(VSPACE, 2), RIGHT_READ);
	EXPECT(mapped(VSPACE, 3), RW);
	EXPECT(call(C, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(call(C, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(VSPACE)), 0);
	EXPECT(mapped(VSPACE, 0), RIGHT_READ);
	EXPECT(protect(A, RIGHT_ALL), 0); /* gives nothing back */
	EXPECT(rights_of(B), READ_EXECUTE);
}

static void own_mapping(void)
{
	unsigned missing;
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	copy(F + 1, F, RW, 0);
	map(F + 1, VSPACE, 0, RW);
	EXPECT(protect(F + 1, RIGHT_READ), 0);
	EXPECT(rights_of(F + 1), RW);
	EXPECT(mapped(VSPACE, 0), RIGHT_READ);
	EXPECT(protect(F + 1, RIGHT_ALL), 0);
	EXPECT(mapped(VSPACE, 0), RIGHT_READ);
	EXPECT(call(F + 1, FRAME_PROTECT, W(RIGHT_ALL), W(VSPACE)), 0);
	EXPECT(mapped(VSPACE, 0), RW); /* all that the capability has */
	const uint64_t *entry = vspace_entry((struct vspace *)slot_of(VSPACE)->cap.object, AT, LEVEL_4K, &missing);
	EXPECT(*entry, arch_pte_frame(slot_of(F)->cap.object, LEVEL_4K, RW, CACHE_DISABLED));
	EXPECT(call(F + 1, FRAME_PROTECT, W(RIGHT_READ), W(VSPACE)), 0);
	EXPECT(mapped(VSPACE, 0), RIGHT_READ);
}

static void without_read_unmapped(void)
{
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	copy(F + 1, F, RIGHT_ALL, 0);
	map(F, VSPACE, 0, RW);
	map(F + 1, VSPACE, 1, RW);
	EXPECT(protect(F, RIGHT_WRITE | RIGHT_EXECUTE), 0);
	EXPECT(mapped(VSPACE, 0) | mapped(VSPACE, 1), 0);
	EXPECT(call(F, FRAME_UNMAP, NONE, NONE), SKERRY_NOT_MAPPED);
	EXPECT(call(F + 1, FRAME_UNMAP, NONE, NONE), SKERRY_NOT_MAPPED);
	EXPECT(call(F + 1, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(VSPACE)), SKERRY_NO_RIGHTS);
	map(F, VSPACE, 0, RW); /* it has kept its rights */
	EXPECT(mapped(VSPACE, 0), RW);
}

/* An order that is wrong changes nothing. */
static void wrong_orders(void)
{
	enum { WEAK = F + 2 };
	make(OBJECT_VSPACE, 0, SPACE, 1);
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	copy(F + 1, F, RIGHT_ALL, 0);
	copy(WEAK, VSPACE, RIGHT_READ, 0);
	EXPECT(call(F, FRAME_PROTECT, NONE, NONE), SKERRY_TRUNCATED);
	EXPECT(call(F, FRAME_PROTECT, W(0), W(F + 1)), SKERRY_BAD_CAP);
	EXPECT(call(F, FRAME_PROTECT, W(0), W(WEAK)), SKERRY_NO_RIGHTS);
	EXPECT(call(F, FRAME_PROTECT, W(0), W(VSPACE)), SKERRY_NOT_MAPPED);
	map(F, VSPACE, 0, RW);
	EXPECT(call(F, FRAME_PROTECT, W(0), W(SPACE)), SKERRY_BAD_ARGUMENT);
	EXPECT(rights_of(F + 1), RIGHT_ALL);
	EXPECT(mapped(VSPACE, 0), RW);
	EXPECT(protect(F, ~0ull), 0); /* more rights than there are */
	EXPECT(rights_of(F + 1), RIGHT_ALL);
}

static void a_large_frame(void)
{
	enum { LARGE = F, COPY };
	make(OBJECT_FRAME_2M, 0, LARGE, 1);
	copy(COPY, LARGE, RW, 0);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 2);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	EXPECT(call(COPY, FRAME_MAP, W(AT, RIGHT_ALL, CACHE_WRITE_COMBINING), W(VSPACE)), 0);
	EXPECT(hosted_store(machine, 0, AT + 0x1ff000, 1), true);
	EXPECT(protect(LARGE, RIGHT_READ), 0);
	EXPECT(hosted_store(machine, 0, AT + 0x1ff000, 2), false);
	uint64_t value = 0;
	EXPECT(hosted_load(machine, 0, AT + 0x1ff000, &value) && value == 1, true);
}

static void a_space_or_a_table_is_gone(void)
{
	make(OBJECT_VSPACE, 0, SPACE, 1);
	tables(SPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	copy(F + 1, F, RIGHT_ALL, 0);
	copy(F + 2, F, RIGHT_ALL, 0);
	map(F + 1, SPACE, 0, RW);
	EXPECT(call(TABLES + 2, PAGE_TABLE_UNMAP, NONE, NONE), 0);
	EXPECT(call(TABLES + 2, PAGE_TABLE_MAP, W(AT), W(SPACE)), 0);
	map(F + 2, SPACE, 0, RW); /* where the other was */
	EXPECT(call(F + 1, FRAME_PROTECT, W(RIGHT_READ), W(SPACE)), 0);
	EXPECT(mapped(SPACE, 0), RIGHT_READ); /* the same page at the same place: its entry is the one that is found */
	delete(SPACE);
	EXPECT(protect(F, RIGHT_READ), 0);
	EXPECT(rights_of(F + 1) | rights_of(F + 2), RIGHT_READ);
}

/* Both cores have the translations that are changed. */
static void other_cores_flush(void)
{
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	make_thread(BUFFER_THREAD, 100, 1);
	for (unsigned i = 0; i < 8; i++) {
		copy(F + 1 + i, F, RIGHT_ALL, 0);
		map(F + 1 + i, VSPACE, i, RW);
	}
	for (unsigned i = 0; i < 16; i++)
		EXPECT(hosted_store(machine, i % 2, AT + i / 2 * 4096, i), true);
	uint64_t rounds = machine->kernel.tlb_round;
	EXPECT(protect(F, RIGHT_READ), 0);
	EXPECT(machine->kernel.tlb_round - rounds, machine->kernel.work_budget == WORK_BUDGET ? 1 : 8);
	for (unsigned i = 0; i < 16; i++)
		EXPECT(hosted_store(machine, i % 2, AT + i / 2 * 4096, i), false);
	EXPECT(call(F + 1, FRAME_PROTECT, W(RIGHT_ALL), W(VSPACE)), 0);
	EXPECT(hosted_store(machine, 1, AT, 0), false);
	EXPECT(protect(F, 0), 0);
	EXPECT(hosted_touch(machine, 0, AT) | hosted_touch(machine, 1, AT), 0);
}

/* Gaining is a change, too: no core may fault on what it remembers. */
static void other_cores_flush_what_gains(void)
{
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	make_thread(BUFFER_THREAD, 100, 1);
	map(F, VSPACE, 0, RIGHT_READ);
	EXPECT(hosted_store(machine, 0, AT, 1) || hosted_store(machine, 1, AT, 1), false);
	EXPECT(call(F, FRAME_PROTECT, W(RW), W(VSPACE)), 0);
	EXPECT(hosted_store(machine, 0, AT, 1) && hosted_store(machine, 1, AT, 1), true);
}

static void ipc_buffers_go(void)
{
	enum { BUFFER = BUFFER_THREAD + 1 };
	const struct thread *thread = make_thread(BUFFER_THREAD, 100, 1);
	copy(F, BUFFER, RIGHT_ALL, 0);
	EXPECT(protect(BUFFER, RW | RIGHT_GRANT), 0);
	EXPECT(thread_ipc_buffer(thread) != 0, true);
	EXPECT(thread->slot[THREAD_IPC_BUFFER].cap.rights, RW | RIGHT_GRANT);
	EXPECT(protect(BUFFER, RIGHT_READ), 0);
	EXPECT(thread_ipc_buffer(thread) == 0, true);
	EXPECT(rights_of(F), RIGHT_READ);
	EXPECT(syscall_on(1, SYS_YIELD, 0, 0, NONE, NONE, 0), 0);
	EXPECT(protect(BUFFER, 0), 0);
	EXPECT(rights_of(F), 0);
}

enum { COUNT = 900, PAGES = 256 };

/* A tree of `COUNT` in the slots from MANY on, some of it deep, some wide, with a page of each third mapped. */
static void grow(void)
{
	tables(VSPACE);
	make(OBJECT_FRAME_4K, 0, F, 1);
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t from = i < 3 || i % 4 == 0 ? F : MANY + (i % 4 == 1 ? i - 1 : i / 3);
		copy(MANY + i, from, RIGHT_ALL, 0);
		if (i % 3 == 0 && i / 3 < PAGES)
			map(MANY + i, VSPACE, i / 3, RW);
	}
}

static unsigned with_more_than(unsigned rights)
{
	unsigned count = 0;
	for (unsigned i = 0; i < COUNT + PAGES; i++)
		count += (rights_of(MANY + i) & ~rights) != 0;
	for (unsigned i = 0; i < PAGES; i++)
		count += (mapped(VSPACE, i) & ~rights) != 0;
	return count;
}

/* Something with the slot up to which all is done, or with the next one; `spare` is empty. */
static void disturb(unsigned what, uint64_t done, uint64_t next, uint64_t spare)
{
	bool has_done = done >= MANY && done < MANY + COUNT, has_next = next >= MANY && next < MANY + COUNT;
	uint64_t slot = what & 1 ? next : done;
	if (what < 6 && !(what & 1 ? has_next : has_done))
		return;
	switch (what) {
	case 0:
	case 1: delete(slot); break;
	case 2:
	case 3: EXPECT(call(CNODE, CNODE_MOVE, W(spare, slot), W(CNODE)), 0); break;
	case 4: revoke(slot); break;
	case 5: copy(spare, slot, RIGHT_ALL, 0); break;
	case 6: copy(spare, F, RIGHT_ALL, 0); break;
	default:
		if (has_done)
			delete(done);
		if (has_next)
			delete(next);
	}
}

/* Whatever happens between two budgets, nothing that derives from the frame keeps more in the end. */
static void changed_between_budgets(void)
{
	check_every(64);
	grow();
	stopped_begin();
	machine->kernel.work_budget = 300;
	stopped_call(5, F, FRAME_PROTECT, W(RIGHT_READ), NONE);
	const struct protection *noted = &machine->kernel.cpu[0]->shared.protection;
	unsigned steps = 0;
	for (uint64_t state = 1; noted->frame && steps < PAGES; steps++) {
		EXPECT(noted->frame == slot_of(F), true);
		EXPECT(with_more_than(RIGHT_READ) > 0, true);
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		disturb(state >> 61, link_slot(noted->done) - slot_of(0), link_slot(noted->done->previous) - slot_of(0),
		        MANY + COUNT + steps);
		kernel_check(machine);
		stopped_wait(machine->time + 10);
		while (running(0) != stopped_high) { /* the call has ended */
			hosted_advance(machine, 10);
			settle();
		}
	}
	EXPECT(steps >= 16, true);
	stopped_finish(0);
	EXPECT(with_more_than(RIGHT_READ), 0);
}

/* A frame moves while its call has stopped: the call ends, for its slot is empty, and begins anew in the other. */
static void the_frame_moves(void)
{
	check_every(64);
	grow();
	stopped_begin();
	stopped_call(3, F, FRAME_PROTECT, W(RIGHT_READ), NONE);
	EXPECT(with_more_than(RIGHT_READ) > 0, true);
	EXPECT(call(CNODE, CNODE_MOVE, W(F + 1, F), W(CNODE)), 0);
	EXPECT(machine->kernel.cpu[0]->shared.protection.frame == slot_of(F + 1), true);
	stopped_finish(SKERRY_BAD_CAP);
	EXPECT(protect(F + 1, RIGHT_READ), 0);
	EXPECT(with_more_than(RIGHT_READ), 0);
}

/* The frame goes, and another is put into its slot: nothing that the call had noted holds for that. */
static void the_frame_goes(void)
{
	enum { OTHER = F + 10 };
	check_every(64);
	grow();
	make(OBJECT_FRAME_4K, 0, OTHER, 1);
	copy(OTHER + 1, OTHER, RIGHT_ALL, 0);
	stopped_begin();
	stopped_call(3, F, FRAME_PROTECT, W(RIGHT_READ), NONE);
	unsigned left = with_more_than(RIGHT_READ);
	EXPECT(left > 0, true);
	delete(F);
	EXPECT(machine->kernel.cpu[0]->shared.protection.frame == 0, true);
	EXPECT(call(CNODE, CNODE_MOVE, W(F, OTHER), W(CNODE)), 0);
	stopped_finish(0);
	EXPECT(rights_of(OTHER + 1), RIGHT_READ);
	EXPECT(with_more_than(RIGHT_READ), left);
}

/* Two calls of one core take the note from each other, and both end. */
static void two_calls(void)
{
	enum { SECOND = F + 20, HALF = 500 };
	check_every(64);
	grow();
	make(OBJECT_FRAME_4K, 0, SECOND, 1);
	for (unsigned i = 0; i < HALF; i++)
		copy(MANY + 2000 + i, SECOND, RIGHT_ALL, 0);
	stopped_begin();
	stopped_call(3, F, FRAME_PROTECT, W(RIGHT_READ), NONE);
	EXPECT(protect(SECOND, RW), 0);
	EXPECT(machine->kernel.cpu[0]->shared.protection.frame == 0, true);
	for (unsigned i = 0; i < HALF; i++)
		EXPECT(rights_of(MANY + 2000 + i), RW);
	EXPECT(protect(F, RW), 0);
	EXPECT(with_more_than(RIGHT_READ) > 0, true);
	EXPECT(with_more_than(RW), 0);
	stopped_finish(0);
	EXPECT(with_more_than(RIGHT_READ), 0);
}

/* What is noted holds for one frame and for these rights. */
static void another_frame_and_other_rights(void)
{
	enum { SECOND = F + 20 };
	check_every(64);
	grow();
	make(OBJECT_FRAME_4K, 0, SECOND, 1);
	copy(SECOND + 1, SECOND, RIGHT_ALL, 0);
	stopped_begin();
	stopped_call(3, F, FRAME_PROTECT, W(RIGHT_READ), NONE);
	EXPECT(protect(SECOND, RIGHT_READ), 0);
	EXPECT(rights_of(SECOND + 1), RIGHT_READ);
	/* too few: it does not run */
	for (unsigned ticks = 1; machine->kernel.cpu[0]->shared.protection.frame != slot_of(F); ticks++)
		EXPECT((stopped_wait(machine->time + ticks), ticks < 100), true);
	EXPECT(protect(F, RIGHT_WRITE), 0);
	EXPECT(with_more_than(RIGHT_WRITE), 0);
	stopped_finish(0);
	EXPECT(with_more_than(0), 0);
}

/* In a line of descent each capability that the call has reached is the first behind the one it derives from. */
static void the_last_one_goes(void)
{
	enum { DEPTH = 600, SPARE = MANY + DEPTH };
	check_every(64);
	make(OBJECT_FRAME_4K, 0, MANY, 1);
	for (unsigned i = 1; i < DEPTH; i++)
		copy(MANY + i, MANY + i - 1, RIGHT_ALL, 0);
	stopped_begin();
	stopped_call(1, MANY, FRAME_PROTECT, W(RIGHT_READ), NONE);
	const struct protection *noted = &machine->kernel.cpu[0]->shared.protection;
	uint64_t last = link_slot(noted->done) - slot_of(0);
	EXPECT(last > MANY + 1 && rights_of(last - 1) == RIGHT_ALL, true);
	EXPECT(slot_of(last)->cap.flags & CAP_NOTED, CAP_NOTED);
	copy(SPARE, last, RIGHT_ALL, 0);
	EXPECT(slot_of(SPARE)->cap.flags, 0);
	delete(last);
	kernel_check(machine);
	stopped_finish(0);
	for (unsigned i = 1; i <= DEPTH; i++)
		EXPECT(rights_of(MANY + i) & ~RIGHT_READ, 0);
}

TESTS(protect) = {
	{ "descendants keep at most these rights", descendants_keep_at_most_these, 1 },
	{ "a frame's own mapping", own_mapping, 1 },
	{ "without READ it is unmapped", without_read_unmapped, 1 },
	{ "wrong orders", wrong_orders, 1 },
	{ "a large frame", a_large_frame, 1 },
	{ "a space or a table is gone", a_space_or_a_table_is_gone, 1 },
	{ "other cores flush", other_cores_flush, 2 },
	{ "other cores flush what gains", other_cores_flush_what_gains, 2 },
	{ "IPC buffers go", ipc_buffers_go, 2 },
	{ "the tree changes between two budgets", changed_between_budgets, 1 | TEST_ONCE },
	{ "the frame moves between two budgets", the_frame_moves, 1 | TEST_ONCE },
	{ "the frame goes between two budgets", the_frame_goes, 1 | TEST_ONCE },
	{ "two calls of one core", two_calls, 1 | TEST_ONCE },
	{ "another frame and other rights", another_frame_and_other_rights, 1 | TEST_ONCE },
	{ "the last one that was reached goes", the_last_one_goes, 1 | TEST_ONCE },
	{ 0 },
};
