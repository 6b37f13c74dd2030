/* SPDX-License-Identifier: BSD-2-Clause */
#include "agenda.h"

/* A core looks at least so often whether another has come in with an earlier clock. */
enum { LONGEST_STRETCH = 4000 * UNIT };

void agenda_limit(struct runner *core, uint64_t limit)
{
	require(core->count);
	uint64_t now = clock_of(core), allow = limit > now ? limit - now : 0;
	if (allow > LONGEST_STRETCH)
		allow = LONGEST_STRETCH;
	core->base = now;
	core->count->used = core->from = LIMIT - allow;
}

static bool has_turns(const struct runner *core) { return core->state == RUNS || core->state == EXPECTED; }

enum { NUMBER_BITS = 6 };
_Static_assert(MOST_CORES <= 1 << NUMBER_BITS, "a place has a core's number");

/* Places compare as (clock, number) do. */
void agenda_moved(struct agenda *agenda, unsigned core)
{
	const struct runner *c = &agenda->core[core];
	require(core < MOST_CORES && (!has_turns(c) || clock_of(c) >> (64 - NUMBER_BITS) == 0));
	agenda->place[core] = has_turns(c) ? clock_of(c) << NUMBER_BITS | core : NEVER;
}

static uint64_t clock_until(unsigned core, uint64_t place)
{
	return place == NEVER ? NEVER : (place >> NUMBER_BITS) + (core < (place & (MOST_CORES - 1)));
}

uint64_t agenda_until(const struct agenda *agenda, unsigned core, unsigned other)
{
	require(core < MOST_CORES && other < MOST_CORES && core != other);
	uint64_t until = clock_until(core, agenda->place[other]);
	return until == NEVER ? NEVER : until + agenda->quantum;
}

void agenda_unpark(struct agenda *agenda, unsigned core, uint64_t when, uint64_t ahead)
{
	struct runner *c = &agenda->core[core];
	if (!agenda_waits(agenda, core))
		return;
	require(c->count && c->period);
	if (c->state == PARKED)
		c->since = clock_of(c);
	uint64_t looks = c->since + ahead, go = c->since;
	if (when > looks)
		go += (when - looks + c->period - 1) / c->period * c->period;
	if (c->state == PARKED || go < clock_of(c))
		c->base += go - clock_of(c);
	c->state = RUNS;
	c->resumes = true;
	agenda_moved(agenda, core);
}

struct least {
	uint64_t first, second;
};

static void take_place(struct least *least, uint64_t place)
{
	uint64_t more = place < least->first ? least->first : place;
	least->first = place < least->first ? place : least->first;
	least->second = more < least->second ? more : least->second;
}

/* The two least places. Those of even and of odd cores apart: the processor need not wait for the one to find the
 * other. */
static struct least least_places(struct agenda *agenda)
{
	struct least even = { NEVER, NEVER }, odd = even;
	unsigned i = 0;
	if (agenda->running != NOBODY)
		agenda_moved(agenda, (unsigned)agenda->running);
	for (; i + 1 < agenda->count; i += 2) {
		take_place(&even, agenda->place[i]);
		take_place(&odd, agenda->place[i + 1]);
	}
	if (i < agenda->count)
		take_place(&even, agenda->place[i]);
	take_place(&even, odd.first);
	take_place(&even, odd.second);
	return even;
}

/* Those that have waited for long enough, and all if nobody else runs: then each of them only waits for the others. */
static bool unpark_patient(struct agenda *agenda, bool any_runs, uint64_t now)
{
	bool unparked = false;
	if (any_runs && now <= agenda->patience)
		return false;
	agenda->patience = NEVER;
	for (unsigned i = 0; i < agenda->count; i++) {
		const struct runner *c = &agenda->core[i];
		if (c->state != PARKED)
			continue;
		uint64_t until = clock_of(c) + c->most;
		if (!any_runs || until < now) {
			agenda_unpark(agenda, i, any_runs ? now : 0, c->ahead);
			unparked = true;
		} else if (until < agenda->patience) {
			agenda->patience = until;
		}
	}
	return unparked;
}

int agenda_next(struct agenda *agenda, uint64_t *limit)
{
	uint64_t events = agenda->started ? agenda->events : NEVER;
	struct least place = least_places(agenda);
	if (unpark_patient(agenda, place.first != NEVER, place.first >> NUMBER_BITS))
		place = least_places(agenda);
	agenda->running = NOBODY;
	if (events != NEVER && (place.first == NEVER || events <= place.first >> NUMBER_BITS)) {
		if (agenda->events_clock < events)
			agenda->events_clock = events;
		agenda->events = NEVER;
		return EVENTS;
	}
	if (place.first == NEVER)
		return NOBODY;
	unsigned found = (unsigned)(place.first & (MOST_CORES - 1));
	require(found < agenda->count && has_turns(&agenda->core[found]) && place.first <= place.second);
	*limit = place.second == NEVER ? NEVER : clock_until(found, place.second) + agenda->quantum;
	if (*limit > events)
		*limit = events;
	agenda->core[found].state = RUNS;
	agenda->core[found].resumes = false;
	agenda->running = (int)found;
	return agenda->running;
}

/* The core did nothing until `when`. */
static void pass_idle(struct runner *core, uint64_t when)
{
	uint64_t own = clock_of(core);
	if (own < when) {
		core->base += when - own;
		core->idle += when - own;
	}
}

void agenda_add(struct agenda *agenda, unsigned core, struct count *count)
{
	struct runner *c = &agenda->core[core];
	require(core < MOST_CORES && count);
	*c = (struct runner){ .state = HALTED, .count = count, .from = count->used };
	agenda_limit(c, 0);
	if (!agenda->count)
		agenda->running = NOBODY;
	if (agenda->count <= core)
		agenda->count = core + 1;
	agenda_moved(agenda, core);
}

void agenda_halt(struct agenda *agenda, unsigned core)
{
	require(core < agenda->count);
	agenda->core[core].state = HALTED;
	agenda_moved(agenda, core);
}

bool agenda_expect(struct agenda *agenda, unsigned core, uint64_t when)
{
	struct runner *c = &agenda->core[core];
	if (c->state == HALTED) {
		c->since = clock_of(c);
		pass_idle(c, when);
		c->state = EXPECTED;
		agenda_moved(agenda, core);
		return true;
	}
	uint64_t earlier = when > c->since ? when : c->since;
	if (c->state != EXPECTED || earlier >= clock_of(c))
		return false;
	uint64_t less = clock_of(c) - earlier;
	c->base -= less;
	c->idle -= less;
	agenda_moved(agenda, core);
	return true;
}

void agenda_park(struct agenda *agenda, unsigned core, uint64_t period, uint64_t ahead, uint64_t most)
{
	struct runner *c = &agenda->core[core];
	require(core < agenda->count && c->state == RUNS);
	c->period = period ? period : UNIT;
	c->ahead = ahead;
	c->most = most;
	c->state = PARKED;
	agenda_moved(agenda, core);
	if (clock_of(c) + most < agenda->patience)
		agenda->patience = clock_of(c) + most;
}

uint64_t agenda_now(struct agenda *agenda)
{
	uint64_t first = least_places(agenda).first, latest = agenda->events_clock;
	if (first != NEVER)
		return first >> NUMBER_BITS;
	for (unsigned i = 0; i < agenda->count; i++)
		if (clock_of(&agenda->core[i]) > latest)
			latest = clock_of(&agenda->core[i]);
	return latest;
}
