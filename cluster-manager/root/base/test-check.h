/* SPDX-License-Identifier: BSD-2-Clause */
/* A check that says where and what failed, and lets the test go on. */
#pragma once

#include <stdio.h>

static int failures;

#define CHECK(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                 \
		}                                                                   \
	} while (0)
