/* SPDX-License-Identifier: BSD-2-Clause */
#include "scrape.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "stat_fields.h"

#define LENGTH STAT_LENGTH

enum { FAMILY_MAX = 100 };

#ifndef SKERRY_RELEASE
#define SKERRY_RELEASE "unknown"
#endif

static const struct {
	const char *name, *type, *help;
} of_redis[REDIS_FIELDS] = {
	[REDIS_COMMANDS] = { "skerry_redis_commands_processed_total", "counter", "Commands processed." },
	[REDIS_CONNECTIONS] = { "skerry_redis_connections_received_total", "counter", "Connections accepted." },
	[REDIS_CLIENTS] = { "skerry_redis_connected_clients", "gauge", "Clients connected, this endpoint among them." },
	[REDIS_MEMORY] = { "skerry_redis_memory_used_bytes", "gauge", "Memory that the allocator gave out." },
	[REDIS_MEMORY_RESIDENT] = { "skerry_redis_memory_resident_bytes", "gauge", "Memory that the process holds." },
	[REDIS_HITS] = { "skerry_redis_keyspace_hits_total", "counter", "Lookups that found their key." },
	[REDIS_MISSES] = { "skerry_redis_keyspace_misses_total", "counter", "Lookups that did not find their key." },
	[REDIS_EXPIRED] = { "skerry_redis_expired_keys_total", "counter", "Keys that expired." },
	[REDIS_EVICTED] = { "skerry_redis_evicted_keys_total", "counter", "Keys evicted for want of memory." },
};

static void add_family(struct text *t, const char *name, const char *type, const char *help)
{
	text_add(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Returns whether a field is one number that only grows. */
static bool is_counter(const struct stat_field *field)
{
	return (field->kind == STAT_KIND_COUNT || field->kind == STAT_KIND_CYCLES) && field->count == 1;
}

/* Makes the name: "skerry_lock_wait_seconds_total". Cycles are exported as seconds. */
static void counter_name(char name[FAMILY_MAX], const char *prefix, const struct stat_field *field)
{
	const char *unit = strstr(field->name, "_cycles"); /* "idle_cycles" is idle_seconds */
	const size_t length = unit ? (size_t)(unit - field->name) : strlen(field->name);

	snprintf(name, FAMILY_MAX, "skerry_%s_%.*s%s_total", prefix, (int)length, field->name,
		 field->kind == STAT_KIND_CYCLES ? "_seconds" : "");
}

static void add_seconds(struct text *t, uint64_t cycles, uint64_t hz)
{
	text_add(t, " %.9f\n", (double)cycles / (double)hz);
}

static void add_value(struct text *t, const struct stat_field *field, const void *record, uint64_t hz)
{
	const uint64_t count = ((const uint64_t *)record)[field->word];

	if (field->kind == STAT_KIND_CYCLES)
		add_seconds(t, count, hz);
	else
		text_add(t, " %llu\n", (unsigned long long)count);
}

/* --- clusters --- */

static void add_clusters(struct text *t, const struct snapshot *s)
{
	add_family(t, "skerry_cluster_info", "gauge", "1, and which kernel the cluster runs.");
	for (unsigned i = 0; i < s->clusters; i++) {
		text_add(t, "skerry_cluster_info{cluster=\"%u\",", s->cluster[i].about.number);
		text_label(t, "kernel", s->cluster[i].about.kernel);
		text_add(t, "} 1\n");
	}
	add_family(t, "skerry_cluster_up", "gauge", "1 if the cluster answered, 0 if it is gone or did not.");
	for (unsigned i = 0; i < s->clusters; i++)
		text_add(t, "skerry_cluster_up{cluster=\"%u\"} %u\n", s->cluster[i].about.number,
		         s->cluster[i].about.up);
	add_family(t, "skerry_cluster_cores", "gauge", "Cores of the cluster.");
	for (unsigned i = 0; i < s->clusters; i++)
		text_add(t, "skerry_cluster_cores{cluster=\"%u\"} %u\n", s->cluster[i].about.number,
		         s->cluster[i].cores);
}

/* the names in the run's events */
static const char *const loss[SAMPLE_LOSSES] = {
	[SAMPLE_LOSS_PANIC] = "panic", [SAMPLE_LOSS_STOPPED] = "stopped", [SAMPLE_LOSS_CORE] = "core",
	[SAMPLE_LOSS_TIMER] = "timer", [SAMPLE_LOSS_MANAGER] = "manager", [SAMPLE_LOSS_CHANNEL] = "channel",
};

static void add_losses(struct text *t, const struct snapshot *s)
{
	add_family(t, "skerry_cluster_restarts_total", "counter",
	           "How often the cluster was started again after it was lost.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		if (c->about.life)
			text_add(t, "skerry_cluster_restarts_total{cluster=\"%u\"} %u\n", c->about.number,
			         c->about.life - 1);
	add_family(t, "skerry_cluster_lost", "gauge", "1 while the cluster is lost, and why.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++) {
		if (c->about.lost == SAMPLE_LOSS_NONE)
			continue;
		text_add(t, "skerry_cluster_lost{cluster=\"%u\",", c->about.number);
		text_label(t, "reason", c->about.lost < SAMPLE_LOSSES ? loss[c->about.lost] : "unknown");
		text_add(t, "} 1\n");
	}
}

static void add_memory(struct text *t, const struct snapshot *s)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} part[] = {
		{ "skerry_cluster_memory_bytes", "Memory that the cluster's manager hands out.",
		  offsetof(struct sample_cluster, memory_total) },
		{ "skerry_cluster_memory_free_bytes", "Of this what nobody has.",
		  offsetof(struct sample_cluster, memory_free) },
	};

	for (unsigned p = 0; p < LENGTH(part); p++) {
		add_family(t, part[p].name, "gauge", part[p].help);
		for (unsigned i = 0; i < s->clusters; i++) {
			const struct sample_cluster *c = &s->cluster[i].about;
			if (c->up)
				text_add(t, "%s{cluster=\"%u\"} %llu\n", part[p].name, c->number,
					 *(const unsigned long long *)((const char *)c + part[p].offset));
		}
	}
}

/* --- cores --- */

/* Returns whether the cluster's counters are exported. The last ones of a lost cluster are not: it would look as if it
 * stood still. */
static bool is_counted(const struct snapshot_cluster *c)
{
	bool counted = false;

	for (unsigned i = 0; i < c->cores; i++)
		counted |= c->core[i].counted;
	return c->about.up && counted;
}

static bool is_up(const struct snapshot_cluster *c) { return c->about.up; }

static bool has_transactions(const struct snapshot_cluster *c)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < c->cores; i++)
		all |= c->core[i].stat.transactions.begun | c->core[i].stat.transactions.fallbacks;
	return is_counted(c) && all;
}

static void core_name(struct text *t, const char *name, const struct snapshot_cluster *c,
                      const struct snapshot_core *core)
{
	text_add(t, "%s{cluster=\"%u\",cpu=\"%u\"", name, c->about.number, core->cpu);
}

/* Time since the core started. */
static void add_elapsed(struct text *t, const struct snapshot *s)
{
	static const char name[] = "skerry_core_seconds_total";

	add_family(t, name, "counter", "Time since the core started.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned i = 0; i < c->cores && is_up(c); i++) {
			const struct core_stat *stat = &c->core[i].stat;
			core_name(t, name, c, &c->core[i]);
			text_add(t, "}");
			add_seconds(t, stat->started ? stat->updated - stat->started : 0, c->about.tsc_hz);
		}
}

/* Families of the counters in a part of each core's record that begins `offset` bytes behind its start. */
static void core_families(struct text *t, const struct snapshot *s, const char *prefix, size_t offset,
			  const struct stat_field *fields, unsigned count, bool (*has)(const struct snapshot_cluster *))
{
	char name[FAMILY_MAX];

	for (const struct stat_field *field = fields; field < fields + count; field++) {
		if (!is_counter(field))
			continue;
		counter_name(name, prefix, field);
		add_family(t, name, "counter", field->help);
		for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
			for (unsigned i = 0; i < c->cores && has(c); i++) {
				core_name(t, name, c, &c->core[i]);
				text_add(t, "}");
				add_value(t, field, (const char *)&c->core[i].stat + offset, c->about.tsc_hz);
			}
	}
}

static void add_aborts(struct text *t, const struct snapshot *s)
{
	static const char name[] = "skerry_transactions_aborted_total";

	add_family(t, name, "counter", "Hardware transactions aborted, by cause.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned i = 0; i < c->cores && has_transactions(c); i++)
			for (unsigned cause = 0; cause < ABORT_CAUSES; cause++) {
				core_name(t, name, c, &c->core[i]);
				text_add(t, ",cause=\"%s\"} %llu\n", stat_cause_names[cause],
					 (unsigned long long)c->core[i].stat.transactions.aborted[cause]);
			}
}

/* --- locks --- */

static int64_t lock_instances(const struct snapshot_cluster *c, unsigned class)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->cores; i++)
		sum += (uint64_t)c->core[i].stat.lock[class].instances;
	return (int64_t)sum;
}

/* Does the kernel's regime have locks of this class? */
static bool has_lock(const struct snapshot_cluster *c, unsigned class)
{
	bool found = lock_instances(c, class) > 0;

	for (unsigned i = 0; i < c->cores; i++)
		found |= c->core[i].stat.lock[class].acquisitions != 0;
	return is_counted(c) && found;
}

/* The label, with its comma: ,class="run-queue" */
static void class_label(struct text *t, unsigned class)
{
	text_add(t, ",class=\"");
	for (const char *c = stat_class_names[class]; *c; c++)
		text_add(t, "%c", *c == '_' ? '-' : *c);
	text_add(t, "\"");
}

static void lock_family(struct text *t, const struct snapshot *s, const struct stat_field *field)
{
	char name[FAMILY_MAX];

	counter_name(name, "lock", field);
	add_family(t, name, "counter", field->help);
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned class = 0; class < LOCK_CLASSES; class++)
			for (unsigned i = 0; i < c->cores && has_lock(c, class); i++) {
				core_name(t, name, c, &c->core[i]);
				class_label(t, class);
				text_add(t, "}");
				add_value(t, field, &c->core[i].stat.lock[class], c->about.tsc_hz);
			}
}

static void add_locks(struct text *t, const struct snapshot *s)
{
	add_family(t, "skerry_locks", "gauge", "Locks of the class that there are.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned class = 0; class < LOCK_CLASSES; class++)
			if (has_lock(c, class)) {
				text_add(t, "skerry_locks{cluster=\"%u\"", c->about.number);
				class_label(t, class);
				text_add(t, "} %lld\n", (long long)lock_instances(c, class));
			}
	for (const struct stat_field *field = stat_lock_fields; field < stat_lock_fields + LENGTH(stat_lock_fields);
	     field++)
		if (is_counter(field))
			lock_family(t, s, field);
}

/* --- applications --- */

static void application_name(struct text *t, const char *name, const struct sample_application *a)
{
	text_add(t, "%s{", name);
	text_label(t, "application", a->name);
	text_add(t, ",");
	text_label(t, "program", a->program);
	text_add(t, ",cluster=\"%u\",cpu=\"%u\"} ", a->cluster, a->cpu);
}

static void add_applications(struct text *t, const struct snapshot *s)
{
	const struct sample_application *end = s->application + s->applications;

	add_family(t, "skerry_application_up", "gauge", "1 from the application's start to its end.");
	for (const struct sample_application *a = s->application; a < end; a++) {
		application_name(t, "skerry_application_up", a);
		text_add(t, "%d\n", a->state == SAMPLE_STARTED || a->state == SAMPLE_SERVING);
	}
	add_family(t, "skerry_application_serving", "gauge",
		   "1 when the application has said that it serves, to its end.");
	for (const struct sample_application *a = s->application; a < end; a++) {
		application_name(t, "skerry_application_serving", a);
		text_add(t, "%d\n", a->state == SAMPLE_SERVING);
	}
	add_family(t, "skerry_application_restarts_total", "counter",
	           "How often the application was started again after its end.");
	for (const struct sample_application *a = s->application; a < end; a++) {
		application_name(t, "skerry_application_restarts_total", a);
		text_add(t, "%llu\n", (unsigned long long)a->restarts);
	}
	add_family(t, "skerry_application_memory_bytes", "gauge",
		   "Memory that the application was given when it started.");
	for (const struct sample_application *a = s->application; a < end; a++)
		if (a->memory) {
			application_name(t, "skerry_application_memory_bytes", a);
			text_add(t, "%llu\n", (unsigned long long)a->memory);
		}
}

static void add_redis(struct text *t, const struct snapshot *s)
{
	add_family(t, "skerry_redis_up", "gauge", "1 if the Redis instance answered.");
	for (unsigned i = 0; i < s->applications; i++)
		if (s->redis[i].asked) {
			application_name(t, "skerry_redis_up", &s->application[i]);
			text_add(t, "%d\n", s->redis[i].up);
		}
	for (unsigned field = 0; field < REDIS_FIELDS; field++) {
		add_family(t, of_redis[field].name, of_redis[field].type, of_redis[field].help);
		for (unsigned i = 0; i < s->applications; i++)
			if (s->redis[i].up && s->redis[i].known >> field & 1) {
				application_name(t, of_redis[field].name, &s->application[i]);
				text_add(t, "%llu\n", (unsigned long long)s->redis[i].field[field]);
			}
	}
}

void exposition(struct text *t, const struct snapshot *s)
{
	add_family(t, "skerry_build_info", "gauge", "1, and the release of this endpoint.");
	text_add(t, "skerry_build_info{version=\"" SKERRY_RELEASE "\"} 1\n");
	add_clusters(t, s);
	add_losses(t, s);
	add_memory(t, s);
	add_elapsed(t, s);
	core_families(t, s, "core", 0, stat_core_fields, 1, is_up); /* idle time, which all kernels count */
	core_families(t, s, "core", 0, stat_core_fields + 1, LENGTH(stat_core_fields) - 1, is_counted);
	core_families(t, s, "transactions", offsetof(struct core_stat, transactions), stat_transaction_fields,
		      LENGTH(stat_transaction_fields), has_transactions);
	add_aborts(t, s);
	add_locks(t, s);
	add_applications(t, s);
	add_redis(t, s);
	add_family(t, "skerry_scrape_duration_seconds", "gauge",
	           "Time that it took to ask all clusters and Redis instances.");
	text_add(t, "skerry_scrape_duration_seconds %.6f\n", s->seconds);
}
