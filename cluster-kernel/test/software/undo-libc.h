/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of instrumented sources: the C library's copies are writes, too. */
#pragma once

#include <string.h>

void *undo_memcpy(void *to, const void *from, size_t size);
void *undo_memset(void *to, int byte, size_t size);
#define memcpy undo_memcpy
#define memset undo_memset
