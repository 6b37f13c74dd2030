/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "console.h"
#include "map.h"
#include "output.h"
#include "own-line.h"
#include "results.h"
#include "root.h"

enum { RESULT_MAX = 49152, KEPT_MAX = 131072, KERNEL_LINE_MS = 10 };

/* Ends the line that a former life has begun, and says that it is none: ASCII's CAN (ECMA-48, 8.8). */
static const char cancel[] = "\x18\n";
static char line[RESULT_MAX];
static struct text current;
static char kept[KEPT_MAX];
static size_t kept_length;

void results_init(void)
{
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
	const size_t size = sizeof(line) - 1; /* the brace */
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
	require(t->length + 1 + OWN_LINE_END <= sizeof(line) || ROOT->results_port);
	require(t->length + 2 <= sizeof(line));
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
	if (t->length > sizeof(kept) - kept_length)
		results_flush();
	require(t->length <= sizeof(kept) - kept_length);
	memcpy(kept + kept_length, t->data, t->length);
	kept_length += t->length;
}

void results_flush(void)
{
	output_put(OUTPUT_RESULTS, kept, kept_length);
	kept_length = 0;
}
