/* SPDX-License-Identifier: BSD-2-Clause */
#include "spin.h"
#include <string.h>

/* Returns whether the general registers are as they were. They are read in any case, for the next PAUSE. */
static bool same_general(struct spin *spin, const struct spin_source *source, unsigned core)
{
	bool same = true;
	for (unsigned i = 0; i < SPIN_GENERAL; i++) {
		uint64_t now = source->general(core, i);
		same &= now == spin->general[i];
		spin->general[i] = now;
	}
	return same;
}

/* The same of the others, which are not read after each turn: false if they have not been after the last one. */
static bool same_wide(struct spin *spin, const struct spin_source *source, unsigned core)
{
	uint64_t now[SPIN_WIDE];
	source->wide(core, now);
	bool same = spin->wide_known && !memcmp(now, spin->wide, sizeof(now));
	memcpy(spin->wide, now, sizeof(now));
	spin->wide_known = true;
	return same;
}

bool spin_turn(struct spin *spin, const struct spin_source *source, unsigned core, uint64_t place, unsigned did)
{
	uint64_t skipped = spin->skipped;
	spin->skipped = 0;
	bool same = same_general(spin, source, core);
	same &= place == spin->place && !(did & ~SPIN_TAKEN);
	spin->place = place;
	if (same)
		same = same_wide(spin, source, core);
	else
		spin->wide_known = false;
	if (!same && !(did & (SPIN_DISTURBED | SPIN_TAKEN)))
		spin->wrong += skipped;
	return same;
}

void spin_skipped(struct spin *spin, uint64_t turns, bool same)
{
	if (same)
		spin->skipped = turns;
	else
		spin->wrong += turns;
}
