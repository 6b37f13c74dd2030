/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as cluster-managers write them (stats.c there), and two of this program's own. */
#include <skerry/stat_read.h>
#include "output.h"
#include "stress.h"

static struct core_stat now[BOOT_MAX_CPUS], sum;
static struct text line;

static void flush(void)
{
	output_results(line.bytes, line.length);
	line.length = 0;
}

static void put(const char *string)
{
	text_string(&line, string);
	if (line.length > sizeof(line.bytes) / 2)
		flush();
}

static void field(const char *name, uint64_t value)
{
	put(",\"");
	put(name);
	put("\":");
	text_number(&line, value);
}

static void word(const char *name, const char *value)
{
	put(",\"");
	put(name);
	put("\":");
	text_json(&line, value);
}

void report_read(void)
{
	sum = (struct core_stat){ 0 };
	for (unsigned i = 0; i < ROOT->cpu_count; i++) {
		stat_read(&STAT[i], &now[i], read_tsc);
		stat_add(&sum, &now[i]);
	}
}

static void core(unsigned i)
{
	struct lock_stat lock = stat_kernel_locks(&now[i]);
	put(i ? ",{\"core\":" : "{\"core\":");
	text_number(&line, i);
	field("cpu", ROOT->cpu_number[i]);
	field("tsc", now[i].updated);
	field("idle", now[i].idle_cycles);
	field("started", now[i].started);
	field("entries", now[i].entries);
	field("syscalls", now[i].syscalls);
	field("interrupts", now[i].interrupts);
	field("faults", now[i].faults);
	field("switches", now[i].switches);
	field("lock_grabs", lock.grabs);
	field("lock_conflicts", lock.conflicts);
	field("lock_spins", lock.spins);
	field("lock_wait", lock.wait);
	field("lock_wait_max", lock.wait_max);
	field("lock_hold", lock.hold);
	field("lock_hold_max", lock.hold_max);
	field("commits", now[i].transactions.committed);
	put("}");
}

static void begin(const char *event, const char *when)
{
	put("{\"event\":\"");
	put(event);
	put("\"");
	word("when", when);
	field("cluster", ROOT->cluster);
	word("kernel", ROOT->kernel_name);
}

void report_snapshot(const char *when)
{
	const char *comma = "";
	begin("stats", when);
	field("tsc", now[0].updated);
	field("tsc_hz", ROOT->tsc_hz);
	put(",\"cores\":[");
	for (unsigned i = 0; i < ROOT->cpu_count; i++)
		core(i);
	put("]}\n");
	if (sum.entries) {
		begin("locks", when);
		put(",\"words\":[");
		for (unsigned i = 0; i < STAT_WORDS; i++) {
			uint64_t value = ((const uint64_t *)&sum)[i];
			if (!value)
				continue;
			put(comma);
			put("[");
			text_number(&line, i);
			put(",");
			text_number(&line, value);
			put("]");
			comma = ",";
		}
		put("]}\n");
	}
	flush();
}

void report_cores(void)
{
	for (unsigned i = 0; i < ROOT->cpu_count; i++) {
		uint64_t busy = tasks_time(i);
		stat_read(&STAT[i], &now[i], read_tsc);
		put("{\"event\":\"stress-core\"");
		field("core", i);
		field("wall", now[i].updated - now[i].started);
		field("idle", now[i].idle_cycles);
		field("busy", busy);
		put("}\n");
	}
	flush();
}

void report_done(const char *program, unsigned tasks, unsigned servers, uint64_t operations, uint64_t cycles)
{
	put("{\"event\":\"stress\"");
	word("program", program);
	field("cores", ROOT->cpu_count);
	field("tasks", tasks);
	field("servers", servers);
	field("operations", operations);
	field("cycles", cycles);
	put("}\n");
	flush();
}
