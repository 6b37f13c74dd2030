/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts: the second serial port's transmitter raises one whenever it is told to. */
#include "ktest.h"

enum { COM2 = 0x2f8, ENABLE = 1, IDENTIFY = 2, MODEM = 4, ENABLE_TRANSMIT = 2, MODEM_OUT2 = 8, COM2_IRQ = 3 };
#define CONTROL ROOT_SLOT_IRQ_CONTROL
#define NODE    ROOT_SLOT_CNODE

static unsigned gsi(void) { return ROOT->isa_gsi[COM2_IRQ]; }

static void quiet(void)
{
	uint32_t value;
	check_ok(io_port_out(ROOT_SLOT_IO_PORT, COM2 + ENABLE, 1, 0));
	check_ok(io_port_in(ROOT_SLOT_IO_PORT, COM2 + IDENTIFY, 1, &value));
}

static void raise(void)
{
	quiet();
	check_ok(io_port_out(ROOT_SLOT_IO_PORT, COM2 + MODEM, 1, 3 | MODEM_OUT2));
	check_ok(io_port_out(ROOT_SLOT_IO_PORT, COM2 + ENABLE, 1, ENABLE_TRANSMIT));
}

static uint64_t handler(unsigned core, unsigned flags)
{
	uint64_t irq = slot();
	quiet();
	check_ok(irq_get_ioapic(IPC, CONTROL, NODE, irq, core, gsi(), flags));
	return irq;
}

static uint64_t arrives(uint64_t notification)
{
	uint64_t word = 0;
	notification_wait(notification, deadline_ms(30000), &word);
	return word;
}

static void check_quiet(uint64_t notification)
{
	uint64_t word = 0;
	notification_wait(notification, deadline_ms(20), &word);
	check_eq(word, 0);
}

static void delivered(unsigned core)
{
	uint64_t irq = handler(core, 0), notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(irq_set_notification(IPC, irq, badged(notification, 0x21, RIGHT_WRITE)));
	for (unsigned i = 0; i < 10; i++) {
		check_quiet(notification);
		uint64_t before = STAT[core].interrupts;
		raise();
		check_eq(arrives(notification), 0x21);
		check(STAT[core].interrupts > before || !STAT[core].entries); /* a plain kernel counts none */
		check_ok(irq_ack(irq));
	}
	quiet();
}

TEST(arrives_here, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: signals its notification, with the badge")
{
	delivered(0);
}
TEST(arrives_there, 2, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: arrives on another core, too")
{
	delivered(last_core());
}

TEST(level, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: a level-triggered one stays masked until IRQ_ACK")
{
	uint64_t irq = handler(0, IRQ_LEVEL_TRIGGERED), notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(irq_set_notification(IPC, irq, notification));
	raise();
	check_eq(arrives(notification), 1);
	check_quiet(notification); /* the line is still up, but masked */
	check_ok(irq_ack(irq));
	check_eq(arrives(notification), 1);
	quiet();
	check_ok(irq_ack(irq));
	check_quiet(notification);
}

TEST(released, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: after the handler's end nothing arrives")
{
	uint64_t irq = handler(0, 0), notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(irq_set_notification(IPC, irq, notification));
	check_ok(cnode_delete(NODE, irq));
	raise();
	check_quiet(notification);
	irq = handler(0, 0); /* the line can be had again */
	check_ok(irq_set_notification(IPC, irq, notification));
	raise();
	check_eq(arrives(notification), 1);
	quiet();
}

TEST(released_pending, 1, NEEDS_DEVICES | NEEDS_PROCESSOR,
     "interrupt: one that waits for IRQ_ACK when its handler ends reaches the next handler")
{
	uint64_t irq = handler(last_core(), IRQ_LEVEL_TRIGGERED), n = objects(OBJECT_NOTIFICATION, 0, 2);
	for (unsigned i = 0; i < 4; i++) {
		check_ok(irq_set_notification(IPC, irq, n));
		/* the other core may have taken the last handler's second interrupt after its last IRQ_ACK, and masked
		 * it again */
		check_ok(irq_ack(irq));
		raise();
		check_eq(arrives(n), 1);
		check_ok(cnode_delete(NODE, irq)); /* the line is up and masked */
		check_quiet(n);
		check_ok(irq_get_ioapic(IPC, CONTROL, NODE, irq, i % cores(), gsi(), IRQ_LEVEL_TRIGGERED));
		check_ok(irq_set_notification(IPC, irq, n + 1));
		check_ok(irq_ack(irq)); /* it may have come before there was anybody to tell */
		check_eq(arrives(n + 1), 1);
		quiet();
		check_ok(irq_ack(irq));
		check_quiet(n);
	}
}

TEST(changed, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: a second notification takes the first one's place")
{
	uint64_t irq = handler(0, 0), n = objects(OBJECT_NOTIFICATION, 0, 2);
	check_ok(irq_set_notification(IPC, irq, n));
	check_ok(irq_set_notification(IPC, irq, n + 1));
	raise();
	check_eq(arrives(n + 1), 1);
	check_quiet(n);
	quiet();
}

TEST(revoked, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "interrupt: it writes no memory after its notification was revoked")
{
	uint64_t irq = handler(0, 0), memory = object(OBJECT_UNTYPED, 12), cap = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_NOTIFICATION, 0, NODE, cap, 1));
	check_ok(irq_set_notification(IPC, irq, cap));
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, cap, 1));
	check_ok(frame_map(IPC, cap, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ | RIGHT_WRITE, 0));
	raise();
	sleep_ms(5);
	quiet();
	for (unsigned i = 0; i < 512; i++)
		check_eq(((volatile uint64_t *)WINDOW)[i], 0);
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(irq_set_notification(IPC, irq, notification));
	raise();
	check_eq(arrives(notification), 1);
	quiet();
}

TEST(kept, 1, NEEDS_DEVICES | NEEDS_PROCESSOR,
     "interrupt: it goes on when the capability that was named for it is deleted")
{
	uint64_t irq = handler(0, 0), notification = object(OBJECT_NOTIFICATION, 0),
	         cap = badged(notification, 4, RIGHT_WRITE);
	check_ok(irq_set_notification(IPC, irq, cap));
	check_ok(cnode_delete(NODE, cap));
	raise();
	check_eq(arrives(notification), 4);
	quiet();
}

TEST(taken, 1, NEEDS_DEVICES, "interrupt: BUSY for a line that has a handler")
{
	handler(0, 0);
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, slot(), 0, gsi(), 0), BUSY);
}

TEST(message, 1, NEEDS_DEVICES, "interrupt: message-signalled ones have an address and distinct data")
{
	uint64_t address[2];
	uint32_t data[2];
	for (unsigned i = 0; i < 2; i++)
		check_ok(irq_get_msi(IPC, CONTROL, NODE, slot(), last_core(), &address[i], &data[i]));
	check_eq(address[0] >> 20, 0xfee);
	check_eq(address[0], address[1]);
	check(data[0] != data[1]);
}

TEST(exhausted, 1, NEEDS_DEVICES, "interrupt: NO_RESOURCE when all vectors are used, and they come back")
{
	uint64_t address, first = slots(200);
	uint32_t data;
	unsigned count = 0;
	int error;
	while (!(error = irq_get_msi(IPC, CONTROL, NODE, first + count, 0, &address, &data)))
		check(++count < 200);
	check_error(error, NO_RESOURCE);
	check(count > 100);
	check_ok(cnode_revoke(NODE, CONTROL));
	for (unsigned i = 0; i < count; i++)
		check(is_empty(first + i));
	check_ok(irq_get_msi(IPC, CONTROL, NODE, first, 0, &address, &data));
}

TEST(get_arguments, 1, NEEDS_DEVICES, "interrupt: every error of the control's invocations")
{
	uint64_t address, to = slot(), full = object(OBJECT_ENDPOINT, 0);
	uint32_t data;
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, to, cores(), gsi(), 0), BAD_ARGUMENT);
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, to, 0, 4000, 0), BAD_ARGUMENT);
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, 0, 0, gsi(), 0), BAD_ARGUMENT);
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, 1ull << ROOT_CNODE_BITS, 0, gsi(), 0), BAD_ARGUMENT);
	check_error(irq_get_ioapic(IPC, CONTROL, full, to, 0, gsi(), 0), BAD_CAP);
	check_error(irq_get_ioapic(IPC, CONTROL, NODE, full, 0, gsi(), 0), SLOT_FULL);
	check_error(irq_get_msi(IPC, CONTROL, NODE, to, cores(), &address, &data), BAD_ARGUMENT);
	check_error(irq_get_msi(IPC, CONTROL, NODE, 0, 0, &address, &data), BAD_ARGUMENT);
	check_error(irq_get_msi(IPC, CONTROL, full, to, 0, &address, &data), BAD_CAP);
	check_error(irq_get_msi(IPC, CONTROL, NODE, full, 0, &address, &data), SLOT_FULL);
	struct message m = { .word = { to, 0, gsi(), 0 } };
	IPC->caps[0] = NODE;
	for (unsigned words = 0; words < 4; words++)
		check_error(invoke(CONTROL, IRQ_GET_IOAPIC, 1, words, &m), TRUNCATED);
	for (unsigned words = 0; words < 2; words++)
		check_error(invoke(CONTROL, IRQ_GET_MSI, 1, words, &m), TRUNCATED);
	check_error(invoke(CONTROL, IRQ_ACK, 1, 4, &m), BAD_LABEL);
	check(is_empty(to));
}

TEST(handler_arguments, 1, NEEDS_DEVICES, "interrupt: every error of the handler's invocations")
{
	uint64_t irq = handler(0, 0), notification = object(OBJECT_NOTIFICATION, 0);
	struct message m = { 0 };
	check_error(irq_set_notification(IPC, irq, object(OBJECT_ENDPOINT, 0)), BAD_CAP);
	check_error(irq_set_notification(IPC, irq, slot()), BAD_CAP);
	check_error(invoke(irq, IRQ_SET_NOTIFICATION, 0, 0, &m), BAD_CAP);
	check_error(irq_set_notification(IPC, irq, copy_of(notification, RIGHT_READ)), NO_RIGHTS);
	check_error(invoke(irq, IRQ_GET_MSI, 0, 4, &m), BAD_LABEL);
	check_error(cnode_copy(IPC, NODE, slot(), NODE, irq, RIGHT_ALL), BAD_ARGUMENT);
	check_ok(cnode_move(IPC, NODE, slot(), NODE, irq));
}
