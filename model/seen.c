/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine.h"
#include <stdlib.h>

/* Open addressing; 0 is an empty place. */
static uint64_t *set, room, used;

void seen_clear(void)
{
	free(set);
	set = 0;
	room = used = 0;
}

static void grow(void)
{
	uint64_t *old = set, old_room = room;
	room = room ? 2 * room : 1 << 12;
	set = calloc(room, sizeof(*set));
	used = 0;
	if (!set)
		abort();
	for (uint64_t i = 0; i < old_room; i++)
		if (old[i])
			seen_first(old[i]);
	free(old);
}

bool seen_first(uint64_t identity)
{
	if (2 * used >= room)
		grow();
	uint64_t i = identity % room;
	for (; set[i]; i = (i + 1) % room)
		if (set[i] == identity)
			return false;
	set[i] = identity;
	used++;
	return true;
}
