/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of instrumented sources: the C library's copies are accesses, too, and what a function requires is checked
 * (skerry/require.h). */
#pragma once

#include <string.h>

void *explore_memcpy(void *to, const void *from, size_t size);
void *explore_memset(void *to, int byte, size_t size);
#define memcpy explore_memcpy
#define memset explore_memset

_Noreturn void explore_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define require(condition) ((condition) ? (void)0 : explore_fail("%s:%d: required: %s", __FILE__, __LINE__, #condition))
