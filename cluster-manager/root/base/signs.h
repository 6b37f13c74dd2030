/* SPDX-License-Identifier: BSD-2-Clause */
/* This manager's signs of life in its cluster's ledger (skerry/ledger.h). No system calls; nothing where there is no
 * ledger. */
#pragma once

#include <stdbool.h>

/* The main loop begins: from now on the signs below are expected. */
void signs_begin(void);
/* Returns whether they were overwritten: within this cluster, since no other can. */
bool signs_are_spoilt(void);
/* The main thread has got on: a pass of its loop, or a bounded piece of work within one. */
void sign_pass(void);
/* The timer thread has. */
void sign_tick(void);
