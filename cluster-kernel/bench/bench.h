/* SPDX-License-Identifier: BSD-2-Clause */
/* The benchmarks of one regime; each prints one line of JSON and returns the program's exit status. */
#pragma once

#include "team.h"

int bench_idle(struct options *options);      /* an idle lock */
int bench_contended(struct options *options); /* threads that want the same lock */
int bench_ipc(struct options *options);       /* calls and answers on one core */
int bench_scale(struct options *options);     /* the same on each core, independently */

/* Opens the line: the regime, and whether the host let the threads run. */
void bench_begin(const struct team *team);
/* Zeroed, and there: no page fault falls into what is measured. Ends the program where there is no memory. */
void *bench_array(uint64_t count, uint64_t size);
