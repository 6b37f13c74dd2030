/* SPDX-License-Identifier: BSD-2-Clause */
/* In this library, which is not optimised as one unit with malloc(): a program may define it otherwise. */
#include <skerry/malloc.h>

const size_t malloc_alignment = 16;
