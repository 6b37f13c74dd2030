/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as lines of JSON, each short enough for one message to a manager:
 * some {"event":"histogram"} and, last, the one {"event":"ycsb"} that says how
 * many of them belong to it. A histogram's "pairs" are alternately a latency in
 * microseconds (the highest that its bucket holds) and a count, so that those
 * of several clients can be added and give the exact common percentiles.
 *
 * A client that survives the loss of its server (--survive) also hands out some
 * {"event":"timeline"}, answers in slots of "slot_ns", and one
 * {"event":"survival"}: how often the server was lost, for how long at most,
 * how many operations went without an answer, and in how many lives it was.
 */
#pragma once

#include "phases.h"

/* Returns 0, or -1 when the results could not be handed out. */
/* A gap that ends now, at once: {"event":"gap"} with the time of its begin and its end on the clock of "start_ns". */
int report_gap(const struct client *c, const struct measurement *m, uint64_t end_ns);
int report(const struct client *c, const struct measurement *m);
