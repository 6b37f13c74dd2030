/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of all clusters, for a program that asks (skerry/sample.h). Without a request nothing is counted or
 * sent. The primary orders, every cluster reports, and the asker is answered when all have that live, or after a
 * second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "message.h"

/* Once, before anything is put into the mailbox: makes room there for a sample of the largest cluster. */
void sample_begin(void);
/* The primary: 0 when what it has is fresh; 1 when the caller is to wait for WAIT_SAMPLE; or an error. */
int sample_ask(void);
/* At every wake-up of the primary's service loop: requests that have waited for long enough are answered. */
void sample_tick(void);
/* A record of the last sample in *record and *size, or an error. It holds until the next call or report. */
int sample_read(uint64_t kind, uint64_t index, uint64_t core, const void **record, size_t *size);

/* Any cluster: reports what it counts, as the order of this number wants it. */
void sample_report(uint32_t number);
/* The primary: what a cluster reports; `place` is the cluster's in the map. Null, or what it did wrong. */
const char *sample_core_came(uint32_t place, const struct report_record *report, size_t size);
void sample_came(uint32_t place, const struct report_sample *report);
/* Bytes an application was given, as its manager says. */
void sample_memory(uint32_t application, uint64_t bytes);
