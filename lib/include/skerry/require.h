/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a function requires of its caller. Checked where the code is built for the
 * host, for tests and fuzzers; freestanding images have no instruction of it.
 */
#pragma once

#if __STDC_HOSTED__
#include <assert.h>
#define require(condition) assert(condition)
#else
#define require(condition) ((void)sizeof(condition))
#endif
