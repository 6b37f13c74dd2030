/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of instrumented sources: the C library's copies are accesses, too. */
#pragma once

#include <string.h>

void *explore_memcpy(void *to, const void *from, size_t size);
void *explore_memset(void *to, int byte, size_t size);
#define memcpy explore_memcpy
#define memset explore_memset
