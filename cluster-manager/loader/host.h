/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's parts on the host, for tests and fuzzers: what panic() says ends the attempt and can be read. */
#pragma once

#include <setjmp.h>

#include "loader.h"

extern jmp_buf host_refused;
extern char host_words[256]; /* what print() or panic() said last */
extern unsigned host_lines;  /* how often */

/* False: `call` died. */
#define HOST_TRY(call) (setjmp(host_refused) == 0 ? ((call), true) : false)

/* Prints a condition that does not hold, with the last output, and counts it. */
extern int host_failures;
void host_check(bool good, const char *what);
#define CHECK(condition) host_check(condition, #condition)
