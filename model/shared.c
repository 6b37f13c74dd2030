/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include "engine.h"

/*
 * Bits are threads. A load and a write of one place commute here, because the
 * load's choice names the write that it reads: an access must wait for the
 * explorer's choice only where others write, or where both are sequentially
 * consistent.
 */
struct place {
	uint64_t address;
	uint8_t readers, writers, sequential;
	uint8_t unasked; /* made an access without a choice */
};

enum { PLACES = 4096 };
static struct place places[PLACES];
static bool wrong;

void shared_start(void)
{
	wrong = false;
	for (unsigned i = 0; i < PLACES; i++)
		places[i].unasked = 0;
}

void shared_forget_all(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		places[i] = (struct place){ 0 };
}

bool shared_was_wrong(void) { return wrong; }

static struct place *place_of(uint64_t address)
{
	for (unsigned i = address * 0x9e3779b97f4a7c15ull >> 52, n = 0; n < PLACES; i = (i + 1) % PLACES, n++)
		if (places[i].address == address || !places[i].address) {
			places[i].address = address;
			return &places[i];
		}
	explore_fail("too many atomic places for the explorer");
}

bool shared_note(unsigned thread, const struct op *op)
{
	struct place *p = place_of(op->address);
	uint8_t self = 1u << thread, others = ~self;
	bool writes = op_writes(op);
	if (p->unasked & others && (writes || op->sequential) && !((writes ? p->writers : p->sequential) & self))
		wrong = true;
	*(writes ? &p->writers : &p->readers) |= self;
	if (op->sequential)
		p->sequential |= self;
	if (engine_all_schedules || op->ready || p->writers & others || (op->sequential && p->sequential & others))
		return true;
	p->unasked |= self;
	return false;
}
