/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores that come are found, and a kernel of many cores is asked about few of them at a tick. */
#include <skerry/core_control.h>
#include <skerry/ledger.h>
#include "root.h"
#include "test-check.h"

enum { OWN = 1, OTHER = 2, CORES = 1024, FIRST = 7 };

static struct root_info root_info;
static struct ledger ledger;
static uint64_t word[FIRST + CORES]; /* of each core of the map */
static unsigned looks[FIRST + CORES], all_looks, joined, joined_cpu;

static int read_word(uint32_t cpu, uint64_t *found, uint64_t *index)
{
	if (cpu < FIRST || cpu >= FIRST + root_info.room)
		return -SKERRY_BAD_ARGUMENT;
	looks[cpu]++;
	all_looks++;
	*found = word[cpu];
	*index = cpu - FIRST;
	return 0;
}

static int take(uint32_t cpu)
{
	if (core_state(word[cpu]) != CORE_PARKED)
		return -SKERRY_BUSY;
	word[cpu] = core_word(1, OWN, OWN, CORE_OWNED);
	return 0;
}

#undef ROOT
#define ROOT (&root_info)
#undef ROOT_LEDGER_VADDR
#define ROOT_LEDGER_VADDR (&ledger)
#define core_control_read(control, cpu, word, index) read_word(cpu, word, index)
#define core_control_take(control, cpu) take(cpu)
#define core_leave_for(control, cpu, to) (-SKERRY_BUSY)
#include "move.c"

static struct cluster_map own_map = { .cluster_count = 1, .cluster = { { .number = OWN, .spare_cores = true } } };
const struct cluster_map *map = &own_map;

void console_print(const char *format, ...) { (void)format; }
bool core_has_programs(uint32_t index) { return index == FIRST; }
void core_gained(uint32_t index, uint32_t cpu) { CHECK(index + FIRST == cpu); }
void core_given_up(uint32_t index) { (void)index; }
uint32_t core_of(uint32_t application) { return application; }

int report(enum message_type type, const void *body, size_t size)
{
	const struct report_core *core = body;
	CHECK(type == REPORT_CORE && size == sizeof(*core) && core->what == CORE_JOINED);
	joined++;
	joined_cpu = core->cpu;
	return 0;
}

/* Returns how often the kernel was asked. */
static unsigned ticks(unsigned count)
{
	const unsigned before = all_looks;
	while (count--)
		moves_tick();
	return all_looks - before;
}

static void few_cores(void)
{
	root_info.room = 4;
	ticks(1); /* the first begins */
	for (unsigned i = 0; i < 4; i++)
		looks[FIRST + i] = 0;
	CHECK(ticks(3) == 12);
	for (unsigned i = 0; i < 4; i++)
		CHECK(looks[FIRST + i] == 3);
}

/* Each has its turn, and one that is parked for us is taken, then found to be here. */
static void many_cores(void)
{
	enum { ALL = CORES / LOOKS, PARKED = FIRST + CORES - 1 };
	root_info.room = CORES;
	for (unsigned i = 0; i < CORES; i++)
		looks[FIRST + i] = 0;
	CHECK(ticks(ALL) == CORES);
	for (unsigned i = 0; i < CORES; i++)
		CHECK(looks[FIRST + i] == 1);
	CHECK(!joined);
	word[PARKED] = core_word(0, OTHER, OWN, CORE_PARKED);
	ticks(2 * ALL);
	CHECK(joined == 1 && joined_cpu == PARKED);
}

/* The one that an order names is looked at each time. */
static void ordered(void)
{
	enum { CPU = FIRST + 700 };
	word[CPU] = core_word(0, OTHER, OTHER, CORE_PARKED);
	ledger.kernel.move = LEDGER_MOVE_MAGIC | 1 << 20 | CPU << 8 | OWN;
	CHECK(ticks(1) == LOOKS + 1);
	CHECK(joined == 2 && joined_cpu == CPU);
}

int main(void)
{
	root_info.cluster = OWN;
	root_info.core_control = 1;
	root_info.ledger_count = 2;
	root_info.cpu_count = 2;
	for (unsigned i = 0; i < CORES; i++)
		root_info.cpu_number[i] = FIRST + i;
	for (unsigned i = 0; i < CORES; i++)
		word[FIRST + i] = core_word(0, i < 2 ? OWN : OTHER, OTHER, CORE_OWNED);
	few_cores();
	many_cores();
	ordered();
	return failures != 0;
}
