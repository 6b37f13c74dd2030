/* SPDX-License-Identifier: BSD-2-Clause */
/* Handlers of interrupts that come and go, seen from the interrupt controller's pin. */
#include "harness.h"

enum { NOTE = 1000, HANDLER = 1010, PIN = 3, LEVEL = 1 };

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
	EXPECT(pin->raised, true); /* no core has heard of it */
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

const struct test tests[] = {
	{ "a handler goes: level-triggered", level_triggered, 1 },
	{ "a handler goes: edge-triggered", edge_triggered, 1 },
	{ "a handler goes that was never used", never_used, 1 },
	{ 0 },
};
