/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "pingpong.h"

static void report_stretch(const char *name, const struct stretch *s)
{
	struct text line = LINE;
	text_format(&line, "{\"event\":\"latency\",\"name\":");
	text_json_string(&line, name);
	text_format(&line, ",\"delay\":%lu,\"response\":%lu,\"entries\":%lu}\n", (uint64_t)s->delay,
	            (uint64_t)s->response, (uint64_t)s->wakes);
	output_results(&line);
}

/* Returns the longest hold of a lock of the kernel as a whole, whichever the regime has. */
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
		report_stretch(operations[i].name, &s);
		memory_reset();
	}
	/* a +stat kernel's own opinion, of everything up to now */
	struct text line = LINE;
	text_format(&line, "{\"event\":\"latency-held\",\"longest\":%lu}\n", held_longest());
	output_results(&line);
}
