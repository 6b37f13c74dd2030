/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples are collected from clusters that answer, lie, come late or are gone. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <skerry/sample.h>
#include "channel.h"
#include "memory.h"
#include "root.h"
#include "run.h"
#include "run_state.h"
#include "sample.h"
#include "string.h"
#include "test-check.h"
#include "vspace.h"
#include "waiters.h"

static uint64_t milliseconds_passed = 5000;
static void (*while_read)(void); /* what the cores do when the clock is looked at */

static uint64_t test_clock(void)
{
	if (while_read)
		while_read();
	return milliseconds_passed;
}

#define read_tsc test_clock
#include "sample.c"
#undef read_tsc

enum { SKIPPED = 77, CLUSTERS = 3, CORES = 2 };

struct map map;
struct run run;
static bool alive[CLUSTERS];
static unsigned orders, woken;
static uint32_t ordered; /* number of the last order */

uint64_t memory_total(void) { return 1 << 30; }
uint64_t memory_free(void) { return 1 << 29; }
bool channel_alive(uint32_t cluster) { return alive[cluster]; }

const char *run_cluster_kernel(uint32_t cluster)
{
	static char name[BOOT_NAME_SIZE + 1] = "clh+stat";
	(void)cluster;
	return name;
}

void *own_memory(uint64_t size)
{
	static char memory[1 << 16];
	static size_t used;
	void *found = memory + used;
	used += (size + 15) / 16 * 16;
	return used <= sizeof(memory) ? found : NULL;
}

void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error)
{
	woken += kind == WAIT_SAMPLE && !key && !error;
}

void report(enum message_type type, const void *body, size_t size)
{
	(void)size;
	if (type == REPORT_SAMPLE_CORE)
		CHECK(sample_core_came(0, body));
	else
		sample_came(0, body);
}

void order_all(enum message_type type, const void *body, size_t size)
{
	CHECK(type == ORDER_SAMPLE && size == sizeof(ordered));
	memcpy(&ordered, body, sizeof(ordered));
	orders++;
	sample_report(ordered);
}

static void wake_core(void)
{
	struct core_stat *core = (struct core_stat *)ROOT_STAT_VADDR;
	core->idle_cycles += 10;
	core->idle_since = 0;
	while_read = NULL;
}

/* A core wakes while it is read: its idle time is not told as more than it will be. */
static void wakes(void)
{
	struct core_stat *core = (struct core_stat *)ROOT_STAT_VADDR, told = { 0 };
	core->idle_since = milliseconds_passed - 100;
	while_read = wake_core;
	stat_read(core, &told, test_clock);
	CHECK(told.idle_cycles == core->idle_cycles && told.updated == milliseconds_passed);
	core->idle_since = milliseconds_passed - 100;
	stat_read(core, &told, test_clock);
	CHECK(told.idle_cycles == core->idle_cycles + 100);
	core->idle_since = 0;
}

static bool core_came(uint32_t cluster, uint32_t number, uint32_t core, uint64_t entries)
{
	struct report_sample_core body = { .number = number, .core = core };
	body.sample = (struct sample_core){ .cpu = 99, .counted = 7, .entries = entries };
	return sample_core_came(cluster, &body);
}

static void came(uint32_t cluster, uint32_t number)
{
	const struct report_sample body = { .number = number, .tsc_hz = 5, .memory_total = 9, .memory_free = 8 };
	sample_came(cluster, &body);
}

static const struct sample_core *core_of(uint32_t cluster, uint32_t core)
{
	const void *record = NULL;
	size_t size = 0;
	CHECK(sample_read(SAMPLE_CORE, cluster, core, &record, &size) == 0 && size == sizeof(struct sample_core));
	return record;
}

static bool is_up(uint32_t cluster)
{
	const void *record = NULL;
	size_t size = 0;
	CHECK(sample_read(SAMPLE_CLUSTER, cluster, 0, &record, &size) == 0 && size == sizeof(struct sample_cluster));
	return ((const struct sample_cluster *)record)->up;
}

static void alone(void)
{
	const void *record;
	size_t size;
	CHECK(sample_read(SAMPLE_CLUSTER, 0, 0, &record, &size) == -SKERRY_WOULD_BLOCK);
	CHECK(sample_ask() == 0 && orders == 1 && woken == 1); /* the others are gone: nobody to wait for */
	CHECK(is_up(0) && !is_up(1) && !is_up(2));
	CHECK(core_of(0, 1)->cpu == 1 && core_of(0, 1)->counted && core_of(0, 1)->entries == 1001);
	CHECK(core_of(0, 1)->elapsed == milliseconds_passed - 1 && core_of(0, 1)->lock[LOCK_CLASS_RUN_QUEUE].hold == 77);
	CHECK(core_of(2, 1)->entries == 0);
	milliseconds_passed += 99;
	CHECK(sample_ask() == 0 && orders == 1); /* it is fresh */
	CHECK(sample_read(SAMPLE_CLUSTER, CLUSTERS, 0, &record, &size) == -SKERRY_NOT_FOUND);
	CHECK(sample_read(SAMPLE_CORE, 0, CORES, &record, &size) == -SKERRY_NOT_FOUND);
	CHECK(sample_read(SAMPLE_CORE, UINT64_MAX, 0, &record, &size) == -SKERRY_NOT_FOUND);
	CHECK(sample_read(SAMPLE_CORE, 0, UINT64_MAX, &record, &size) == -SKERRY_NOT_FOUND);
	CHECK(sample_read(SAMPLE_APPLICATION, 0, 0, &record, &size) == -SKERRY_NOT_FOUND);
	CHECK(sample_read(SAMPLE_APPLICATION + 1, 0, 0, &record, &size) == -SKERRY_BAD_ARGUMENT);
}

/* Begins one for which clusters 1 and 2 are to answer. */
static void begin(void)
{
	alive[1] = alive[2] = true;
	milliseconds_passed += 100; /* what there is is old */
	woken = 0;
	const unsigned before = orders;
	CHECK(sample_ask() == 1 && orders == before + 1 && !woken);
	CHECK(sample_ask() == 1 && orders == before + 1); /* who comes now waits for the same */
	milliseconds_passed += 999;
}

static void all_answer(void)
{
	begin();
	for (uint32_t cluster = 1; cluster < CLUSTERS; cluster++) {
		CHECK(!woken);
		CHECK(core_came(cluster, ordered, 0, 5) && core_came(cluster, ordered, 1, 6));
		came(cluster, ordered);
	}
	CHECK(woken == 1 && is_up(1) && is_up(2));
	CHECK(core_of(1, 1)->entries == 6 && core_of(1, 1)->cpu == 3 && core_of(1, 1)->counted == 1);
}

/* Cluster 2 says what makes no sense, and cluster 1 what does. */
static void one_lies(void)
{
	begin();
	CHECK(!core_came(2, ordered, CORES, 666) && !core_came(2, ordered, 64, 666) && !core_came(2, ordered, UINT32_MAX, 666));
	CHECK(core_came(2, ordered + 1, 0, 666) && core_came(2, ordered - 1, 0, 666) && core_came(2, 0, 0, 666));
	CHECK(core_of(2, 0)->entries != 666);
	came(2, ordered); /* without its cores */
	CHECK(core_came(2, ordered, 1, 7) && core_came(2, ordered, 1, 8));
	came(2, ordered); /* without one */
	came(1, ordered + 1);
	CHECK(core_came(1, ordered, 1, 9) && core_came(1, ordered, 0, 9));
	came(1, ordered);
	CHECK(core_came(1, ordered, 0, 666)); /* it has said that this was all */
	CHECK(!woken && core_of(1, 0)->entries == 9);
	alive[2] = false; /* it is noticed to be gone */
	sample_tick();
	CHECK(woken == 1 && is_up(1) && !is_up(2));
	CHECK(core_came(2, ordered, 0, 666) && core_of(2, 0)->entries != 666); /* too late */
}

/* A second's patience is over. */
static void patience(void)
{
	begin();
	CHECK(core_came(1, ordered, 0, 1) && core_came(1, ordered, 1, 1));
	came(1, ordered);
	sample_tick();
	CHECK(!woken);
	milliseconds_passed++;
	sample_tick();
	CHECK(woken == 1 && is_up(0) && is_up(1) && !is_up(2));
}

int main(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	struct root_info *root = mmap((void *)ROOT_INFO_VADDR, sizeof(*root), PROT_READ | PROT_WRITE, flags, -1, 0);
	struct core_stat *core = mmap((void *)ROOT_STAT_VADDR, CORES * sizeof(*core), PROT_READ | PROT_WRITE, flags, -1, 0);
	if ((uint64_t)root != ROOT_INFO_VADDR || (uint64_t)core != ROOT_STAT_VADDR)
		return SKIPPED; /* something else is there */
	root->cpu_count = CORES;
	root->tsc_hz = 1000; /* a cycle is a millisecond */
	map.cluster_count = CLUSTERS;
	for (uint32_t i = 0; i < CLUSTERS; i++)
		map.cluster[i] = (struct cluster){ .number = i, .cpu_count = CORES, .cpu = { 2 * i, 2 * i + 1 } };
	for (uint32_t i = 0; i < CORES; i++) {
		core[i].started = 1;
		core[i].entries = 1000 + i;
		core[i].lock[LOCK_CLASS_RUN_QUEUE].hold = 77;
	}
	wakes();
	alone();
	all_answer();
	one_lies();
	patience();
	return failures != 0;
}
