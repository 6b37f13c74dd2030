/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/errors.h>
#include <skerry/require.h>
#include "channel.h"
#include "lines.h"
#include "map.h"
#include "output.h"
#include "message.h"
#include "root.h"
#include "texts.h"
#include "vspace.h"
#include "waiters.h"
#include "writers.h"

enum {
	RETURN_AT = WRITERS_WINDOW / 4, /* bytes written that are reported to another cluster at a time */
	OWED_COUNTED = 1 << 30, /* no more than that is counted */
	REPORTED_MAX = 1 << 17, /* of a cluster's reports while the ports are behind */
	REPORT_COST = 128,      /* of a short one: its line is longer */
	REPORTED_KEPT = MAP_MAX_APPLICATIONS * REPORT_COST, /* beside that, for what is not said again */
};

struct record {
	uint16_t label, length, done;
	char text[MANAGER_BYTES];
};

static struct writer {
	struct record *record; /* WAITERS_EACH of them: their writers wait; null until one must be kept */
	uint32_t first, count;
} writer[MAP_MAX_APPLICATIONS];
static uint32_t next_writer;   /* in turn */
static uint32_t kept;          /* records of all */
static uint32_t reported[BOOT_MAX_CLUSTERS]; /* bytes of its reports since the ports were last not behind */
/* the primary: bytes written or waiting that were not reported to the cluster */
static uint32_t owed[BOOT_MAX_CLUSTERS];

static bool has_room(void)
{
	return (texts_go_to_primary() ? texts_sent() : output_waiting()) < WRITERS_WINDOW;
}

/* One line, or the rest of the record if that is less. True: that was all of it. */
static bool pass_line(uint32_t application, struct record *r)
{
	const char *from = r->text + r->done;
	require(r->done <= r->length && r->length <= sizeof(r->text));
	size_t left = (size_t)(r->length - r->done);
	if (r->label == MANAGER_RESULT) {
		text_pass(REPORT_RESULT, application, from, left);
		r->done = r->length;
		return true;
	}
	const char *end = memchr(from, '\n', left);
	size_t length = end ? (size_t)(end - from) + 1 : left;
	line_write(application, from, length);
	r->done = (uint16_t)(r->done + length);
	return r->done == r->length;
}

static void forget_first(uint32_t application)
{
	struct writer *w = &writer[application];
	require(w->count && w->count <= WAITERS_EACH && kept >= w->count);
	w->first = (w->first + 1) % WAITERS_EACH;
	w->count--;
	kept--;
	if (!w->count)
		waiters_wake(WAIT_CONSOLE, application, SKERRY_OK);
}

int writers_add(uint32_t application, enum manager_request label, const char *text, size_t length)
{
	static struct record now;
	struct writer *w = &writer[application];
	require(length <= sizeof(now.text));
	now = (struct record){ .label = (uint16_t)label, .length = (uint16_t)length };
	memcpy(now.text, text, length);
	bool all = length == 0;
	while (!all && !w->count && has_room())
		all = pass_line(application, &now);
	if (all)
		return 0;
	if (w->count == WAITERS_EACH)
		return -SKERRY_NO_RESOURCE;
	if (!w->record)
		w->record = own_memory(WAITERS_EACH * sizeof(*w->record));
	if (!w->record)
		return -SKERRY_NO_MEMORY;
	w->record[(w->first + w->count++) % WAITERS_EACH] = now;
	kept++;
	writers_pass_on(); /* has the other end signal when there is room */
	return w->count ? 1 : 0;
}

void writers_flush(uint32_t application)
{
	struct writer *w = &writer[application];
	while (w->count) {
		while (!pass_line(application, &w->record[w->first]))
			;
		forget_first(application);
	}
	line_flush(application);
}

/* The primary: other clusters have room again for what has been written of theirs. A message that cannot leave waits
 * for the next tick. */
static void return_credit(void)
{
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		uint32_t number = map->cluster[i].number;
		reported[i] = 0;
		if (owed[i] >= RETURN_AT &&
		    (!channel_alive(number) || !channel_send(number, ORDER_WRITTEN, &owed[i], sizeof(owed[i]))))
			owed[i] = 0;
	}
}

static bool any_owed(void)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (owed[i] >= RETURN_AT)
			return true;
	return false;
}

/* Lines of all programs in turn while there is room. */
static void pass_lines(void)
{
	while (kept && has_room()) {
		require(next_writer < map->application_count);
		uint32_t i = next_writer;
		next_writer = (next_writer + 1) % map->application_count;
		if (writer[i].count && pass_line(i, &writer[i].record[writer[i].first]))
			forget_first(i);
	}
}

void writers_pass_on(void)
{
	for (;;) {
		if (output_waiting() < WRITERS_WINDOW)
			return_credit();
		pass_lines();
		bool own = kept && !texts_go_to_primary();
		if ((!own && !any_owed()) || output_want(WRITERS_WINDOW))
			return;
		if (!own) {
			return_credit();
			return;
		}
	}
}

void writers_written(uint32_t bytes)
{
	texts_written(bytes);
	pass_lines();
}

void writers_primary_lost(void)
{
	require(!texts_go_to_primary());
	texts_written(UINT32_MAX);
	writers_pass_on();
}

void writers_cluster_restarted(uint32_t cluster)
{
	const struct map_cluster *c = map_cluster(map, cluster);
	require(c);
	owed[c - map->cluster] = reported[c - map->cluster] = 0;
}

/* Refused bytes are owed, too: the sender has counted them. */
bool writers_came(uint32_t cluster, size_t length)
{
	const struct map_cluster *c = map_cluster(map, cluster);
	if (!c)
		return false;
	uint32_t *of = &owed[c - map->cluster];
	bool good = *of <= WRITERS_OWED_MAX && (*of <= 2 * WRITERS_WINDOW || output_room() > WRITERS_OWED_MAX);
	if (*of < OWED_COUNTED)
		*of += text_cost(length);
	if (*of >= RETURN_AT)
		writers_pass_on();
	return good;
}

/* Hazard: a run that does not end. Counters of many cores must not take the room of events that come once: that a
 * program has ended. */
bool writers_report_came(uint32_t cluster, size_t size, bool counters)
{
	const struct map_cluster *c = map_cluster(map, cluster);
	const uint32_t cost = size < REPORT_COST ? REPORT_COST : (uint32_t)size,
	               max = counters ? REPORTED_MAX : REPORTED_MAX + REPORTED_KEPT;
	if (!c || reported[c - map->cluster] + cost > max)
		return false;
	reported[c - map->cluster] += cost;
	return true;
}
