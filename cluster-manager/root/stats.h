/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "report.h"

/* Reads all cores' records now. */
void stats_take(uint32_t when);
/* Sends what stats_take() took to the primary. */
void stats_report(void);
/* The primary: a line of results of each. */
void stats_publish(uint32_t cluster, const struct report_stats *stats);
void locks_publish(uint32_t cluster, const struct report_locks *locks);

/* The cluster's memory, to the primary. `given` has the bytes each application was given. */
void memory_report(void);
void memory_publish(uint32_t cluster, const struct report_memory *memory);
