/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosted machines side by side, each the other's cluster, for tests of what passes between two kernels. */
#pragma once

#include <stdint.h>

enum { PAIR_FIRST = 10 }; /* clusters 10 and 11 */

extern struct hosted *pair[2];

/* The machine that the harness speaks to: that of cluster PAIR_FIRST + which; the test's own again. */
void be(unsigned which);
void be_oneself(void);
/* Frees both machines. */
void pair_end(void);
