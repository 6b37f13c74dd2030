/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's records of counters (skerry/stat.h) on their way to the primary:
 * read from the kernel's pages, sent packed, one of each core, and kept by the
 * primary as they come until all of a cluster are there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/boot.h>
#include <skerry/sample.h>
#include "message.h"

/* Returns the number of this cluster's cores. */
uint32_t record_cores(void);
/* Returns a core's record as it is now; it is valid until the next call. */
const struct core_stat *record_read(uint32_t core);
/* Makes a report of a core's record, without histograms. Returns its size in bytes. */
size_t record_make(struct report_brief *report, uint32_t number, uint32_t core, const struct core_stat *stat);

/* Records of one cluster, as they come. All zero: none has. */
struct records {
	struct boot_cores came; /* cores whose records have */
	struct sample_core *core; /* null until records_open() */
};
/* Makes room for the cluster at this place of the map. False: there is no memory. */
bool records_open(struct records *records, uint32_t place);
/*
 * Takes a report of a core's record, which any manager may have sent. Returns null, or the sender's error. A good one
 * is kept if it is `awaited`; else it is late, and ignored.
 */
const char *records_take(struct records *records, bool awaited, uint32_t place, const struct report_record *report,
                         size_t size);
/* Returns whether all cores' have come. */
bool records_complete(const struct records *records, uint32_t place);
