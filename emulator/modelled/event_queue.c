/* SPDX-License-Identifier: BSD-2-Clause */
#include "event_queue.h"

/* A core looks at least so often whether another has come in with an earlier clock. */
enum { LONGEST_STRETCH = 4000 * UNIT };

void queue_limit(struct runner *core, uint64_t limit)
{
	require(core->count);
	uint64_t now = clock_of(core), allow = limit > now ? limit - now : 0;
	if (allow > LONGEST_STRETCH)
		allow = LONGEST_STRETCH;
	core->base = now;
	core->count->used = core->from = LIMIT - allow;
}

static bool has_turns(const struct runner *core) { return core->state == RUNS || core->state == EXPECTED; }

enum { NUMBER_BITS = 10 };
_Static_assert(MOST_CORES <= 1 << NUMBER_BITS, "a place has a core's number");

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void set_place(struct event_queue *queue, unsigned core, uint64_t place)
{
	uint64_t *tree = queue->place;
	require(core < queue->leaves);
	unsigned at = queue->leaves + core;
	tree[at] = place;
	for (at /= 2; at; at /= 2) {
		uint64_t least = lesser(tree[2 * at], tree[2 * at + 1]);
		if (tree[at] == least)
			return;
		tree[at] = least;
	}
}

/* Makes room for the core. */
static void add_leaves(struct event_queue *queue, unsigned core)
{
	unsigned leaves = queue->leaves ? queue->leaves : 1;
	while (leaves <= core)
		leaves *= 2;
	if (leaves == queue->leaves)
		return;
	queue->leaves = leaves;
	for (unsigned i = 1; i < 2 * leaves; i++)
		queue->place[i] = NEVER;
	for (unsigned i = 0; i < queue->count; i++)
		queue_moved(queue, i);
}

/* Places compare as (clock, number) do. */
void queue_moved(struct event_queue *queue, unsigned core)
{
	const struct runner *c = &queue->core[core];
	require(core < MOST_CORES && (!has_turns(c) || clock_of(c) >> (64 - NUMBER_BITS) == 0));
	set_place(queue, core, has_turns(c) ? clock_of(c) << NUMBER_BITS | core : NEVER);
}

static uint64_t clock_until(unsigned core, uint64_t place)
{
	return place == NEVER ? NEVER : (place >> NUMBER_BITS) + (core < (place & (MOST_CORES - 1)));
}

uint64_t queue_until(const struct event_queue *queue, unsigned core, unsigned other)
{
	require(core < MOST_CORES && other < MOST_CORES && core != other);
	uint64_t until = clock_until(core, queue->place[queue->leaves + other]);
	return until == NEVER ? NEVER : until + queue->quantum;
}

void queue_unpark(struct event_queue *queue, unsigned core, uint64_t when, uint64_t ahead)
{
	struct runner *c = &queue->core[core];
	if (!queue_waits(queue, core))
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
	queue_moved(queue, core);
}

struct least {
	uint64_t first, second;
};

/* The two least places: the second is beside the path from the first to the root. */
static struct least least_places(struct event_queue *queue)
{
	const uint64_t *tree = queue->place;
	struct least least = { NEVER, NEVER };
	if (!queue->count)
		return least;
	if (queue->running != NOBODY)
		queue_moved(queue, (unsigned)queue->running);
	least.first = tree[1];
	if (least.first == NEVER)
		return least;
	unsigned at = queue->leaves + (unsigned)(least.first & (MOST_CORES - 1));
	require(tree[at] == least.first);
	for (; at > 1; at /= 2)
		least.second = lesser(least.second, tree[at ^ 1]);
	return least;
}

/* Unparks cores that have waited long enough, and all if no core runs: then each of them only waits for the others. */
static bool unpark_expired(struct event_queue *queue, bool any_runs, uint64_t now)
{
	bool unparked = false;
	if (any_runs && now <= queue->timeout)
		return false;
	queue->timeout = NEVER;
	for (unsigned i = 0; i < queue->count; i++) {
		const struct runner *c = &queue->core[i];
		if (c->state != PARKED)
			continue;
		uint64_t until = clock_of(c) + c->most;
		if (!any_runs || until < now) {
			queue_unpark(queue, i, any_runs ? now : 0, c->ahead);
			unparked = true;
		} else if (until < queue->timeout) {
			queue->timeout = until;
		}
	}
	return unparked;
}

int queue_next(struct event_queue *queue, uint64_t *limit)
{
	uint64_t events = queue->started ? queue->events : NEVER;
	struct least place = least_places(queue);
	if (unpark_expired(queue, place.first != NEVER, place.first >> NUMBER_BITS))
		place = least_places(queue);
	queue->running = NOBODY;
	if (events != NEVER && (place.first == NEVER || events <= place.first >> NUMBER_BITS)) {
		if (queue->events_clock < events)
			queue->events_clock = events;
		queue->events = NEVER;
		return EVENTS;
	}
	if (place.first == NEVER)
		return NOBODY;
	unsigned next = (unsigned)(place.first & (MOST_CORES - 1));
	require(next < queue->count && has_turns(&queue->core[next]) && place.first <= place.second);
	*limit = place.second == NEVER ? NEVER : clock_until(next, place.second) + queue->quantum;
	if (*limit > events)
		*limit = events;
	queue->core[next].state = RUNS;
	queue->core[next].resumes = false;
	queue->running = (int)next;
	return queue->running;
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

void queue_add(struct event_queue *queue, unsigned core, struct count *count)
{
	struct runner *c = &queue->core[core];
	require(core < MOST_CORES && count);
	*c = (struct runner){ .state = HALTED, .count = count, .from = count->used };
	queue_limit(c, 0);
	if (!queue->count)
		queue->running = NOBODY;
	add_leaves(queue, core);
	if (queue->count <= core)
		queue->count = core + 1;
	queue_moved(queue, core);
}

void queue_halt(struct event_queue *queue, unsigned core)
{
	require(core < queue->count);
	queue->core[core].state = HALTED;
	queue_moved(queue, core);
}

bool queue_expect(struct event_queue *queue, unsigned core, uint64_t when)
{
	struct runner *c = &queue->core[core];
	if (c->state == HALTED) {
		c->since = clock_of(c);
		pass_idle(c, when);
		c->state = EXPECTED;
		queue_moved(queue, core);
		return true;
	}
	uint64_t earlier = when > c->since ? when : c->since;
	if (c->state != EXPECTED || earlier >= clock_of(c))
		return false;
	uint64_t less = clock_of(c) - earlier;
	c->base -= less;
	c->idle -= less;
	queue_moved(queue, core);
	return true;
}

void queue_park(struct event_queue *queue, unsigned core, uint64_t period, uint64_t ahead, uint64_t most)
{
	struct runner *c = &queue->core[core];
	require(core < queue->count && c->state == RUNS);
	c->period = period ? period : UNIT;
	c->ahead = ahead;
	c->most = most;
	c->state = PARKED;
	queue_moved(queue, core);
	if (clock_of(c) + most < queue->timeout)
		queue->timeout = clock_of(c) + most;
}

uint64_t queue_now(struct event_queue *queue)
{
	uint64_t first = least_places(queue).first, latest = queue->events_clock;
	if (first != NEVER)
		return first >> NUMBER_BITS;
	for (unsigned i = 0; i < queue->count; i++)
		if (clock_of(&queue->core[i]) > latest)
			latest = clock_of(&queue->core[i]);
	return latest;
}
