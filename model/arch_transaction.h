/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In front of the hosted port's: transactions that all abort, by a conflict. So
 * the explorer sees how rtm waits beside the lock, and the lock behind it; of
 * what transactions do to each other it sees nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "explore.h"

static inline const char *arch_no_transactions(void) { return 0; }
static inline bool arch_transaction_begin(uint32_t *status)
{
	*status = 6; /* conflict, retry */
	return false;
}
static inline void arch_transaction_end(void) { explore_fail("a transaction ends that never began"); }
#define arch_transaction_abort(code) explore_fail("a transaction aborts that never began: %u", (unsigned)(code))
