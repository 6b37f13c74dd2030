/* SPDX-License-Identifier: BSD-2-Clause */
#include "latency.h"
#include "output.h"

static void report(const char *name, const struct stretch *s)
{
	struct text line = { 0 };
	text_string(&line, "{\"event\":\"latency\",\"name\":");
	text_json(&line, name);
	text_string(&line, ",\"delay\":");
	text_number(&line, s->delay);
	text_string(&line, ",\"response\":");
	text_number(&line, s->response);
	text_string(&line, ",\"entries\":");
	text_number(&line, s->wakes);
	text_string(&line, "}\n");
	output_results(line.bytes, line.length);
}

/* Of the locks of the kernel as a whole, whichever its regime has. */
static uint64_t held_longest(void)
{
	uint64_t longest = 0;
	for (unsigned i = LOCK_CLASS_KERNEL; i <= LOCK_CLASS_WRITE; i++)
		if (STAT->lock[i].hold_max > longest)
			longest = STAT->lock[i].hold_max;
	return longest;
}

void latency_measure(void)
{
	for (unsigned i = 0; i < operation_count; i++) {
		watch_init();
		operations[i].prepare();
		struct stretch s = watch_run(operations[i].run);
		report(operations[i].name, &s);
		memory_reset();
	}
	/* a +stat kernel's own opinion, of everything up to now */
	struct text line = { 0 };
	text_string(&line, "{\"event\":\"latency-held\",\"longest\":");
	text_number(&line, held_longest());
	text_string(&line, "}\n");
	output_results(line.bytes, line.length);
}
