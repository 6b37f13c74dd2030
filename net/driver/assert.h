/* SPDX-License-Identifier: BSD-2-Clause */
/* Preconditions of the drivers' functions: checked in host tests, nothing in the machine. */
#pragma once

#ifdef NET_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>

#define driver_assert(condition)                                                                        \
	do {                                                                                            \
		if (!(condition)) {                                                                     \
			fprintf(stderr, "%s:%d: asserted: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                        \
		}                                                                                       \
	} while (0)
#else
#define driver_assert(condition) ((void)0)
#endif
