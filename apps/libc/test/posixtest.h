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

/* Defines a test of the group `tests`. The linker collects the groups; GCC has a file's last test first. */
#define TEST_OF(tests, id, text)                                                                                 \
	static bool id(void);                                                                                    \
	static const struct test *const tests##_##id __attribute__((section(#tests), used)) =                     \
		&(const struct test){ text, id };                                                                \
	static bool id(void)
#define TEST(id, text)       TEST_OF(layer_tests, id, text)
#define START_TEST(id, text) TEST_OF(start_tests, id, text)

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
