/* SPDX-License-Identifier: BSD-2-Clause */
/* HdrHistogram asks for its allocator by this name; Redis's copy of it comes without one. */
#pragma once

#include <stdlib.h>

#define hdr_malloc malloc
#define hdr_calloc calloc
#define hdr_realloc realloc
#define hdr_free free
