/* SPDX-License-Identifier: BSD-2-Clause */
/* The phases of a run; between them main.c lets all clients meet. */
#pragma once

#include <stdint.h>

#include "options.h"
#include "redis.h"

struct hdr_histogram;

/* The histogram counts latencies in ticks: at 2 significant digits fine enough for a core that answers in 5 us. */
enum { TICK_NS = 100, HISTOGRAM_DIGITS = 2 };

struct measurement {
	struct hdr_histogram *latency; /* ticks */
	uint64_t operations; /* answered, whatever the answer */
	uint64_t reads;
	uint64_t updates;
	uint64_t start_ns;   /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t load_records;
	uint64_t load_ns;
};

bool measurement_init(struct measurement *m);
void phase_load(struct client *c, struct measurement *m);
void phase_run(struct client *c, struct measurement *m);
void phase_expect(struct client *c);
void phase_memory(struct client *c);
