/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "kernel.h"

static uint64_t retype(uint64_t untyped, uint64_t object, uint64_t bits, uint64_t slot, uint64_t count)
{
	return call(untyped, UNTYPED_RETYPE, W(object, bits, slot, count), W(CNODE));
}

static void refuses(void)
{
	make(OBJECT_UNTYPED, 16, 1000, 1);
	make(OBJECT_ENDPOINT, 0, 1001, 1);
	EXPECT(call(1000, UNTYPED_RETYPE, W(OBJECT_TCB, 0, 1010), W(CNODE)), SKERRY_TRUNCATED);
	EXPECT(call(1000, 7, W(OBJECT_TCB, 0, 1010, 1), W(CNODE)), SKERRY_BAD_LABEL);
	EXPECT(call(1000, UNTYPED_RETYPE, W(OBJECT_TCB, 0, 1010, 1), W(1001)), SKERRY_BAD_CAP);
	EXPECT(call(1000, UNTYPED_RETYPE, W(OBJECT_TCB, 0, 1010, 1), NONE), SKERRY_BAD_CAP);
	EXPECT(retype(1000, 0, 0, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_IRQ_HANDLER, 0, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, ~0ull, 0, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_UNTYPED, 3, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_UNTYPED, 1ull << 32 | 12, 1010, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_CNODE, 0, 1010, 1), SKERRY_BAD_ARGUMENT);
	for (uint64_t object = OBJECT_TCB; object <= OBJECT_FRAME_1G; object++)
		if (object != OBJECT_CNODE)
			EXPECT(retype(1000, object, 12, 1010, 1), SKERRY_BAD_ARGUMENT); /* its size is fixed */
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 1010, RETYPE_COUNT_MAX + 1), SKERRY_BAD_ARGUMENT);
	copy(1002, CNODE, RIGHT_READ, 0);
	EXPECT(call(1000, UNTYPED_RETYPE, W(OBJECT_TCB, 0, 1010, 1), W(1002)), SKERRY_NO_RIGHTS);
	EXPECT(retype(1000, OBJECT_TCB, 0, 1010, 0), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_TCB, 0, 0, 1), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_TCB, 0, 0xffff, 2), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_TCB, 0, ~0ull, 2), SKERRY_BAD_ARGUMENT);
	EXPECT(retype(1000, OBJECT_TCB, 0, 999, 3), SKERRY_SLOT_FULL);
	EXPECT(retype(1000, OBJECT_TCB, 0, 1010, 33), SKERRY_NO_MEMORY);
	EXPECT(retype(1000, OBJECT_FRAME_2M, 0, 1010, 1), SKERRY_NO_MEMORY);
	EXPECT(retype(1000, OBJECT_CNODE, 32, 1010, 1), SKERRY_NO_MEMORY);
	EXPECT(slot_of(1010)->cap.type, 0);
}

static void fills_to_the_last_byte(void)
{
	make(OBJECT_UNTYPED, 16, 1000, 1);
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 1010, 1), 0);
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1011, 15), 0); /* after the next page boundary */
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 1030, 1), SKERRY_NO_MEMORY);
	EXPECT(slot_of(1011)->cap.object, slot_of(1000)->cap.object + 4096);
}

static void memory_comes_back_zeroed(void)
{
	make(OBJECT_UNTYPED, 14, 1000, 1);
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1010, 4), 0);
	uint64_t *memory = direct(slot_of(1000)->cap.object);
	for (unsigned i = 0; i < 2048; i++)
		memory[i] = ~0ull;
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1020, 1), SKERRY_NO_MEMORY);
	revoke(1000);
	EXPECT(retype(1000, OBJECT_FRAME_4K, 0, 1010, 4), 0);
	for (unsigned i = 0; i < 2048; i++)
		EXPECT(memory[i], 0);
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
static struct thread *begin(uint64_t quanta)
{
	struct thread *high = make_thread(2000, 200, 0), *root = running(0);
	make_thread(2010, 100, 0);
	make(OBJECT_NOTIFICATION, 0, 2020, 1);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(running(0), high);
	for (unsigned ticks = 1; running(0) == high; ticks++) /* too few pass before anybody else runs */
		syscall_on(0, SYS_WAIT, 2020, 0, W(machine->time + ticks + quanta), NONE, 0);
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
	EXPECT(word(root, 2), 3000 + made);
	delete(3199);
	EXPECT(retype(1000, OBJECT_VSPACE, 0, 3000 + made, 200 - made), 0);
	EXPECT(slot_of(3199)->cap.object, slot_of(3001)->cap.object + (198ull << VSPACE_BITS));
	EXPECT(retype(1000, OBJECT_VSPACE, 0, 3300, 56), 0);
	EXPECT(retype(1000, OBJECT_ENDPOINT, 0, 3400, 1), SKERRY_NO_MEMORY);
}

static void address_spaces_are_counted(void)
{
	uint64_t memory = U;
	while (slot_of(memory)->cap.size_bits < 23 || (slot_of(memory)->cap.flags & CAP_DEVICE))
		memory++;
	const unsigned most = KERNEL_VSPACES - 1; /* the root task has one */
	for (unsigned done = 0; done < most; done += RETYPE_COUNT_MAX)
		EXPECT(retype(memory, OBJECT_VSPACE, 0, 3000 + done, done + 256 > most ? most - done : 256), 0);
	EXPECT(call(U, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, 2000, 1), W(CNODE)), SKERRY_NO_RESOURCE);
	delete(3100);
	delete(3007);
	EXPECT(call(U, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, 2000, 3), W(CNODE)), SKERRY_NO_RESOURCE);
	revoke(memory);
	EXPECT(retype(memory, OBJECT_VSPACE, 0, 3000, 3), 0);
}

const struct test tests[] = {
	{ "retype refuses", refuses, 1 },
	{ "an untyped fills to its last byte", fills_to_the_last_byte, 1 },
	{ "memory comes back zeroed", memory_comes_back_zeroed, 1 },
	{ "large frames are zeroed by and by", large_frames_are_zeroed_by_and_by, 1 },
	{ "many objects are made by and by", many_objects_are_made_by_and_by, 1 },
	{ "address spaces are counted", address_spaces_are_counted, 1 },
	{ "device memory is not touched", device_memory_is_not_touched, 1 },
	{ "memory of a notification that an interrupt signals", memory_of_a_signalled_notification_comes_back_clean, 1 },
	{ 0 },
};
