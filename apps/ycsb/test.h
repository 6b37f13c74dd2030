/* SPDX-License-Identifier: BSD-2-Clause */
/* The least that a unit test needs. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...)                                                        \
	do {                                                                         \
		if (!(condition)) {                                                  \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);                                \
			fputc('\n', stderr);                                         \
			exit(1);                                                     \
		}                                                                    \
	} while (0)
