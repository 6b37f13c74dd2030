/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A test ends at its first failed check. */
#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);          \
			return false;                                                     \
		}                                                                         \
	} while (0)

struct test {
	const char *name;
	bool (*run)(void);
};

extern const struct test memory_tests[], thread_tests[], file_tests[], poll_tests[], clock_tests[], string_tests[],
	malloc_tests[], protect_tests[], cancel_tests[], direct_tests[], direct_cancel_tests[], socketpair_tests[],
	signal_tests[], start_tests[];

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
