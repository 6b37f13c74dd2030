/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alignment of what malloc(), calloc() and realloc() give, in bytes, of more than 8 bytes: 16, as the ABI of x86-64
 * asks for. A program may define it as 8 if none of its types needs more: its blocks of 17 to 128 bytes then are
 * multiples of 8 bytes long, in place of 16. aligned_alloc() gives what it is asked for in either case.
 */
#pragma once

#include <stddef.h>

extern const size_t malloc_alignment; /* 8 or 16 */
