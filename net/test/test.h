/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the network's host tests. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

/* lwIP's failed assertions, in tests without net/lwip/platform.c. */
__attribute__((weak)) _Noreturn void net_assertion(const char *text, const char *file, int line)
{
	fprintf(stderr, "lwIP: %s (%s:%d)\n", text, file, line);
	abort();
}
