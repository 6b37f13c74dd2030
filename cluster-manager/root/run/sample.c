/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include <skerry/sample.h>
#include "channel.h"
#include "clusters.h"
#include "map.h"
#include "memory.h"
#include "record.h"
#include "report.h"
#include "root.h"
#include "run.h"
#include "sample.h"
#include "waiters.h"
#include "vspace.h"
#include "watch.h"

enum {
	TIMEOUT_MS = 1000, /* with clusters that do not answer */
	/* a sample serves all requests that come meanwhile, so that requests cannot keep the managers busy */
	FRESH_MS = 100,
};

/* A mailbox that was empty takes a whole sample: a report of each core of any cluster. */
void sample_begin(void)
{
	uint32_t most = 0, size = MAILBOX_SIZE;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		most = map->cluster[i].cpu_count > most ? map->cluster[i].cpu_count : most;
	while (most * (sizeof(struct report_brief) + MAIL_HEADER) + MESSAGE_SIZE_MAX > size / 2)
		size *= 2;
	void *memory = size > MAILBOX_SIZE ? own_memory(size) : NULL;
	if (memory)
		mailbox_move(memory, size);
	else if (size > MAILBOX_SIZE)
		manager_panic("no memory for a mailbox of %u KiB", size / 1024);
}

static struct {
	uint32_t number;   /* of the last order; 0: there was none */
	uint32_t last;     /* of the last order that is not waited for any more */
	bool going;        /* reports for `number` are awaited */
	uint64_t deadline; /* TSC */
	uint64_t ended;    /* TSC */
	uint64_t memory[MAP_MAX_APPLICATIONS];
	struct {
		uint32_t answered;  /* number of the last order that it answered whole */
		uint64_t tsc_hz, memory_total, memory_free;
		struct records records; /* for the order in hand, or of the last */
	} cluster[BOOT_MAX_CLUSTERS]; /* in the map's order */
} sample;

/* --- a cluster reports --- */

void sample_report(uint32_t number)
{
	struct report_sample end = { number, 0, ROOT->tsc_hz, memory_total(), memory_free() };
	static struct report_brief body;
	for (uint32_t i = 0; i < record_cores(); i++)
		report(REPORT_SAMPLE_CORE, &body, record_make(&body, number, i, record_read(i)));
	report(REPORT_SAMPLE, &end, sizeof(end));
}

/* --- the primary collects --- */

/* Reports of an order that is no longer waited for are late, not wrong. */
static bool is_awaited(uint32_t place, uint32_t number)
{
	require(place < map->cluster_count);
	return sample.going && number == sample.number && sample.cluster[place].answered != number;
}

const char *sample_core_came(uint32_t place, const struct report_record *report, size_t size)
{
	return records_take(&sample.cluster[place].records, is_awaited(place, report->number), place, report, size);
}

/* Where a core's report was lost, the cluster has not answered. */
void sample_came(uint32_t place, const struct report_sample *report)
{
	if (!is_awaited(place, report->number) || !records_complete(&sample.cluster[place].records, place))
		return;
	sample.cluster[place].answered = report->number;
	sample.cluster[place].tsc_hz = report->tsc_hz;
	sample.cluster[place].memory_total = report->memory_total;
	sample.cluster[place].memory_free = report->memory_free;
	sample_tick();
}

void sample_memory(uint32_t application, uint64_t bytes)
{
	require(application < MAP_MAX_APPLICATIONS);
	sample.memory[application] = bytes;
}

static bool all_answered(void)
{
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		uint32_t number = map->cluster[i].number;
		if (sample.cluster[i].answered != sample.number && (number == ROOT->cluster || channel_alive(number)))
			return false;
	}
	return true;
}

void sample_tick(void)
{
	if (!sample.going || (!all_answered() && read_tsc() < sample.deadline))
		return;
	require(sample.number);
	sample.going = false;
	sample.last = sample.number;
	sample.ended = read_tsc();
	waiters_wake(WAIT_SAMPLE, 0, SKERRY_OK);
}

static bool make_room(void)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (!records_open(&sample.cluster[i].records, i))
			return false;
	return true;
}

int sample_ask(void)
{
	if (sample.going)
		return 1;
	if (sample.last && read_tsc() - sample.ended < milliseconds(FRESH_MS))
		return 0;
	if (!make_room())
		return -SKERRY_NO_MEMORY;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		sample.cluster[i].records.came = (struct boot_cores){ 0 };
	sample.number = sample.number == UINT32_MAX ? 1 : sample.number + 1;
	sample.going = true;
	sample.deadline = read_tsc() + milliseconds(TIMEOUT_MS);
	order_all(ORDER_SAMPLE, &sample.number, sizeof(sample.number));
	return sample.going;
}

/* --- and is read --- */

_Static_assert((int)SAMPLE_LOSS_PANIC == WATCH_PANIC && (int)SAMPLE_LOSS_STOPPED == WATCH_STOPPED &&
               (int)SAMPLE_LOSS_CORE == WATCH_CORE &&
	       (int)SAMPLE_LOSS_TIMER == WATCH_TIMER && (int)SAMPLE_LOSS_MANAGER == WATCH_MANAGER,
	       "both name the same reasons");

static uint32_t loss_of(uint32_t cluster)
{
	const struct watch_verdict *verdict = watch_verdict(cluster);
	if (verdict)
		return verdict->reason;
	return cluster == ROOT->cluster || channel_alive(cluster) ? SAMPLE_LOSS_NONE : SAMPLE_LOSS_CHANNEL;
}

static void describe_cluster(uint32_t place, struct sample_cluster *to)
{
	require(place < map->cluster_count && sample.last);
	uint32_t number = map->cluster[place].number;
	const char *kernel = cluster_kernel(number);
	uint32_t answered = sample.cluster[place].answered;
	*to = (struct sample_cluster){
		.number = number,
		.up = answered == sample.last || answered == sample.number,
		.life = number == ROOT->cluster ? ROOT->life : watch_life(number),
		.lost = loss_of(number),
		.tsc_hz = sample.cluster[place].tsc_hz,
		.memory_total = sample.cluster[place].memory_total,
		.memory_free = sample.cluster[place].memory_free,
	};
	memcpy(to->kernel, kernel, strnlen(kernel, sizeof(to->kernel) - 1));
}

static enum sample_state state_of(const struct run_application *a)
{
	if (a->state == APPLICATION_STARTED)
		return a->serving ? SAMPLE_SERVING : SAMPLE_STARTED;
	return a->state == APPLICATION_WAITING || a->state == APPLICATION_PAUSED ? SAMPLE_WAITING : SAMPLE_ENDED;
}

static void describe_application(uint32_t index, struct sample_application *to)
{
	const struct map_application *a = &map->application[index];
	*to = (struct sample_application){
		.cluster = a->cluster, .cpu = a->cpu, .ipv4 = a->ipv4,
		.state = state_of(run_application(index)), .memory = sample.memory[index],
		.restarts = run_application(index)->restarts,
	};
	memcpy(to->name, a->name, sizeof(to->name));
	memcpy(to->program, a->program, strnlen(a->program, sizeof(to->program) - 1));
}

int sample_read(uint64_t kind, uint64_t index, uint64_t core, const void **record, size_t *size)
{
	static union {
		struct sample_cluster cluster;
		struct sample_application application;
	} made;
	*record = &made;
	if (!sample.last)
		return -SKERRY_WOULD_BLOCK;
	if (kind > SAMPLE_APPLICATION)
		return -SKERRY_BAD_ARGUMENT;
	if (index >= (kind == SAMPLE_APPLICATION ? map->application_count : map->cluster_count) ||
	    (kind == SAMPLE_CORE && core >= map->cluster[index].cpu_count))
		return -SKERRY_NOT_FOUND;
	switch (kind) {
	case SAMPLE_CLUSTER:
		describe_cluster((uint32_t)index, &made.cluster);
		*size = sizeof(made.cluster);
		return 0;
	case SAMPLE_CORE:
		*record = &sample.cluster[index].records.core[core];
		*size = sizeof(struct sample_core);
		return 0;
	default:
		describe_application((uint32_t)index, &made.application);
		*size = sizeof(made.application);
		return 0;
	}
}
