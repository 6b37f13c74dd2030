/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "report.h"

/* All cores' counters now. */
void stats_take(uint32_t when, struct report_stats *stats);
/* Sends what stats_take() took to the primary. */
void stats_report(const struct report_stats *stats);
/* The primary: a line of results of it. */
void stats_publish(uint32_t cluster, const struct report_stats *stats);

/* The cluster's memory, to the primary. `given` has the bytes each application was given. */
void memory_report(void);
void memory_publish(uint32_t cluster, const struct report_memory *memory);
