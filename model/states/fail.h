/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Prints one line and ends the process by abort(), as the kernel's own checks do. In a worker this is a find
 * (search.h).
 */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the caller promises (skerry/require.h, whose <assert.h> the kernel has its own of). */
#define require(condition) ((condition) ? (void)0 : fail("%s:%d: required: %s", __FILE__, __LINE__, #condition))
