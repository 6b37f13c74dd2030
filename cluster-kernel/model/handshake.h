/* SPDX-License-Identifier: BSD-2-Clause */
/* What manager/side.c is compiled with. */
#pragma once

#include <stddef.h>

/* Of shared memory, word by word and atomically, as a peer sees it. */
void *shared_memset(void *memory, int byte, size_t size);
