/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/stat_view.h>
#include "clusters.h"
#include "map.h"
#include "memory.h"
#include "family.h"
#include "process.h"
#include "record.h"
#include "report.h"
#include "results.h"
#include "root.h"
#include "slots.h"
#include "stats.h"
#include "vspace.h"

static struct {
	struct report_stats end;
	struct core_stat sum;
	struct taken_core {
		struct report_brief brief;
		size_t size;
	} *core; /* of each of this cluster's */
} taken;

static struct records records[BOOT_MAX_CLUSTERS]; /* the primary: in the map's order */

void stats_take(uint32_t when)
{
	taken.end = (struct report_stats){ .tsc = read_tsc(), .when = when };
	taken.sum = (struct core_stat){ 0 };
	if (!taken.core)
		taken.core = own_memory(record_cores() * sizeof(*taken.core));
	if (!taken.core)
		manager_panic("no memory for the counters of %u cores", record_cores());
	for (uint32_t i = 0; i < record_cores(); i++) {
		const struct core_stat *now = record_read(i);
		taken.core[i].size = record_make(&taken.core[i].brief, when, i, now);
		stat_add(&taken.sum, now);
	}
}

void stats_report(void)
{
	for (uint32_t i = 0; i < record_cores(); i++)
		report(REPORT_STATS_CORE, &taken.core[i].brief, taken.core[i].size);
	report(REPORT_STATS, &taken.end, sizeof(taken.end));
	if (taken.sum.entries) {
		static struct report_record sum;
		sum.number = taken.end.when;
		report(REPORT_LOCKS, &sum,
		       offsetof(struct report_record, word) + stat_pack(sum.word, &taken.sum, false) * 8);
	}
}

static struct text *record_begin(const char *event, uint32_t when)
{
	struct text *t = results_begin(event);
	if (when == STATS_START)
		text_format(t, ",\"when\":\"start\"");
	else if (when == STATS_END)
		text_format(t, ",\"when\":\"end\"");
	else
		text_format(t, ",\"when\":\"barrier-%u\"", when);
	return t;
}

/* A barrier's release starts what is being measured. */
static void record_end(struct text *t, uint32_t when)
{
	if (when == STATS_START || when == STATS_END)
		results_end(t);
	else
		results_keep(t);
}

const char *stats_core_came(uint32_t place, const struct report_record *report, size_t size)
{
	if (!records_open(&records[place], place))
		return "sent a record of counters, for which there is no memory";
	return records_take(&records[place], true, place, report, size);
}

const char *stats_publish(uint32_t place, const struct report_stats *s)
{
	static struct core_stat core;
	const struct map_cluster *cluster = &map->cluster[place];
	if (!records_complete(&records[place], place))
		return "sent counters of some of its cores only";
	records[place].came = (struct boot_cores){ 0 };
	struct text *t = record_begin("stats", s->when);
	text_format(t, ",\"tsc\":%lu,\"cluster\":%u,\"kernel\":", s->tsc, cluster->number);
	text_json_string(t, cluster_kernel(cluster->number));
	text_format(t, ",\"tsc_hz\":%lu,\"cores\":[", ROOT->tsc_hz);
	for (uint32_t i = 0; i < cluster->cpu_count; i++) {
		const struct sample_core *kept = &records[place].core[i];
		stat_unpack(&core, kept->word, kept->words, true);
		text_format(t, i ? "," : "");
		stat_json_core(t, kept->cpu, i, &core);
	}
	text_format(t, "]");
	record_end(t, s->when);
	return NULL;
}

const char *locks_publish(uint32_t place, const struct report_record *report, size_t words)
{
	static struct core_stat sum;
	const char *wrong = stat_unpack(&sum, report->word, words, false);
	if (wrong)
		return wrong;
	struct text *t = record_begin("locks", report->number);
	text_format(t, ",\"cluster\":%u,\"kernel\":", map->cluster[place].number);
	text_json_string(t, cluster_kernel(map->cluster[place].number));
	stat_json_words(t, &sum);
	record_end(t, report->number);
	return NULL;
}

static void memory_send(struct report_memory *body, bool follows)
{
	body->follows = follows;
	report(REPORT_MEMORY, body, offsetof(struct report_memory, each) + body->count * sizeof(body->each[0]));
	body->count = 0;
}

void memory_report(void)
{
	static struct report_memory body;
	body.total = memory_total();
	body.free = memory_free();
	body.slots = slots_free();
	body.count = 0;
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (!family_memory(i))
			continue;
		if (body.count == REPORT_MEMORY_MOST)
			memory_send(&body, true);
		body.each[body.count++] = (struct report_memory_of){ i, (uint32_t)(family_memory(i) / 1024),
			                                             (uint32_t)(family_committed(i) / 1024) };
	}
	memory_send(&body, false);
}

static void add_each(struct text *t, const struct report_memory *memory, bool committed)
{
	for (uint32_t i = 0; i < memory->count; i++) {
		const struct report_memory_of *each = &memory->each[i];
		text_format(t, i ? "," : "");
		text_json_string(t, map->application[each->application].name);
		text_format(t, ":%lu", (uint64_t)(committed ? each->committed : each->given) * 1024);
	}
}

void memory_publish(uint32_t cluster, const struct report_memory *memory)
{
	struct text *t = results_begin("memory");
	text_format(t, ",\"cluster\":%u,\"total\":%lu,\"free\":%lu,\"slots\":%u,\"per_app\":{", cluster, memory->total,
		    memory->free, memory->slots);
	add_each(t, memory, false);
	text_format(t, "},\"committed\":{");
	add_each(t, memory, true);
	text_format(t, "}");
	results_end(t);
}
