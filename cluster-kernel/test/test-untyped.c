/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "kernel.h"
#include "message.h"
#include "work.h"

static uint64_t retype(uint64_t untyped, uint64_t object, uint64_t bits, uint64_t slot, uint64_t count)
{
	return call(untyped, UNTYPED_RETYPE, W(object, bits, slot, count), W(CNODE));
}

static void device_memory_is_not_touched(void)
{
	uint64_t device = U;
	while (!(slot_of(device)->cap.flags & CAP_DEVICE))
		device++;
	EXPECT(retype(device, OBJECT_TCB, 0, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(device, OBJECT_FRAME_4K, 0, 1010, 2), 0); /* a touch would fault: nothing is there */
	EXPECT(slot_of(1011)->cap.flags, CAP_DEVICE);
}

/* What still has a user inside the kernel must not be handed out again. */
static void memory_of_a_signalled_notification_comes_back_clean(void)
{
	make(OBJECT_UNTYPED, 12, 1000, 1);
	EXPECT(retype(1000, OBJECT_NOTIFICATION, 0, 1010, 1), 0);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(1011, 0, 5, 0), W(CNODE)), 0);
	EXPECT(call(1011, IRQ_SET_NOTIFICATION, NONE, W(1010)), 0);
	revoke(1000);
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1020, 1), 0);
	uint64_t *memory = direct(slot_of(1020)->cap.object);
	hosted_raise_pin(machine, 5);
	settle();
	for (unsigned i = 0; i < 512; i++)
		EXPECT(memory[i], 0);
	delete(1011);
	for (unsigned i = 0; i < 512; i++)
		EXPECT(memory[i], 0);
}

/* The root task, at 100 beside an equal, so that the clock moves, and interrupted by a thread that waits so long. */
static struct thread *begin(uint64_t budgets)
{
	struct thread *high = make_thread(2000, 200, 0), *root = running(0);
	make_thread(2010, 100, 0);
	make(OBJECT_NOTIFICATION, 0, 2020, 1);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(running(0), high);
	for (unsigned ticks = 1; running(0) == high; ticks++) /* too few pass before anybody else runs */
		syscall_on(0, SYS_WAIT, 2020, 0, W(machine->time + ticks + budgets), NONE, 0);
	while (running(0) != root)
		simple(0, SYS_YIELD, 0);
	return high;
}

static void go_on(void) { syscall_on(0, SYS_WAIT, 2020, 0, W(0), NONE, 0); }

static void large_frames_are_zeroed_by_and_by(void)
{
	make(OBJECT_UNTYPED, 21, 1000, 1);
	uint64_t *memory = direct(slot_of(1000)->cap.object), size = 1 << 21;
	for (uint64_t i = 0; i < size / 8; i++)
		memory[i] = ~0ull;
	struct thread *root = running(0), *high = begin(10);
	retype(1000, OBJECT_FRAME_2M, 0, 1010, 1);
	EXPECT(running(0), high);
	EXPECT(root->context.again, true);
	uint64_t zeroed = slot_of(1000)->cap.zeroed;
	EXPECT(zeroed > 0 && zeroed < size, true);
	EXPECT(memory[size / 8 - 1], ~0ull);
	EXPECT(slot_of(1010)->cap.type, 0);
	/* meanwhile another takes the first of it */
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 1011, 1), 0);
	go_on();
	EXPECT(running(0), root);
	EXPECT(result(root), SKERRY_NO_MEMORY);
	delete(1011);
	*memory = ~0ull; /* as its user might have left it */
	EXPECT(retype(1000, OBJECT_FRAME_2M, 0, 1010, 1), 0);
	for (uint64_t i = 0; i < size / 8; i++)
		EXPECT(memory[i], 0);
}

/*
 * The gap that alignment skips holds what a program wrote. A retype stops while it zeroes the memory behind the gap; a
 * second retype of the same untyped meanwhile gets zeroed memory.
 */
static void a_skipped_gap_is_not_taken_for_zeroed(void)
{
	make(OBJECT_UNTYPED, 18, 1000, 1);
	uint64_t *memory = direct(slot_of(1000)->cap.object), size = 1 << 18;
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1010, 64), 0);
	for (uint64_t i = 0; i < size / 8; i++)
		memory[i] = 0x4141414141414141;
	revoke(1000);
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 1200, 1), 0);
	struct thread *root = running(0), *high = begin(2);
	retype(1000, OBJECT_CNODE, 11, 1201, 1); /* 128 KiB, at 128 KiB */
	EXPECT(running(0), high);
	EXPECT(root->context.again, true);
	EXPECT(retype(1000, OBJECT_PAGE_TABLE, 0, 1202, 1), 0);
	const uint64_t *table = (uint64_t *)slot_of(1202)->cap.object;
	for (unsigned i = 0; i < 512; i++)
		EXPECT(table[i], 0);
	go_on();
	EXPECT(running(0), root);
	EXPECT(result(root), SKERRY_NO_MEMORY); /* the page table took the start of the only aligned half */
	revoke(1000);
	EXPECT(retype(1000, OBJECT_CNODE, 11, 1201, 2), 0);
}

static void many_objects_are_made_by_and_by(void)
{
	make(OBJECT_UNTYPED, 21, 1000, 1);
	struct thread *root = running(0), *high = begin(2);
	retype(1000, OBJECT_VSPACE, 0, 3000, 200);
	EXPECT(running(0), high);
	while (slot_empty(slot_of(3001))) { /* they are zeroed first */
		syscall_on(0, SYS_WAIT, 2020, 0, W(machine->time + 100), NONE, 0);
		EXPECT(running(0), high);
	}
	unsigned made = 0;
	while (!slot_empty(slot_of(3000 + made)))
		made++;
	EXPECT(made < 200, true);
	EXPECT(word(root, 2), 3000 + made);
	EXPECT(word(root, 3), 200 - made);
	delete(3000); /* of what is there already */
	make(OBJECT_ENDPOINT, 0, 3199, 1);
	go_on();
	EXPECT(result(root), SKERRY_SLOT_FULL);
	EXPECT(word(root, 2) >= 3000 + made, true);
	made = word(root, 2) - 3000; /* up to the entry that was to fill 3199 */
	EXPECT(word(root, 3), 200 - made);
	EXPECT(slot_empty(slot_of(3000 + made - 1)), false);
	EXPECT(slot_empty(slot_of(3000 + made)), 3000 + made != 3199);
	delete(3199);
	EXPECT(retype(1000, OBJECT_VSPACE, 0, 3000 + made, 200 - made), 0);
	EXPECT(slot_of(3199)->cap.object, slot_of(3001)->cap.object + (198ull << VSPACE_BITS));
	EXPECT(retype(1000, OBJECT_VSPACE, 0, 3300, 56), 0);
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 3400, 1), SKERRY_NO_MEMORY);
}

/* Kernel entries of a retype of `count` objects from a new untyped. */
static unsigned entries_of_retype(uint64_t object, unsigned bits, uint64_t count)
{
	make(OBJECT_UNTYPED, 21, 1000, 1);
	struct hosted_call order = { .number = SYS_CALL, .cptr = 1000, .info = message_info(UNTYPED_RETYPE, 1, 4),
		                     .word = { object, bits, 1100, count } };
	thread_ipc_buffer(running(0))->caps[0] = CNODE;
	hosted_post_call(machine, 0, &order);
	unsigned entries = 0;
	while (!hosted_done(machine, 0) || running(0)->context.again) {
		enter_once();
		entries++;
	}
	EXPECT(result(running(0)), 0);
	EXPECT(slot_empty(slot_of(1100 + count - 1)), false);
	EXPECT(slot_empty(slot_of(1100 + count)), true);
	revoke(1000);
	delete(1000);
	return entries;
}

/* Each entry but the first spends its budget on memory and objects: it does not look at all slots again. */
static void entries_grow_with_the_number_of_objects(void)
{
	const unsigned budget = machine->kernel.work_budget;
	for (uint64_t count = 50; count <= RETYPE_COUNT_MAX; count += count == 200 ? 56 : 50) {
		unsigned zero = count * 4096 / 64 * WORK_ZERO, object = count * (WORK_OBJECT + WORK_EMPTY_SLOT);
		EXPECT(entries_of_retype(OBJECT_FRAME_4K, 0, count) <= (zero + object) / budget + 3, true);
		EXPECT(entries_of_retype(OBJECT_UNTYPED, 4, count) <= object / budget + 3, true);
	}
}

/* A slot that another thread fills while the call is at a preemption point: the rest is not made, words 2 and 3 say
 * what. */
static void a_slot_filled_meanwhile_stops_the_retype(void)
{
	make(OBJECT_UNTYPED, 16, 1000, 1);
	struct thread *root = running(0), *high = begin(1);
	retype(1000, OBJECT_UNTYPED, 4, 3000, 256);
	EXPECT(running(0), high);
	EXPECT(root->context.again, true);
	EXPECT(slot_empty(slot_of(3255)), true);
	make(OBJECT_ENDPOINT, 0, 3255, 1);
	const struct cap before = slot_of(3255)->cap;
	go_on();
	EXPECT(running(0), root);
	EXPECT(result(root), SKERRY_SLOT_FULL);
	EXPECT(slot_of(3255)->cap.object, before.object);
	uint64_t first = word(root, 2);
	EXPECT(word(root, 3), 3256 - first);
	EXPECT(first > 3000, true);
	EXPECT(slot_empty(slot_of(first - 1)), false);
	EXPECT(slot_empty(slot_of(first)), first != 3255);
	/* a new call looks at all its slots before it makes anything */
	EXPECT(retype(1000, OBJECT_UNTYPED, 4, first, 3256 - first), SKERRY_SLOT_FULL);
	EXPECT(slot_empty(slot_of(first)), first != 3255);
	delete(3255);
	EXPECT(retype(1000, OBJECT_UNTYPED, 4, first, 3256 - first), 0);
}

/* The next slot but not the last: the call ends with most of its slots empty. The call for what is left is a new
 * one. */
static void a_call_for_what_is_left_looks_at_all_slots(void)
{
	make(OBJECT_UNTYPED, 16, 1000, 1);
	struct thread *root = running(0), *high = begin(1);
	retype(1000, OBJECT_UNTYPED, 4, 3000, 256);
	EXPECT(running(0), high);
	EXPECT(root->context.again, true);
	uint64_t next = word(root, 2);
	make(OBJECT_ENDPOINT, 0, next, 1);
	go_on();
	EXPECT(running(0), root);
	EXPECT(result(root), SKERRY_SLOT_FULL);
	EXPECT(word(root, 2), next);
	EXPECT(word(root, 3), 3256 - next);
	delete(next);
	make(OBJECT_ENDPOINT, 0, 3255, 1);
	EXPECT(retype(1000, OBJECT_UNTYPED, 4, next, 3256 - next), SKERRY_SLOT_FULL);
	EXPECT(slot_empty(slot_of(next)), true);
}

TESTS(untyped) = {
	{ "large frames are zeroed by and by", large_frames_are_zeroed_by_and_by, 1 },
	{ "a gap that alignment skips is not taken for zeroed", a_skipped_gap_is_not_taken_for_zeroed, 1 },
	{ "many objects are made by and by", many_objects_are_made_by_and_by, 1 },
	{ "entries grow with the number of objects", entries_grow_with_the_number_of_objects, 1 | TEST_ONCE },
	{ "a slot filled meanwhile stops the retype", a_slot_filled_meanwhile_stops_the_retype, 1 },
	{ "a call for what is left looks at all slots", a_call_for_what_is_left_looks_at_all_slots, 1 },
	{ "device memory is not touched", device_memory_is_not_touched, 1 },
	{ "memory of a notification that an interrupt signals", memory_of_a_signalled_notification_comes_back_clean,
	  1 },
	{ 0 },
};
