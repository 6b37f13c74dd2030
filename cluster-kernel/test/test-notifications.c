/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "message.h"

enum { NOTE = 1000, BIT0 = 1001, BIT4 = 1002, READ_ONLY = 1003, WAITER = 1010, EP = 1020 };

static void objects(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	copy(BIT0, NOTE, RIGHT_WRITE, 1);
	copy(BIT4, NOTE, RIGHT_WRITE, 16);
	copy(READ_ONLY, NOTE, RIGHT_READ, 0);
}

static uint64_t wait_on(unsigned core, uint64_t deadline)
{
	return syscall_on(core, SYS_WAIT, NOTE, 0, W(deadline), NONE, 0);
}

static void across_cores(void)
{
	objects();
	struct thread *waiter = make_thread(WAITER, 10, 1);
	wait_on(1, 0);
	EXPECT(running(1), 0);
	simple(0, SYS_SIGNAL, BIT4);
	EXPECT(running(1), waiter);
	EXPECT(badge(waiter), 16);
	wait_on(1, machine->time + 1000000);
	revoke(NOTE);
	delete(NOTE);
	EXPECT(running(1), waiter);
	EXPECT(result(waiter), SKERRY_DELETED);
}

static void interrupts_signal(void)
{
	enum { HANDLER = 1030, MSI = 1031 };
	objects();
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, 0, HOSTED_PINS, 0), W(CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, 0, 3, 1), W(CNODE)), 0);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(READ_ONLY)), SKERRY_NO_RIGHTS);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(BIT4)), 0);
	hosted_raise_pin(machine, 3);
	settle();
	hosted_raise_pin(machine, 3); /* level-triggered: masked until it is acknowledged */
	settle();
	simple(0, SYS_POLL, NOTE);
	EXPECT(badge(running(0)), 16);
	simple(0, SYS_POLL, NOTE);
	EXPECT(badge(running(0)), 0);
	EXPECT(call(HANDLER, IRQ_ACK, NONE, NONE), 0);
	simple(0, SYS_POLL, NOTE);
	EXPECT(badge(running(0)), 16);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_MSI, W(MSI, 0), W(CNODE)), 0);
	uint64_t address = word(running(0), 0), data = word(running(0), 1);
	EXPECT(call(MSI, IRQ_SET_NOTIFICATION, NONE, W(BIT0)), 0);
	hosted_write_msi(machine, address, data);
	settle();
	simple(0, SYS_POLL, NOTE);
	EXPECT(badge(running(0)), 1);
}

const struct test tests[] = {
	{ "a signal across cores", across_cores, 2 },
	{ "interrupts signal", interrupts_signal, 1 },
	{ 0 },
};
