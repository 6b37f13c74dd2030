/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "message.h"

/* Reads all cores' records now. */
void stats_take(uint32_t when);
/* Sends what stats_take() took to the primary. */
void stats_report(void);
/*
 * The primary: what the cluster at `place` of the map reports; a line of results when its cores' records are complete,
 * and one of their sum. They return null, or what the sender did wrong.
 */
const char *stats_core_came(uint32_t place, const struct report_record *report, size_t size);
const char *stats_publish(uint32_t place, const struct report_stats *stats);
const char *locks_publish(uint32_t place, const struct report_record *report, size_t words);

/* The cluster's memory and that of its applications, to the primary, in as many messages as these need. */
void memory_report(void);
/* The primary: a line of results for each of these messages. */
void memory_publish(uint32_t cluster, const struct report_memory *memory);
