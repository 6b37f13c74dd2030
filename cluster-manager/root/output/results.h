/* SPDX-License-Identifier: BSD-2-Clause */
/* The results port: one JSON object per line. Only the primary has it. */
#pragma once

#include <stdint.h>
#include <skerry/format.h>

/* Waits, where results share the console with other kernels, until those have said their first lines. Called once. */
void results_init(void);

/* {"event":"NAME", open for more fields, each of which begins with its comma. */
struct text *results_begin(const char *event);
void results_application(struct text *t, uint32_t application); /* ,"app":..,"cluster":..,"cpu":.. */

/* Ends the line and writes it. */
void results_end(struct text *t);
/* Ends the line and keeps it until results_flush(), so that writing does not disturb what is being measured. */
void results_keep(struct text *t);
/* Writes the lines that were kept. */
void results_flush(void);
