/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs all tests of the section. */
#pragma once

#include <stdint.h>
#include <skerry/format.h>

struct tally {
	uint32_t passed, failed, skipped;
};

void harness_init(void);
/* `emit` takes each line of JSON. */
struct tally harness_run(void (*emit)(const struct text *line));
