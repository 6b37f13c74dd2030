/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A path in a file, a line each: `regime NAME`, `theme NAME`, `cores N`, `budget N`, `pairs 0|1`, then the steps: core,
 * operation, and `[part]` where the step is a part of it (step.h). Lines that begin with # are comments.
 */
#pragma once

#include <stdbool.h>
#include "search.h"

struct record {
	char regime[32];
	const struct theme *theme;
	unsigned cores, budget;
	bool pairs;
	unsigned steps;
	struct step step[SEARCH_PATH_MAX];
};

/* Returns false where the file cannot be written; errno says why. */
bool record_write(const char *path, const struct record *record);
/* Prints one line and ends the program with status 2 where the file is no such file. */
void record_read(const char *path, struct record *record);
void record_print_step(void *stream, const struct step *step);
