/* SPDX-License-Identifier: BSD-2-Clause */
/* How many operations were answered in each slot of a run's time. Slots become twice as long when they run out. */
#pragma once

#include <stdint.h>

enum { TIMELINE_SLOTS = 512, TIMELINE_SLOT_NS = 10000000 };

struct timeline {
	uint64_t start_ns, slot_ns;
	uint32_t count[TIMELINE_SLOTS];
	unsigned used; /* slots, up to the last answer */
};

void timeline_init(struct timeline *t, uint64_t start_ns);
/* Times do not go back. */
void timeline_add(struct timeline *t, uint64_t now_ns);
