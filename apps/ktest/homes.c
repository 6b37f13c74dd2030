/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"
#include <skerry/cluster_mask.h>
#include <skerry/stubs.h>

enum { SWITCHED = 12, OBJECTS = 4 };

static uint64_t seed = 0x15c4;

uint64_t draw(void) { return random_next(&seed) >> 16; }

uint32_t some_cores(unsigned which)
{
	switch (which % 4) {
	case 0: return MASK_ALL;
	case 1: return mask_of(0);
	case 2: return mask_of(last_core());
	default: return mask_join(mask_of(0), mask_of(last_core()));
	}
}

void set_home(uint64_t slot, unsigned which) { check_ok(cnode_set_locality(ROOT_SLOT_CNODE, slot, some_cores(which))); }

void homes_begin(void)
{
	if (kernel_is("dynamic"))
		check_ok(control_granularity_wait(ROOT_SLOT_CONTROL, GRANULARITY_FINE));
}

void homes_end(void)
{
	if (kernel_is("dynamic"))
		check_ok(control_granularity_wait(ROOT_SLOT_CONTROL, GRANULARITY_COARSE));
}

static void set_some(const struct homes *at, bool all)
{
	const uint64_t slot[OBJECTS] = { at->endpoint, at->reply, at->notification, at->other };
	for (unsigned i = 0; i < OBJECTS; i++)
		if ((all || draw() % 2) && !is_empty(slot[i]))
			set_home(slot[i], (unsigned)draw());
}

void homes_step(const struct homes *at)
{
	if (!at->switches)
		return;
	set_some(at, false);
	bool under_way;
	if (kernel_is("dynamic") && draw() % 8 == 0)
		check_ok(control_granularity(ROOT_SLOT_CONTROL, draw() % 4 ? GRANULARITY_FINE : GRANULARITY_COARSE,
		                             &under_way));
}

/* Endpoint, reply object, notifications; the first row is that of kernels without localities. */
static const uint8_t kinds[][OBJECTS] = {
	{ 0, 0, 0, 0 }, { 1, 1, 1, 1 }, { 2, 2, 2, 2 }, { 3, 3, 3, 3 }, { 1, 2, 1, 2 }, { 2, 1, 2, 1 }, { 1, 2, 2, 0 },
	{ 2, 1, 1, 3 }, { 1, 0, 2, 1 }, { 0, 2, 1, 0 }, { 2, 0, 0, 2 }, { 0, 1, 3, 2 }, { 3, 2, 1, 1 }, { 2, 3, 3, 1 },
};

static struct homes fresh(void)
{
	tests_reset();
	return (struct homes){ object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0), object(OBJECT_NOTIFICATION, 0),
		               object(OBJECT_NOTIFICATION, 0), false };
}

void at_each_home(void (*scenario)(struct homes *at))
{
	homes_begin();
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct homes at = fresh();
		const uint64_t slot[OBJECTS] = { at.endpoint, at.reply, at.notification, at.other };
		for (unsigned j = 0; j < OBJECTS; j++)
			set_home(slot[j], kinds[i][j]);
		scenario(&at);
	}
	for (unsigned i = 0; i < SWITCHED; i++) {
		struct homes at = fresh();
		at.switches = true;
		set_some(&at, true);
		scenario(&at);
		homes_begin();
	}
	homes_end();
}
