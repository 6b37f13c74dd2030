/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots that belong to owners: what giving them back costs, counted in slots that are looked at, and what it leaves. */
#include <stdlib.h>
#include <string.h>
#include <skerry/stubs.h>
#include "root.h"
#include "test-check.h"

enum { BITS = 12, SLOTS = 1 << BITS, FIRST_FREE = ROOT_SLOT_UNTYPED + 3, ROUNDS = 2000 };

static unsigned deleted[SLOTS], deletions;

static int model_delete(uint64_t slot)
{
	CHECK(slot >= FIRST_FREE && slot < SLOTS);
	deleted[slot]++;
	deletions++;
	return 0;
}

#define cnode_delete(cnode, slot) model_delete(slot)
#include "slots.c"

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	_Exit(1);
}

static uint32_t take_for(uint32_t of, uint32_t count, bool objects)
{
	owner_set(of);
	int first = objects ? slots_take_for_objects(count) : slots_take(count);
	owner_set(OWNER_MANAGER);
	CHECK(first >= FIRST_FREE);
	return (uint32_t)first;
}

static uint64_t steps_of_return(uint32_t of)
{
	uint64_t before = slots_steps();
	slots_return(of);
	return slots_steps() - before;
}

static void all_free(void)
{
	CHECK(slots_free() == SLOTS - FIRST_FREE);
	for (uint32_t i = FIRST_FREE; i < SLOTS; i++)
		CHECK(table[i] == NOBODY);
}

/* The cost does not depend on what others have, nor on how large the table is. */
static void costs(void)
{
	uint32_t mine = 0, capabilities = 0;
	take_for(1, 700, false);
	for (unsigned i = 0; i < 5; i++) { /* among those of another one */
		take_for(2, 1 + i, false);
		take_for(2, 3, true);
		capabilities += 1 + i;
		mine += 4 + i;
		take_for(1, 50, false);
	}
	deletions = 0;
	CHECK(steps_of_return(2) == mine && deletions == capabilities);
	CHECK(steps_of_return(2) == 0); /* has nothing */
	CHECK(steps_of_return(1) == 700 + 5 * 50);
	all_free();
}

/* An owner gives its latest slots back, again and again, however many it has; the manager gives any of its own. */
static void latest(void)
{
	uint32_t first = take_for(1, 1000, false), last = take_for(2, 4, false);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t before = slots_steps();
		uint32_t given = take_for(1, 5, true);
		CHECK(given == last + 4);
		slots_give((int)given, 5);
		CHECK(slots_steps() - before == 5);
	}
	CHECK(take_for(3, 6, false) == last + 4); /* now another owner's */
	slots_give((int)last + 4, 6);
	uint32_t own = take_for(OWNER_MANAGER, 9, false);
	slots_give((int)own + 3, 4);
	CHECK(take_for(1, 4, false) == own + 3);
	slots_give((int)own, 3);
	slots_give((int)own + 7, 2);
	CHECK(steps_of_return(1) == 1004 && steps_of_return(2) == 4 && steps_of_return(3) == 0);
	CHECK(first < last);
	all_free();
}

/* Owners take and give in any order: each slot has the owner that the test remembers, and goes back once. */
static void any_order(void)
{
	enum { OWNERS_HERE = 6 };
	static uint8_t of[SLOTS];
	uint64_t seed = 1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t who = 1 + (uint32_t)(seed >> 33) % OWNERS_HERE, count = 1 + (uint32_t)(seed >> 40) % 30,
		         had = 0;
		if (seed >> 50 & 3 && slots_free() > 100) {
			uint32_t first = take_for(who, count, seed >> 60 & 1);
			for (uint32_t i = first; i < first + count; i++) {
				CHECK(!of[i]);
				of[i] = (uint8_t)who;
			}
			if (seed >> 55 & 1) {
				slots_give((int)first, count);
				memset(of + first, 0, count);
			}
			continue;
		}
		for (uint32_t i = 0; i < SLOTS; i++)
			had += of[i] == who;
		CHECK(steps_of_return(who) == had);
		for (uint32_t i = 0; i < SLOTS; i++)
			if (of[i] == who)
				of[i] = 0;
		for (uint32_t i = FIRST_FREE; i < SLOTS; i++)
			CHECK(of[i] ? (table[i] & ~OBJECT) == of[i] + 1 : table[i] == NOBODY);
	}
	for (uint32_t who = 1; who <= OWNERS_HERE; who++)
		slots_return(who);
	all_free();
}

int main(void)
{
	if (!test_place(ROOT_INFO_VADDR, sizeof(struct root_info)))
		return SKIPPED;
	*(struct root_info *)ROOT = (struct root_info){ .first_free_slot = FIRST_FREE, .cnode_bits = BITS };
	slots_init();
	slots_table(calloc(1, slots_table_size()));
	costs();
	latest();
	any_order();
	return failures != 0;
}
