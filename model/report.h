/* SPDX-License-Identifier: BSD-2-Clause */
/* What a person sees of a failing execution. */
#pragma once

#include <stdint.h>
#include "atomics.h"

/* A name for an address; valid until the fourth call after. */
const char *report_place(uint64_t address);
/* Function, file and line. */
const char *report_code(const void *code);

void report_start(void);
/* An atomic access was made. */
void report_step(unsigned thread, const struct op *op, write_name choice, const void *code);
void report_print(void);
