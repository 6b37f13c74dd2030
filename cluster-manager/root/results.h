/* SPDX-License-Identifier: BSD-2-Clause */
/* The results port: one JSON object per line. Only the primary has it. */
#pragma once

#include <stdint.h>
#include "text.h"

void results_init(void);

/* {"event":"NAME", open for more fields, each of which begins with its comma. */
struct text *results_begin(const char *event);
void results_application(struct text *t, uint32_t application); /* ,"app":..,"cluster":..,"cpu":.. */

/* Ends the line and writes it. */
void results_end(struct text *t);
/* Ends the line and keeps it until results_flush(), so that writing does not disturb what is being measured. */
void results_keep(struct text *t);
void results_flush(void);
