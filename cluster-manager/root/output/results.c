/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "console.h"
#include "map.h"
#include "output.h"
#include "own-line.h"
#include "results.h"
#include "root.h"
#include "vspace.h"

enum { RESULT_MAX = 49152, KEPT_MAX = 131072, CORE_MAX = 768 /* bytes of a core's counters */, HEAD_MAX = 1024,
       KERNEL_LINE_MS = 10 };

/* Ends the line that a former life has begun, and says that it is none: ASCII's CAN (ECMA-48, 8.8). */
static const char cancel[] = "\x18\n";
static char first_line[RESULT_MAX], first_kept[KEPT_MAX];
static char *line = first_line, *kept = first_kept;
static size_t line_size = sizeof(first_line), kept_size = sizeof(first_kept), kept_length;
static struct text current;

/* A line takes the counters of all cores of any cluster, and one that is kept takes a line. */
static void make_room(void)
{
	size_t size = 0;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (size < HEAD_MAX + map->cluster[i].cpu_count * (size_t)CORE_MAX)
			size = HEAD_MAX + map->cluster[i].cpu_count * (size_t)CORE_MAX;
	if (size <= line_size)
		return;
	line = own_memory(line_size = size);
	kept = own_memory(kept_size = KEPT_MAX + size);
	if (!line || !kept)
		manager_panic("no memory for results of %lu KiB", (unsigned long)size / 1024);
}

void results_init(void)
{
	make_room();
	if (ROOT->life > 1)
		output_put(OUTPUT_RESULTS, cancel, sizeof(cancel) - 1);
	if (ROOT->results_port)
		return;
	console_print("there is no second serial port: results go to the console");
	/* where other kernels say a line each as they start */
	uint64_t timeout = read_tsc() + ROOT->cluster_count * milliseconds(KERNEL_LINE_MS);
	while (read_tsc() < timeout)
		;
}

struct text *results_begin(const char *event)
{
	const size_t size = line_size - 1; /* the brace */
	if (ROOT->results_port)
		current = (struct text){ .data = line, .size = size - 1 };
	else
		current = own_line_begin(line, size); /* among those of programs */
	text_format(&current, "{\"event\":\"%s\"", event);
	return &current;
}

void results_application(struct text *t, uint32_t application)
{
	require(application < map->application_count);
	const struct map_application *a = &map->application[application];
	text_format(t, ",\"app\":");
	text_json_string(t, a->name);
	text_format(t, ",\"cluster\":%u,\"cpu\":%u", a->cluster, a->cpu);
	for (uint32_t i = 0, count = map_cores_of(a); count > 1 && i < count; i++)
		text_format(t, "%s%u%s", i ? "," : ",\"cpus\":[",
		            map_cluster(map, a->cluster)->cpu[map_named(map, &a->cores, i)],
		            i + 1 < count ? "" : "]");
}

/* A cut-off object is no object: better a line that says so. */
static void text_finish(struct text *t)
{
	if (t->truncated)
		t = results_begin("too-long");
	require(t->length + 1 + OWN_LINE_END <= line_size || ROOT->results_port);
	require(t->length + 2 <= line_size);
	t->data[t->length++] = '}';
	if (ROOT->results_port)
		t->data[t->length++] = '\n';
	else
		own_line_end(t);
}

void results_end(struct text *t)
{
	text_finish(t);
	output_put(OUTPUT_RESULTS, t->data, t->length);
}

void results_keep(struct text *t)
{
	text_finish(t);
	if (t->length > kept_size - kept_length)
		results_flush();
	require(t->length <= kept_size - kept_length);
	memcpy(kept + kept_length, t->data, t->length);
	kept_length += t->length;
}

void results_flush(void)
{
	output_put(OUTPUT_RESULTS, kept, kept_length);
	kept_length = 0;
}
