/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a function requires of its caller. Checked where the code is built for the
 * host, for tests and fuzzers. Images have no instruction of it: they are
 * freestanding, or built with NDEBUG. The explorer of interleavings has a
 * require() of its own (model/explore-libc.h).
 */
#pragma once

#if defined(require)
#elif __STDC_HOSTED__ && !defined(NDEBUG)
#include <assert.h>
#define require(condition) assert(condition)
#else
#define require(condition) ((void)sizeof(condition))
#endif
