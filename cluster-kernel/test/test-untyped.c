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

const struct test tests[] = {
	{ "retype refuses", refuses, 1 },
	{ "an untyped fills to its last byte", fills_to_the_last_byte, 1 },
	{ "memory comes back zeroed", memory_comes_back_zeroed, 1 },
	{ "device memory is not touched", device_memory_is_not_touched, 1 },
	{ "memory of a notification that an interrupt signals", memory_of_a_signalled_notification_comes_back_clean, 1 },
	{ 0 },
};
