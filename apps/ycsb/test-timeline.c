/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"
#include "timeline.h"

enum { START = 12345 };

static uint64_t sum(const struct timeline *t)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < TIMELINE_SLOTS; i++)
		all += t->count[i];
	return all;
}

static void test_slots(void)
{
	struct timeline t;

	timeline_init(&t, START);
	timeline_add(&t, START);
	timeline_add(&t, START + TIMELINE_SLOT_NS - 1);
	timeline_add(&t, START + TIMELINE_SLOT_NS);
	timeline_add(&t, START + (uint64_t)TIMELINE_SLOTS * TIMELINE_SLOT_NS - 1);
	CHECK(t.count[0] == 2 && t.count[1] == 1 && t.count[TIMELINE_SLOTS - 1] == 1, "%u %u", t.count[0], t.count[1]);
	CHECK(t.slot_ns == TIMELINE_SLOT_NS && t.used == TIMELINE_SLOTS, "%u", t.used);
}

/* One answer in each first slot, of a run that is longer and longer: none is lost, and each is where it belongs. */
static void test_longer(void)
{
	struct timeline t;
	const uint64_t first_slots = 100 * TIMELINE_SLOTS;

	timeline_init(&t, START);
	for (uint64_t i = 0; i < first_slots; i++) {
		timeline_add(&t, START + i * TIMELINE_SLOT_NS);
		CHECK(sum(&t) == i + 1, "%llu", (unsigned long long)i);
	}
	CHECK(t.slot_ns == 128ull * TIMELINE_SLOT_NS && t.used == (first_slots + 127) / 128, "%llu %u",
	      (unsigned long long)t.slot_ns, t.used);
	for (unsigned i = 0; i < t.used - 1; i++)
		CHECK(t.count[i] == 128, "%u: %u", i, t.count[i]);
}

/* After a gap that is longer than all slots together. */
static void test_gap(void)
{
	struct timeline t;

	timeline_init(&t, START);
	timeline_add(&t, START);
	timeline_add(&t, START + 1000ull * TIMELINE_SLOTS * TIMELINE_SLOT_NS);
	CHECK(sum(&t) == 2 && t.count[0] == 1 && t.count[t.used - 1] == 1, "%u", t.used);
	CHECK(t.used > TIMELINE_SLOTS / 4, "%u", t.used);
}

int main(void)
{
	test_slots();
	test_longer();
	test_gap();
	return 0;
}
