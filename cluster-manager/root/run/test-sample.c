/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples are collected from clusters that answer, lie, come late or are gone. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/sample.h>
#include "channel.h"
#include "clusters.h"
#include "map.h"
#include "memory.h"
#include "root.h"
#include "run.h"
#include "sample.h"
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
#include <skerry/stat_read.h>
#include "sample.c"
#include "record.c"
#undef read_tsc

enum { CLUSTERS = 3, CORES = 2 };

static struct cluster_map tested_map;
const struct cluster_map *map = &tested_map;
static bool alive[CLUSTERS];
static unsigned orders, woken;
static uint32_t ordered; /* number of the last order */

uint64_t memory_total(void) { return 1 << 30; }
uint64_t memory_free(void) { return 1 << 29; }
bool channel_alive(uint32_t cluster) { return alive[cluster]; }
uint32_t watch_life(uint32_t cluster) { return cluster + 2; }

static struct watch_verdict verdicts[CLUSTERS]; /* WATCH_ALIVE: none */
const struct watch_verdict *watch_verdict(uint32_t cluster)
{
	return verdicts[cluster].reason ? &verdicts[cluster] : NULL;
}

const struct run_application *run_application(uint32_t application)
{
	static const struct run_application waiting;
	(void)application;
	return &waiting;
}

const char *cluster_kernel(uint32_t cluster)
{
	static char name[BOOT_NAME_SIZE + 1] = "clh+stat";
	(void)cluster;
	return name;
}

void *own_memory(uint64_t size)
{
	static char memory[1 << 22];
	static size_t used;
	void *found = memory + used;
	used += (size + 15) / 16 * 16;
	return used <= sizeof(memory) ? found : NULL;
}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	exit(1);
}

static uint32_t moved; /* the mailbox's size */
void mailbox_move(void *place, uint32_t size)
{
	CHECK(place && !(size & (size - 1)));
	moved = size;
}

void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error)
{
	woken += kind == WAIT_SAMPLE && !key && !error;
}

int report(enum message_type type, const void *body, size_t size)
{
	if (type == REPORT_SAMPLE_CORE)
		CHECK(!sample_core_came(0, body, size));
	else
		sample_came(0, body);
	return 0;
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
	struct core_stat *core = (struct core_stat *)ROOT_STAT_VADDR, copy = { 0 };
	core->idle_since = milliseconds_passed - 100;
	while_read = wake_core;
	stat_read(core, &copy, test_clock);
	CHECK(copy.idle_cycles == core->idle_cycles && copy.updated == milliseconds_passed);
	core->idle_since = milliseconds_passed - 100;
	stat_read(core, &copy, test_clock);
	CHECK(copy.idle_cycles == core->idle_cycles + 100);
	core->idle_since = 0;
}

static bool core_came(uint32_t cluster, uint32_t number, uint32_t core, uint64_t entries)
{
	static union { struct report_brief made; struct report_record sent; } body;
	const struct core_stat stat = { .entries = entries };
	const size_t size = record_make(&body.made, number, core, &stat);
	return !sample_core_came(cluster, &body.sent, size);
}

static void came(uint32_t cluster, uint32_t number)
{
	const struct report_sample body = { .number = number, .tsc_hz = 5, .memory_total = 9, .memory_free = 8 };
	sample_came(cluster, &body);
}

/* A core's record as a program gets it. */
static const struct core_stat *core_of(uint32_t cluster, uint32_t core)
{
	static struct core_stat stat;
	const struct sample_core *sampled;
	const void *record = NULL;
	size_t size = 0;
	CHECK(sample_read(SAMPLE_CORE, cluster, core, &record, &size) == 0 && size == sizeof(struct sample_core));
	sampled = record;
	stat = (struct core_stat){ 0 };
	CHECK(!sampled->words || sampled->cpu == 2 * cluster + core);
	CHECK(!sampled->words || !stat_unpack(&stat, sampled->word, sampled->words, true));
	return &stat;
}

static const struct sample_cluster *read_cluster(uint32_t cluster)
{
	const void *record = NULL;
	size_t size = 0;
	CHECK(sample_read(SAMPLE_CLUSTER, cluster, 0, &record, &size) == 0 && size == sizeof(struct sample_cluster));
	return record;
}
static bool is_up(uint32_t cluster) { return read_cluster(cluster)->up; }

static void alone(void)
{
	const void *record;
	size_t size;
	CHECK(sample_read(SAMPLE_CLUSTER, 0, 0, &record, &size) == -SKERRY_WOULD_BLOCK);
	CHECK(sample_ask() == 0 && orders == 1 && woken == 1); /* the others are gone: nobody to wait for */
	CHECK(is_up(0) && !is_up(1) && !is_up(2));
	CHECK(core_of(0, 1)->entries == 1001 && core_of(0, 1)->lock[LOCK_CLASS_RUN_QUEUE].hold == 77);
	CHECK(core_of(0, 1)->updated - core_of(0, 1)->started == milliseconds_passed - 1);
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
	CHECK(sample_ask() == 1 && orders == before + 1); /* a request that comes now waits for the same sample */
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
	CHECK(core_of(1, 1)->entries == 6);
}

/* Cluster 2 says what makes no sense, and cluster 1 what does. */
static void one_lies(void)
{
	begin();
	CHECK(!core_came(2, ordered, CORES, 666) && !core_came(2, ordered, 64, 666) &&
	      !core_came(2, ordered, UINT32_MAX, 666));
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
	CHECK(read_cluster(0)->lost == SAMPLE_LOSS_NONE && read_cluster(1)->lost == SAMPLE_LOSS_NONE);
	CHECK(read_cluster(2)->lost == SAMPLE_LOSS_CHANNEL); /* only that shows it */
	verdicts[2].reason = WATCH_CORE;
	CHECK(read_cluster(2)->lost == SAMPLE_LOSS_CORE);
	verdicts[2].reason = WATCH_ALIVE;
	CHECK(read_cluster(0)->life == ROOT->life && read_cluster(2)->life == 4);
}

/* Records that are no records are refused, each with what is wrong with it, and nothing of them is kept. */
static void bad_records(void)
{
	static union { struct report_brief made; struct report_record sent; } body;
	static const struct core_stat stat = { .entries = 666, .lock[0].hold = 1 };
	begin();
	const size_t size = record_make(&body.made, ordered, 0, &stat);
	const char *wrong;
#define REFUSED(bytes, reason) ((wrong = sample_core_came(1, &body.sent, bytes)) && strstr(wrong, reason))
	CHECK(REFUSED(size - 8, "cut off") && REFUSED(size - 1, "cut off") && REFUSED(0, "cut off"));
	CHECK(REFUSED(size + 8, "words behind it") && REFUSED(sizeof(body), "words behind it"));
	CHECK(REFUSED(offsetof(struct report_record, word) + 8, "without its head"));
	body.sent.word[0] += 1ull << 32;
	CHECK(REFUSED(size, "another version"));
	body.sent.word[0] -= (1ull << 32) + 8;
	CHECK(REFUSED(size, "another version"));
	body.sent.word[0] += 8;
	body.sent.word[STAT_PACK_HEAD - 1] |= 1ull << 63;
	CHECK(REFUSED(size + 8, "histogram"));
	body.sent.word[STAT_PACK_HEAD - 1] = 0;
	body.sent.core = CORES;
	CHECK(REFUSED(size, "it has not"));
#undef REFUSED
	CHECK(core_of(1, 0)->entries != 666 && !boot_cores_count(&sample.cluster[1].records.came));
	milliseconds_passed++;
	sample_tick();
}

/* Clusters that do not answer are left out after a second. */
static void timeout(void)
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

/* A sample of each core of the largest cluster fits the half of the mailbox that such messages may take. */
static void mailbox_fits(void)
{
	static const struct { uint32_t cores, size; } one[] = { { CORES, 0 }, { 60, 0 }, { 1024, 1 << 21 } };
	for (unsigned i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		moved = 0;
		tested_map.cluster[1].cpu_count = one[i].cores;
		sample_begin();
		CHECK(moved == one[i].size);
		CHECK(one[i].cores * (sizeof(struct report_brief) + MAIL_HEADER) + MESSAGE_SIZE_MAX <=
		      (moved ? moved : MAILBOX_SIZE) / 2);
	}
	tested_map.cluster[1].cpu_count = CORES;
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	struct core_stat *core = test_place(ROOT_STAT_VADDR, CORES * sizeof(*core));
	if (!root || !core)
		return SKIPPED;
	root->cpu_count = CORES;
	root->tsc_hz = 1000; /* a cycle is a millisecond */
	tested_map.cluster_count = CLUSTERS;
	for (uint32_t i = 0; i < CLUSTERS; i++)
		tested_map.cluster[i] = (struct map_cluster){ .number = i, .cpu_count = CORES,
		                                              .cpu = { 2 * i, 2 * i + 1 } };
	for (uint32_t i = 0; i < CORES; i++) {
		core[i].started = 1;
		core[i].entries = 1000 + i;
		core[i].lock[LOCK_CLASS_RUN_QUEUE].hold = 77;
	}
	wakes();
	alone();
	all_answer();
	one_lies();
	timeout();
	bad_records();
	mailbox_fits();
	return failures != 0;
}
