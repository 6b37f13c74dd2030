/* SPDX-License-Identifier: BSD-2-Clause */
#include "ticks.h"
#include <stddef.h>

static struct ticks *ticks;

void ticks_set(uint64_t value)
{
	ticks->last = (int64_t)value;
	ticks->offset = INT64_MIN / 2; /* no host's counter has counted that far */
}

bool ticks_take(struct ticks *state, int64_t (*get)(void))
{
	enum { LESS = 12345, MORE = 54321 };
	if (!state || !get)
		return false;
	const struct ticks before = *state;
	bool known;
	ticks = state;
	ticks_set(MORE);
	known = get() == MORE;
	ticks_set(LESS); /* as the clock of another core may be */
	known = known && get() == LESS;
	state->offset = MORE; /* time has not begun: the offset alone */
	known = known && get() == MORE && state->last == MORE;
	*state = before;
	return known;
}
