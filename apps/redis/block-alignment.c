/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No type of which Redis, hiredis or Lua has objects in blocks needs more than 8 bytes of alignment, and GCC expects no
 * more of malloc() on x86-64. A field of a hash with a value of 100 bytes takes 136 bytes with that, else 152: an entry
 * of 24, a name of 8, a value of 104.
 */
#include <skerry/malloc.h>

const size_t malloc_alignment = 8;
