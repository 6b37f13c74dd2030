/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>

#include <hdr_histogram.h>


enum { PAIR_BYTES = 40 };

struct line {
	char text[RESULT_BYTES + 1];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int n = vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format, arguments);
	va_end(arguments);
	line->length += (size_t)n;
}

static int send_report(struct line *line)
{
	if (line->length < sizeof(line->text))
		return platform_result(line->text);
	fprintf(stderr, "ycsb: a result is longer than %d bytes\n", RESULT_BYTES);
	return -1;
}

static double to_microseconds(int64_t ticks)
{
	return (double)ticks * TICK_NS / 1000;
}

static int report_histogram(const struct client *c, const struct hdr_histogram *latency, unsigned *parts)
{
	struct line line = { 0 };
	struct hdr_iter iter;
	int status = 0;

	*parts = 0;
	hdr_iter_recorded_init(&iter, latency);
	while (hdr_iter_next(&iter)) {
		if (line.length == 0)
			add(&line, "{\"event\":\"histogram\",\"client\":\"%s\",\"part\":%u,\"pairs\":[",
			    c->options->name, ++*parts);
		else
			add(&line, ",");
		add(&line, "%.1f,%lld", to_microseconds(iter.highest_equivalent_value), (long long)iter.count);
		if (line.length + PAIR_BYTES > RESULT_BYTES) {
			add(&line, "]}");
			status |= send_report(&line);
			line.length = 0;
		}
	}
	if (line.length) {
		add(&line, "]}");
		status |= send_report(&line);
	}
	return status;
}

/* Reports when each operation ended. */
static int report_ends(const struct client *c, const struct measurement *m, unsigned *parts)
{
	struct line line = { 0 };
	int status = 0;

	*parts = 0;
	for (uint64_t i = 0; m->ends && i < m->operations; i++) {
		if (line.length == 0)
			add(&line, "{\"event\":\"ends\",\"client\":\"%s\",\"part\":%u,\"us\":[", c->options->name,
			    ++*parts);
		else
			add(&line, ",");
		add(&line, "%.1f", to_microseconds(m->ends[i]));
		if (line.length + PAIR_BYTES > RESULT_BYTES || i + 1 == m->operations) {
			add(&line, "]}");
			status |= send_report(&line);
			line.length = 0;
		}
	}
	return status;
}

int report_gap(const struct client *c, const struct measurement *m, uint64_t end_ns)
{
	struct line line = { 0 };

	add(&line,
	    "{\"event\":\"gap\",\"client\":\"%s\",\"server\":\"%s:%u\",\"start_ns\":%llu,\"end_ns\":%llu,\"lives\":%u}",
	    c->options->name, c->options->host, c->options->port, (unsigned long long)m->gaps.since_ns,
	    (unsigned long long)end_ns, c->life.number + 1);
	return send_report(&line);
}

static int report_timeline(const struct client *c, const struct timeline *t, unsigned *parts)
{
	struct line line = { 0 };
	int status = 0;

	*parts = 0;
	for (unsigned i = 0; i < t->used; i++) {
		if (line.length == 0)
			add(&line, "{\"event\":\"timeline\",\"client\":\"%s\",\"part\":%u,\"counts\":[%u",
			    c->options->name, ++*parts, t->count[i]);
		else
			add(&line, ",%u", t->count[i]);
		if (line.length + PAIR_BYTES > RESULT_BYTES || i + 1 == t->used) {
			add(&line, "]}");
			status |= send_report(&line);
			line.length = 0;
		}
	}
	return status;
}

/* Reports a run that was to survive the loss of its server. */
static int report_survival(const struct client *c, const struct measurement *m)
{
	const struct gaps *g = &m->gaps;
	struct line line = { 0 };
	unsigned parts;
	int status = report_timeline(c, &m->timeline, &parts);

	add(&line,
	    "{\"event\":\"survival\",\"client\":\"%s\",\"gaps\":%u,\"longest_ns\":%llu,\"reads\":%llu,\"updates\":%llu,",
	    c->options->name, g->count, (unsigned long long)g->longest_ns, (unsigned long long)g->reads,
	    (unsigned long long)g->updates);
	add(&line, "\"lives\":%u,\"forgotten\":%llu,\"start_ns\":%llu,\"slot_ns\":%llu,\"timeline_parts\":%u}",
	    c->life.number + 1, (unsigned long long)c->life.forgotten, (unsigned long long)m->timeline.start_ns,
	    (unsigned long long)m->timeline.slot_ns, parts);
	return status | send_report(&line);
}

int report(const struct client *c, const struct measurement *m)
{
	const struct options *o = c->options;
	const double seconds = (double)(m->end_ns - m->start_ns) / 1e9;
	static const struct { const char *name; double percentile; } quantiles[] = {
		{ "p50_us", 50 }, { "p90_us", 90 }, { "p99_us", 99 }, { "p999_us", 99.9 },
	};
	struct line line = { 0 };
	unsigned parts, ends;
	int status = report_histogram(c, m->latency, &parts) | report_ends(c, m, &ends);

	if (o->survive)
		status |= report_survival(c, m);

	add(&line,
	    "{\"event\":\"ycsb\",\"client\":\"%s\",\"server\":\"%s:%u\",\"workload\":\"%s\",\"distribution\":\"%s\",",
	    o->name, o->host, o->port, o->workload->name,
	    o->distribution == DISTRIBUTION_LATEST ? "latest" : o->distribution == DISTRIBUTION_ZIPFIAN ? "zipfian"
												 : "uniform");
	add(&line, "\"records\":%llu,\"value_size\":%llu,\"pipeline\":%u,", (unsigned long long)o->records,
	    (unsigned long long)o->fields * o->field_length, o->pipeline);
	add(&line, "\"operations\":%llu,\"reads\":%llu,\"updates\":%llu,\"errors\":%llu,\"wrong\":%llu,",
	    (unsigned long long)m->operations, (unsigned long long)m->reads, (unsigned long long)m->updates,
	    (unsigned long long)c->errors, (unsigned long long)c->wrong);
	add(&line, "\"seconds\":%.6f,\"ops_per_s\":%.1f,", seconds, seconds > 0 ? (double)m->operations / seconds : 0);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		add(&line, "\"%s\":%.1f,", quantiles[i].name,
		    to_microseconds(m->operations ? hdr_value_at_percentile(m->latency, quantiles[i].percentile) : 0));
	add(&line, "\"max_us\":%.1f,\"mean_us\":%.1f,", (double)m->max_ns / 1e3,
	    m->operations ? (double)m->sum_ns / (double)m->operations / 1e3 : 0);
	add(&line, "\"start_ns\":%llu,\"end_ns\":%llu,", (unsigned long long)m->start_ns,
	    (unsigned long long)m->end_ns);
	add(&line, "\"memory\":{\"used\":%llu,\"resident\":%llu},", (unsigned long long)c->memory.used,
	    (unsigned long long)c->memory.resident);
	if (o->rate)
		add(&line, "\"rate\":%llu,\"arrivals_ns\":%llu,", (unsigned long long)o->rate,
		    (unsigned long long)(m->arrivals.last_ns - m->arrivals.before_ns));
	if (m->ends)
		add(&line, "\"warm\":%llu,\"ends_parts\":%u,", (unsigned long long)o->warm, ends);
	add(&line, "\"load\":{\"records\":%llu,\"seconds\":%.6f},\"histogram_parts\":%u}",
	    (unsigned long long)m->load_records, (double)m->load_ns / 1e9, parts);
	return status | send_report(&line);
}
