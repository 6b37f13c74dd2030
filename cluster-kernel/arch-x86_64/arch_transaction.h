/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions, for the regime that has them (../lock/rtm.h): the processor's. */
#pragma once

#include "rtm-instructions.h"

/* Null where there are some, else why not. */
static inline const char *arch_no_transactions(void) { return rtm_unusable(); }
/* As rtm_xbegin(). */
static inline __attribute__((always_inline)) bool arch_transaction_begin(uint32_t *status)
{
	return rtm_xbegin(status);
}
static inline __attribute__((always_inline)) void arch_transaction_end(void) { rtm_xend(); }
/* Aborts the running transaction; its begin returns this constant in bits 31:24 of the status. In a transaction
 * only. */
#define arch_transaction_abort(code) rtm_xabort(code)
