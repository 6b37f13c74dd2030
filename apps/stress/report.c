/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as cluster-managers write them (stats.c there), and two of this program's own. */
#include <skerry/stat_read.h>
#include <skerry/stat_view.h>
#include <skerry/mark.h>
#include "bare.h"
#include "stress.h"

/* The cores' counters at a moment. */
struct moment {
	const char *name;
	uint64_t time; /* TSC */
	struct core_stat core[STRESS_CORES];
};
static struct moment before = { .name = "begin" }, after = { .name = "end" };
enum { TEXT_SIZE = 32768 }; /* more than twice the words of a record */
static char bytes[TEXT_SIZE];
static struct text line = TEXT(bytes);

static void flush(void)
{
	output_results(&line);
	line.length = 0;
}

static void put(const char *string)
{
	text_format(&line, "%s", string);
	if (line.length > line.size / 2)
		flush();
}

static void field(const char *name, uint64_t value)
{
	put(",\"");
	put(name);
	put("\":");
	text_format(&line, "%lu", value);
}

static void word(const char *name, const char *value)
{
	put(",\"");
	put(name);
	put("\":");
	text_json_string(&line, value);
}

static void look(struct moment *now)
{
	now->time = read_tsc();
	for (unsigned i = 0; i < ROOT->cpu_count; i++)
		stat_read(&STAT[i], &now->core[i], read_tsc);
}

void report_begin(void)
{
	look(&before);
	clusters_meet();
	if (!ROOT->cluster)
		MARK(1);
}

void report_end(void)
{
	clusters_meet();
	if (!ROOT->cluster)
		MARK(2);
	look(&after);
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

static void snapshot(const struct moment *moment)
{
	static struct core_stat sum;
	sum = (struct core_stat){ 0 };
	begin("stats", moment->name);
	field("tsc", moment->time);
	field("tsc_hz", ROOT->tsc_hz);
	put(",\"cores\":[");
	for (unsigned i = 0; i < ROOT->cpu_count; i++) {
		put(i ? "," : "");
		stat_json_core(&line, ROOT->cpu_number[i], i, &moment->core[i]);
		stat_add(&sum, &moment->core[i]);
	}
	put("]}\n");
	if (sum.entries) {
		begin("locks", moment->name);
		stat_json_words(&line, &sum);
		put("}\n");
	}
	flush();
}

static void times(unsigned i)
{
	static struct core_stat now;
	uint64_t begun = read_tsc(), busy = tasks_time(i);
	stat_read(&STAT[i], &now, read_tsc);
	put("{\"event\":\"stress-core\"");
	field("core", i);
	field("wall", now.updated - now.started);
	field("idle", now.idle_cycles);
	field("busy", busy);
	field("taken", now.updated - begun);
	put("}\n");
}

void report_done(const char *program, unsigned tasks, unsigned servers, uint64_t operations)
{
	if (ROOT->cluster) /* the first one reports, and ends the machine */
		check_ok(notification_wait(object(OBJECT_NOTIFICATION, 0), 0, 0));
	snapshot(&before);
	snapshot(&after);
	for (unsigned i = 0; i < ROOT->cpu_count; i++)
		times(i);
	put("{\"event\":\"stress\"");
	word("program", program);
	field("cores", ROOT->cpu_count);
	field("tasks", tasks);
	field("servers", servers);
	field("operations", operations);
	field("cycles", after.time - before.time);
	put("}\n");
	flush();
}
