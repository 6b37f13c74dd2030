/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"
#include "process.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "stats.h"
#include "string.h"

/*
 * A core's record with its idle time brought up to now. The core may be
 * writing meanwhile: what belongs together is read until it holds still.
 */
static void read_core(const volatile struct core_stat *from, struct core_stat *to)
{
	for (unsigned tries = 0; tries < 8; tries++) {
		*to = *from;
		if (from->idle_since == to->idle_since && from->idle_cycles == to->idle_cycles)
			break;
	}
	uint64_t now = read_tsc();
	if (to->idle_since && now > to->idle_since)
		to->idle_cycles += now - to->idle_since;
	to->updated = now;
}

void stats_take(uint32_t when, struct report_stats *stats)
{
	const volatile struct core_stat *core = (const volatile struct core_stat *)ROOT_STAT_VADDR;
	stats->tsc = read_tsc();
	stats->when = when;
	stats->cores = ROOT->cpu_count < BOOT_MAX_CPUS ? ROOT->cpu_count : BOOT_MAX_CPUS;
	for (uint32_t i = 0; i < stats->cores; i++)
		read_core(&core[i], &stats->core[i]);
}

void stats_report(const struct report_stats *stats)
{
	report(REPORT_STATS, stats, offsetof(struct report_stats, core) + stats->cores * sizeof(stats->core[0]));
}

void stats_publish(uint32_t cluster, const struct report_stats *stats)
{
	struct text *t = results_begin("stats");
	if (stats->when == STATS_START)
		text_format(t, ",\"when\":\"start\"");
	else if (stats->when == STATS_END)
		text_format(t, ",\"when\":\"end\"");
	else
		text_format(t, ",\"when\":\"barrier-%u\"", stats->when);
	text_format(t, ",\"tsc\":%lu,\"cluster\":%u,\"kernel\":", stats->tsc, cluster);
	text_json_string(t, run_cluster_kernel(cluster));
	text_format(t, ",\"tsc_hz\":%lu,\"cores\":[", ROOT->tsc_hz);
	for (uint32_t i = 0; i < stats->cores; i++) {
		const struct core_stat *c = &stats->core[i];
		text_format(t, "%s{\"cpu\":%u,\"core\":%u,\"tsc\":%lu,\"idle\":%lu,\"started\":%lu", i ? "," : "",
			    run_cpu_number(cluster, i), i, c->updated, c->idle_cycles, c->started);
		text_format(t, ",\"entries\":%lu,\"syscalls\":%lu,\"interrupts\":%lu,\"faults\":%lu", c->entries,
			    c->syscalls, c->interrupts, c->faults);
		text_format(t, ",\"lock_grabs\":%lu,\"lock_conflicts\":%lu,\"lock_spins\":%lu", c->lock_grabs,
			    c->lock_conflicts, c->lock_spins);
		text_format(t, ",\"lock_wait\":%lu,\"lock_wait_max\":%lu,\"lock_hold\":%lu,\"lock_hold_max\":%lu",
			    c->lock_wait, c->lock_wait_max, c->lock_hold, c->lock_hold_max);
		text_format(t, ",\"switches\":%lu}", c->switches);
	}
	text_format(t, "]");
	/* a barrier's release starts what is being measured */
	if (stats->when == STATS_START || stats->when == STATS_END)
		results_end(t);
	else
		results_keep(t);
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
