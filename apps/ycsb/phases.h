/* SPDX-License-Identifier: BSD-2-Clause */
/* The phases of a run; between them main.c lets all clients meet. */
#pragma once

#include <stdint.h>

#include "options.h"
#include "redis.h"
#include "timeline.h"

struct hdr_histogram;

/* The histogram counts latencies in ticks: at 2 significant digits fine enough for a core that answers in 5 us. */
enum { TICK_NS = 100, HISTOGRAM_DIGITS = 2 };

/* While the server was lost; see life.h. A gap lasts from the last answer before the loss to the first one after it. */
struct gaps {
	unsigned count;
	uint64_t longest_ns;
	uint64_t reads, updates; /* unanswered: an update may have been carried out or not */
	uint64_t since_ns;       /* of the gap that has not ended; 0: there is none */
};

/* With --rate: when the last operation before the measured ones (or the run) began, and the last of them. */
struct arrivals_span {
	uint64_t before_ns, last_ns;
};

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
	uint64_t answered_ns; /* the last answer */
	struct gaps gaps;
	struct arrivals_span arrivals;
	uint32_t *ends; /* of each operation, in ticks since start_ns; NULL: not reported */
	struct timeline timeline; /* of a run that survives the loss of its server */
};

bool measurement_init(struct measurement *m);
void phase_load(struct client *c, struct measurement *m);
/* Some reads that do not count: before the time is taken, the code of a read has run, here and in the server, and the
 * server has fitted its reply buffer to a read's answer. */
void phase_warm(struct client *c, struct measurement *m);
void phase_run(struct client *c, struct measurement *m);
void phase_expect(struct client *c);
void phase_memory(struct client *c);
