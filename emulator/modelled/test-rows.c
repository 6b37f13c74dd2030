/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of accesses in one call, and one call for each: the same clock, counts and looks, whatever others do where the
 * core waits. */
#include <string.h>
#include "access.h"
#include "fetch.h"
#include "test-common.h"

enum { ROWS = 20000, LINES = 40, LIMIT_EACH = 30 * UNIT };

struct event_queue event_turns;
struct turn_token turn_token;
static struct count counts[2];
static uint64_t seed;
static unsigned steps;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed % below;
}

/* Core 0 has passed its limit. The other one takes a line or two of those that it uses, and it goes on. */
void token_step(unsigned core)
{
	struct runner *runner = &event_turns.core[core];
	uint64_t now = clock_of(runner), kept = seed;
	seed = ++steps * 0x9e3779b97f4a7c15;
	for (uint64_t i = draw(3); i > 0; i--)
		memory_access(&memory, 1, 1 + draw(LINES), draw(2) ? STORE : LOAD, now);
	seed = kept;
	queue_limit(runner, now + LIMIT_EACH);
}
void token_unpark(unsigned core, uint64_t ahead) { (void)core, (void)ahead; }

bool fetch_page(uint64_t page, uint64_t *physical)
{
	*physical = page;
	return true;
}
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(plugin_meminfo info, uint64_t address)
{
	(void)info, (void)address;
	abort();
}
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address) { return !address; }
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address) { return !address; }
bool qemu_plugin_mem_is_store(plugin_meminfo info) { return info; }

struct outcome {
	uint64_t clock[ROWS];
	struct traffic traffic;
	struct looks looks;
	unsigned steps;
};

static void play(bool whole, struct outcome *outcome)
{
	static const unsigned step_of[] = { 2, 4, 8 };
	memory_make(&memory, &machine);
	memset(counts, 0, sizeof(counts));
	memset(looks, 0, sizeof(looks));
	event_turns = (struct event_queue){ .running = NOBODY };
	seed = 88172645463325252ull;
	steps = 0;
	access_remapped(MOST_CORES, NULL);
	for (unsigned core = 0; core < 2; core++) {
		queue_add(&event_turns, core, &counts[core]);
		event_turns.core[core].state = RUNS;
		queue_limit(&event_turns.core[core], LIMIT_EACH);
	}
	for (unsigned row = 0; row < ROWS; row++) {
		unsigned step = step_of[draw(3)], count = 1 + (unsigned)draw(33);
		uint64_t first = 64 + 64 * draw(LINES - 5) + step * draw(64 / step);
		bool store = draw(2);
		if (whole)
			access_row(0, first, count, step, store);
		else
			for (unsigned i = 0; i < count; i++)
				access_row(0, first + i * step, 1, step, store);
		outcome->clock[row] = clock_of(&event_turns.core[0]);
		if (!draw(4)) /* what it has stored arrives */
			core_charge(&event_turns.core[0], 400 * UNIT);
		if (!draw(8))
			looks[0].count = 0;
	}
	outcome->traffic = memory.core[0].traffic;
	outcome->looks = looks[0];
	outcome->steps = steps;
	memory_free(&memory);
}

int main(void)
{
	static struct outcome whole, each;
	machine = small_machine();
	play(true, &whole);
	play(false, &each);
	for (unsigned row = 0; row < ROWS; row++)
		EXPECT(whole.clock[row], each.clock[row]);
	EXPECT(memcmp(&whole.traffic, &each.traffic, sizeof(whole.traffic)), 0);
	EXPECT(memcmp(&whole.looks, &each.looks, sizeof(whole.looks)), 0);
	EXPECT(whole.steps, each.steps);
	EXPECT(whole.steps > ROWS / 2 && whole.traffic.accesses > 10 * ROWS, 1);
	return 0;
}
