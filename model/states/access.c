/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>

enum { TOUCHED_BITS = 17, TOUCHED = 1 << TOUCHED_BITS, WRITES = 1 << 10 };

/* A word that was read or written has a bit, by a hash of its address: two words with one bit make steps depend on each
 * other that do not, which costs time and nothing else. */
static struct access {
	uint64_t touched[TOUCHED / 64];
	unsigned writes; /* WRITES: more than the list holds */
	uint32_t written[WRITES]; /* hashes */
	bool enters, ends_inside, crosses; /* its core begins outside the kernel; ends inside; not where it began */
	bool sends; /* an interrupt, of which the port notes whether another core has entered since its own core did */
} access_of[REDUCED_STEPS_MAX];
static struct access *recorded;

static inline uint32_t hash_of(uint64_t at)
{
	return (uint32_t)((at >> 3) * 0x9e3779b97f4a7c15ull >> (64 - TOUCHED_BITS));
}

void access_begin(unsigned step)
{
	require(step < REDUCED_STEPS_MAX);
	recorded = &access_of[step];
	memset(recorded->touched, 0, sizeof(recorded->touched));
}

/* It runs on the stack of a core, which is part of the state, and leaves nothing there. */
void access_read(const volatile void *address, size_t size)
{
	if (!recorded)
		return;
	for (uint64_t at = (uint64_t)address & ~7ull; at < (uint64_t)address + size; at += 8)
		recorded->touched[hash_of(at) / 64] |= 1ull << hash_of(at) % 64;
}

/*
 * Words by which the port numbers entries (interrupts.c): each entry of any core writes them, and the canonical form
 * leaves of them what no order of entries changes. `enters` and `sends` say what else depends on them.
 */
static bool numbers_entries(uint64_t at)
{
	if (at == (uint64_t)&tiny->entered)
		return true;
	for (unsigned i = 0; i < tiny->config.cores; i++) {
		const struct hosted_core *core = &tiny->core[i];
		if (at == (uint64_t)&core->entry || at == ((uint64_t)&core->alone & ~7ull) ||
		    at == ((uint64_t)&core->inside & ~7ull))
			return true;
	}
	return false;
}

static bool is_interruption(uint64_t at)
{
	for (unsigned i = 0; i < tiny->config.cores; i++)
		if (at == (uint64_t)&tiny->core[i].interrupted_by)
			return true;
	return false;
}

void access_end(unsigned count, bool was_inside, bool is_inside)
{
	struct access *access = recorded;
	access->enters = !was_inside;
	access->ends_inside = is_inside;
	access->crosses = was_inside != is_inside;
	access->sends = false;
	access->writes = 0;
	for (unsigned i = count; i < log_count; i++) {
		const uint64_t at = (uint64_t)log_entry[i].at;
		if (numbers_entries(at))
			continue;
		access_read(log_entry[i].at, sizeof(*log_entry[i].at));
		access->sends |= is_interruption(at);
		if (access->writes < WRITES)
			access->written[access->writes++] = hash_of(at);
	}
	recorded = 0;
}

static bool writes_what(const struct access *one, const struct access *touches)
{
	for (unsigned i = 0; i < one->writes; i++)
		if (touches->touched[one->written[i] / 64] >> one->written[i] % 64 & 1)
			return true;
	return one->writes == WRITES;
}

/* The canonical form is another one where no core is inside: a step that ends outside depends on those that enter or
 * leave. */
static bool depends_on_entries(const struct access *one, const struct access *other)
{
	return (other->crosses && !one->ends_inside) || (other->enters && one->sends);
}

bool access_commute(unsigned step, unsigned with)
{
	const struct access *one = &access_of[step], *other = &access_of[with];
	return !depends_on_entries(one, other) && !depends_on_entries(other, one) && !writes_what(one, other) &&
	       !writes_what(other, one);
}
