/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload.h"

void timeline_init(struct timeline *t, uint64_t start_ns)
{
	*t = (struct timeline){ .start_ns = start_ns, .slot_ns = TIMELINE_SLOT_NS };
}

static void timeline_halve(struct timeline *t)
{
	for (unsigned i = 0; i < TIMELINE_SLOTS; i++) {
		const uint32_t both = i < TIMELINE_SLOTS / 2 ? t->count[2 * i] + t->count[2 * i + 1] : 0;
		t->count[i] = both;
	}
	t->slot_ns *= 2;
	t->used = (t->used + 1) / 2;
}

void timeline_add(struct timeline *t, uint64_t now_ns)
{
	uint64_t slot;

	while ((slot = (now_ns - t->start_ns) / t->slot_ns) >= TIMELINE_SLOTS)
		timeline_halve(t);
	t->count[slot]++;
	t->used = (unsigned)slot + 1;
}
