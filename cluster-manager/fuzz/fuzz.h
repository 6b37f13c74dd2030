/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the fuzz targets of loader and managers. Each is one file with a LLVMFuzzerTestOneInput(). */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "replay.h"

/* An invariant of accepted input. */
#define MUST(condition)                                                                     \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "fuzz: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                            \
		}                                                                           \
	} while (0)

/* A copy of exactly its size, so that a read past it is seen; its address is aligned to 8. */
void *fuzz_copy(const uint8_t *data, size_t size);
