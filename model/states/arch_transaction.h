/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of the hosted port's: no transactions, for a processor may abort any, and the search repeats its steps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline const char *arch_no_transactions(void) { return "states are explored"; }
static inline bool arch_transaction_begin(uint32_t *status)
{
	*status = 0;
	return false;
}
static inline void arch_transaction_end(void) {}
#define arch_transaction_abort(code) ((void)(code))
