/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contracts that run, of all that is not the kernel (which has core/assert.h). The build chooses what require(e) is:
 *
 *     release images     nothing: the expression must compile, and the code is the same as without it
 *     debug images       built with SKERRY_DEBUG: an expression that is false calls require_failed(), which each kind
 *                        of program defines: one line with file, line and expression, then the program's end
 *     hosted tests, fuzzers    assert()
 *
 * An expression takes constant time and has no effect. It may state what the caller or this code promises, never what a
 * peer, a device or a file decides: such input is checked where it comes in, in all builds. The explorer of
 * interleavings has a require() of its own (model/explore-libc.h).
 */
#pragma once

#if defined(require)
#elif defined(SKERRY_DEBUG)
/* `what` has the place and the expression. */
_Noreturn void require_failed(const char *what);
#define REQUIRE_TEXT(line)          #line
#define REQUIRE_PLACE(file, line)   file ":" REQUIRE_TEXT(line)
#define require(condition) \
	((condition) ? (void)0 : require_failed(REQUIRE_PLACE(__FILE__, __LINE__) ": assertion failed: " #condition))
#elif __STDC_HOSTED__ && !defined(NDEBUG)
#include <assert.h>
#define require(condition) assert(condition)
#else
#define require(condition) ((void)sizeof(!(condition)))
#endif
