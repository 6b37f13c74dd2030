/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences between a host process and a program on Skerry. Calls return 0, or -1 after a line on stderr. */
#pragma once

#include "options.h"

/* Completes `name` and `writer` where the options left them open. */
void platform_identify(struct options *options);

/* Waits until the application of --await serves. */
int platform_await(const struct options *options);

/* Waits until every client of the run has arrived at barrier `number`, 1.. */
int platform_barrier(const struct options *options, unsigned number);

/* Hands out one JSON object, at most RESULT_BYTES long. */
enum { RESULT_BYTES = 900 };
int platform_result(const char *json);
