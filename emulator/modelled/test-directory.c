/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of machines of many words of cores beside a plain model, which asks each core in turn: the same time of
 * every access, and the same cores that lose a line. Accesses are far apart, so that no line is busy; the caches of
 * cores have room for all lines, an inclusive L3 for one.
 */
#include <string.h>
#include "test-common.h"

enum { LINES = 5, STEPS = 30000, APART = 100000, FIRST = 640, NONE = -1 };

static struct machine machine;
static struct memory memory;
static bool lost[MOST_CORES], expected_lost[MOST_CORES];

/* The plain model. */
static struct plain {
	bool has[MOST_CORES], in_l3[MOST_CORES]; /* by core; by cluster */
	int owner;
} plain[LINES];
static int kept[MOST_CORES]; /* by cluster: the line that its L3 has room for */

static void on_lost(unsigned core, uint64_t line, uint64_t when)
{
	(void)line, (void)when;
	EXPECT(lost[core], false);
	lost[core] = true;
}

static bool none(const bool *flags)
{
	return !memchr(flags, true, MOST_CORES);
}

/* The farthest or the nearest core that has the line, or L3 that does, if `clusters` count; but for this core. */
static enum distance far_of(const struct plain *line, unsigned core, bool farthest, bool clusters)
{
	int found = farthest ? SAME_CLUSTER : OTHER_SOCKET;
	for (unsigned i = 0; i < machine.cores; i++) {
		bool in_l3 = clusters && line->in_l3[cluster_of(&machine, i)];
		int far = (int)distance(&machine, core, i);
		if (((line->has[i] && i != core) || in_l3) && (farthest ? far > found : far < found))
			found = far;
	}
	return (enum distance)found;
}

static void lose(struct plain *line, unsigned core)
{
	line->has[core] = false;
	expected_lost[core] = true;
}

static uint64_t by_far(const uint64_t *nearest, enum distance far) { return nearest[far]; }

static uint64_t plain_take(struct plain *line, unsigned core, bool store)
{
	unsigned owner = (unsigned)line->owner;
	if (store) {
		lose(line, owner);
		memset(line->in_l3, 0, sizeof(line->in_l3));
	} else {
		line->in_l3[cluster_of(&machine, owner)] = true;
	}
	return by_far(&machine.price.transfer_cluster, distance(&machine, core, owner));
}

static uint64_t plain_upgrade(struct plain *line, unsigned core)
{
	bool mine = line->has[core];
	line->has[core] = false;
	uint64_t cost = none(line->has) ? machine.price.l3
	                : by_far(&machine.price.upgrade_cluster, far_of(line, core, true, false));
	for (unsigned i = 0; i < machine.cores; i++)
		if (line->has[i])
			lose(line, i);
	line->has[core] = mine;
	memset(line->in_l3, 0, sizeof(line->in_l3));
	return cost;
}

/* An inclusive L3 keeps this line: the one before leaves it, and the cores there. */
static void plain_fill(unsigned cluster, int number)
{
	int before = kept[cluster];
	kept[cluster] = number;
	plain[number].in_l3[cluster] = true;
	if (before == NONE || before == number)
		return;
	plain[before].in_l3[cluster] = false;
	for (unsigned i = 0; i < machine.cores; i++)
		if (cluster_of(&machine, i) == cluster && plain[before].has[i]) {
			lose(&plain[before], i);
			if (plain[before].owner == (int)i)
				plain[before].owner = NONE;
		}
}

static uint64_t plain_access(unsigned core, int number, bool store)
{
	struct plain *line = &plain[number];
	unsigned own = cluster_of(&machine, core);
	bool alone = store;
	uint64_t cost;
	if (store ? line->owner == (int)core : line->has[core])
		return 0;
	if (line->owner != NONE && line->owner != (int)core) {
		cost = plain_take(line, core, store);
	} else if (store && !none(line->has)) {
		cost = plain_upgrade(line, core);
	} else if (!none(line->has) || !none(line->in_l3)) {
		cost = by_far(&machine.price.l3, far_of(line, core, false, true));
		bool others = false;
		for (unsigned i = 0; i < machine.clusters; i++)
			others |= line->in_l3[i] && i != own;
		alone |= none(line->has) && !others;
		if (store)
			memset(line->in_l3, 0, sizeof(line->in_l3));
	} else {
		alone = true;
		cost = socket_of(&machine, core) ? machine.price.dram_far : machine.price.dram_near;
	}
	line->has[core] = true;
	line->owner = alone ? (int)core : NONE;
	if (machine.l3_inclusive)
		plain_fill(own, number);
	return cost;
}

static unsigned sharers_of(const struct plain *line)
{
	unsigned count = 0;
	for (unsigned i = 0; i < machine.cores; i++)
		count += line->has[i];
	return count;
}

/* Returns the most cores that have shared a line. */
static unsigned compare_models(unsigned sockets, unsigned clusters, unsigned cores, bool inclusive)
{
	uint64_t seed = 88172645463325252ull, now = 0;
	unsigned most = 0;
	machine = small_machine();
	machine.sockets = sockets;
	machine.clusters = sockets * clusters;
	machine.cores = sockets * clusters * cores;
	machine.l1 = machine.l1i = machine.l2 = (struct cache_shape){ 1, 2 * LINES };
	machine.l3 = (struct cache_shape){ 1, 1 };
	machine.l3_inclusive = inclusive;
	machine.nodes = 1;
	memory_make(&memory, &machine);
	memory.lost = on_lost;
	memset(plain, 0, sizeof(plain));
	for (unsigned i = 0; i < LINES; i++)
		plain[i].owner = NONE;
	for (unsigned i = 0; i < MOST_CORES; i++)
		kept[i] = NONE;
	for (unsigned step = 0; step < STEPS; step++, now += APART * UNIT) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		unsigned core = (unsigned)(seed % machine.cores), number = (unsigned)(seed >> 20) % LINES;
		bool store = (seed >> 32) % (2 * machine.cores) == 0;
		/* what leaves an inclusive L3 would soon leave all others: a line at a time */
		if (inclusive)
			number = step / 4000 % LINES;
		memset(lost, 0, sizeof(lost));
		memset(expected_lost, 0, sizeof(expected_lost));
		uint64_t cost = memory_access(&memory, core, FIRST + number, store ? ATOMIC : LOAD, now) - now;
		EXPECT(cost, plain_access(core, (int)number, store));
		EXPECT(memcmp(lost, expected_lost, sizeof(lost)), 0);
		unsigned sharers = sharers_of(&plain[number]);
		most = sharers > most ? sharers : most;
	}
	memory_free(&memory);
	return most;
}

int main(void)
{
	for (unsigned inclusive = 0; inclusive < 2; inclusive++) {
		EXPECT(compare_models(1, 1, 64, inclusive) > 32, 1);
		EXPECT(compare_models(2, 1, 36, inclusive) > 64, 1);   /* a socket's cores end within a word */
		EXPECT(compare_models(2, 12, 8, inclusive) > 128, 1);
		EXPECT(compare_models(2, 2, 144, inclusive) > 256, 1);
		EXPECT(compare_models(2, 64, 8, inclusive) > 256, 1);  /* more clusters than a word has bits */
	}
	return 0;
}
