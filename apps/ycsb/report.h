/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as lines of JSON, each short enough for one message to a manager:
 * some {"event":"histogram"} and, last, the one {"event":"ycsb"} that says how
 * many of them belong to it. A histogram's "pairs" are alternately a latency in
 * microseconds (the highest that its bucket holds) and a count, so that those
 * of several clients can be added and give the exact common percentiles.
 */
#pragma once

#include "phases.h"

/* Returns 0, or -1 when the results could not be handed out. */
int report(const struct client *c, const struct measurement *m);
