/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of numbers: the executions that were seen, by memory_identity(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Adds it; false when it was there. */
bool seen_first(uint64_t identity);
void seen_clear(void);
