/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts that the test raises at a pin of the interrupt controller, and as messages; handlers that come and go. */
#include "harness.h"

enum { NOTE = 1000, BIT4 = 1001, HANDLER = 1010, MSI = 1011, PIN = 3, LEVEL = 1 };

static uint64_t get_handler(uint64_t slot, uint64_t flags)
{
	return call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(slot, 0, PIN, flags), W(CNODE));
}

static uint64_t polled(void)
{
	EXPECT(simple(0, SYS_POLL, NOTE), 0);
	return badge(running(0));
}

static void handler_goes(uint64_t flags, bool arrived)
{
	const struct hosted_pin *pin = &machine->pin[PIN];
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	EXPECT(get_handler(HANDLER, flags), 0);
	EXPECT(pin->masked, false);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(NOTE)), 0);
	if (arrived) {
		hosted_raise_pin(machine, PIN);
		settle();
		EXPECT(polled(), 1);
		EXPECT(pin->masked, flags & LEVEL);
		EXPECT(call(HANDLER, IRQ_ACK, NONE, NONE), 0);
		EXPECT(pin->masked, false);
	}
	delete(HANDLER);
	EXPECT(pin->masked, true);
	hosted_raise_pin(machine, PIN); /* the device does not know */
	settle();
	EXPECT(pin->raised, true); /* no core was told */
	EXPECT(polled(), 0);
	EXPECT(get_handler(HANDLER, flags), 0); /* the next driver */
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(NOTE)), 0);
	settle();
	if (flags & LEVEL) /* what came before it had a notification */
		EXPECT(call(HANDLER, IRQ_ACK, NONE, NONE), 0);
	hosted_raise_pin(machine, PIN);
	settle();
	EXPECT(polled(), 1);
}

static void level_triggered(void) { handler_goes(LEVEL, true); }
static void edge_triggered(void) { handler_goes(0, true); }
static void never_used(void) { handler_goes(LEVEL, false); }

/* A level-triggered pin that is raised again stays masked until it is acknowledged. */
static void each_signals_its_badge(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	copy(BIT4, NOTE, RIGHT_WRITE, 16);
	EXPECT(get_handler(HANDLER, LEVEL), 0);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(BIT4)), 0);
	for (unsigned i = 0; i < 2; i++) {
		hosted_raise_pin(machine, PIN);
		settle();
	}
	EXPECT(polled(), 16);
	EXPECT(polled(), 0);
	EXPECT(call(HANDLER, IRQ_ACK, NONE, NONE), 0);
	EXPECT(polled(), 16);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_MSI, W(MSI, 0), W(CNODE)), 0);
	uint64_t address = word(running(0), 0), data = word(running(0), 1);
	EXPECT(call(MSI, IRQ_SET_NOTIFICATION, NONE, W(NOTE)), 0);
	hosted_write_msi(machine, address, data);
	settle();
	EXPECT(polled(), 1);
}

TESTS(interrupts) = {
	{ "each signals its badge", each_signals_its_badge, 1 },
	{ "a handler goes: level-triggered", level_triggered, 1 },
	{ "a handler goes: edge-triggered", edge_triggered, 1 },
	{ "a handler goes that was never used", never_used, 1 },
	{ 0 },
};
