/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/stat_read.h>
#include "memory.h"
#include "process.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "stats.h"
#include "string.h"

static struct report_stats stats;
static struct report_locks locks;

static void brief(const struct core_stat *from, struct report_core *to)
{
	struct lock_stat lock = stat_kernel_locks(from);
	*to = (struct report_core){
		.tsc = from->updated, .idle = from->idle_cycles, .started = from->started,
		.entries = from->entries, .syscalls = from->syscalls, .interrupts = from->interrupts,
		.faults = from->faults, .switches = from->switches,
		.lock_grabs = lock.grabs, .lock_conflicts = lock.conflicts, .lock_spins = lock.spins,
		.lock_wait = lock.wait, .lock_wait_max = lock.wait_max,
		.lock_hold = lock.hold, .lock_hold_max = lock.hold_max,
		.commits = from->transactions.committed,
	};
}

void stats_take(uint32_t when)
{
	const volatile struct core_stat *core = (const volatile struct core_stat *)ROOT_STAT_VADDR;
	stats.tsc = read_tsc();
	stats.when = locks.when = when;
	stats.cores = ROOT->cpu_count < BOOT_MAX_CPUS ? ROOT->cpu_count : BOOT_MAX_CPUS;
	locks.sum = (struct core_stat){ 0 };
	for (uint32_t i = 0; i < stats.cores; i++) {
		static struct core_stat one;
		one = (struct core_stat){ 0 }; /* what a core has not counted is not read */
		stat_read(&core[i], &one, read_tsc);
		brief(&one, &stats.core[i]);
		stat_add(&locks.sum, &one);
	}
}

void stats_report(void)
{
	report(REPORT_STATS, &stats, offsetof(struct report_stats, core) + stats.cores * sizeof(stats.core[0]));
	if (locks.sum.entries)
		report(REPORT_LOCKS, &locks, sizeof(locks));
}

static struct text *begin(const char *event, uint32_t when)
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
static void end(struct text *t, uint32_t when)
{
	if (when == STATS_START || when == STATS_END)
		results_end(t);
	else
		results_keep(t);
}

void stats_publish(uint32_t cluster, const struct report_stats *s)
{
	struct text *t = begin("stats", s->when);
	text_format(t, ",\"tsc\":%lu,\"cluster\":%u,\"kernel\":", s->tsc, cluster);
	text_json_string(t, run_cluster_kernel(cluster));
	text_format(t, ",\"tsc_hz\":%lu,\"cores\":[", ROOT->tsc_hz);
	for (uint32_t i = 0; i < s->cores; i++) {
		const struct report_core *c = &s->core[i];
		text_format(t, "%s{\"cpu\":%u,\"core\":%u,\"tsc\":%lu,\"idle\":%lu,\"started\":%lu", i ? "," : "",
			    run_cpu_number(cluster, i), i, c->tsc, c->idle, c->started);
		text_format(t, ",\"entries\":%lu,\"syscalls\":%lu,\"interrupts\":%lu,\"faults\":%lu", c->entries,
			    c->syscalls, c->interrupts, c->faults);
		text_format(t, ",\"lock_grabs\":%lu,\"lock_conflicts\":%lu,\"lock_spins\":%lu", c->lock_grabs,
			    c->lock_conflicts, c->lock_spins);
		text_format(t, ",\"lock_wait\":%lu,\"lock_wait_max\":%lu,\"lock_hold\":%lu,\"lock_hold_max\":%lu",
			    c->lock_wait, c->lock_wait_max, c->lock_hold, c->lock_hold_max);
		text_format(t, ",\"switches\":%lu,\"commits\":%lu}", c->switches, c->commits);
	}
	text_format(t, "]");
	end(t, s->when);
}

/* The record's words that are not 0, each with its place: "words":[[4,1187],..]. */
void locks_publish(uint32_t cluster, const struct report_locks *l)
{
	struct text *t = begin("locks", l->when);
	const uint64_t *word = (const uint64_t *)&l->sum;
	const char *comma = "";
	text_format(t, ",\"cluster\":%u,\"kernel\":", cluster);
	text_json_string(t, run_cluster_kernel(cluster));
	text_format(t, ",\"words\":[");
	for (unsigned i = 0; i < STAT_WORDS; i++) {
		if (!word[i])
			continue;
		text_format(t, "%s[%u,%lu]", comma, i, word[i]);
		comma = ",";
	}
	text_format(t, "]");
	end(t, l->when);
}

void memory_report(void)
{
	static struct report_memory body;
	body.total = memory_total();
	body.free = memory_free();
	body.count = 0;
	for (uint32_t i = 0; i < map.application_count; i++)
		if (process_memory(i))
			body.each[body.count++] = (struct about_application){ i, (uint32_t)(process_memory(i) / 1024) };
	report(REPORT_MEMORY, &body, offsetof(struct report_memory, each) + body.count * sizeof(body.each[0]));
}

void memory_publish(uint32_t cluster, const struct report_memory *memory)
{
	struct text *t = results_begin("memory");
	text_format(t, ",\"cluster\":%u,\"total\":%lu,\"free\":%lu,\"per_app\":{", cluster, memory->total, memory->free);
	for (uint32_t i = 0; i < memory->count; i++) {
		text_format(t, i ? "," : "");
		text_json_string(t, map.application[memory->each[i].application].name);
		text_format(t, ":%lu", (uint64_t)memory->each[i].value * 1024);
	}
	text_format(t, "}");
	results_end(t);
}
