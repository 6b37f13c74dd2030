/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of the hosted port's: transactions in software (transaction.h). */
#pragma once

#include "transaction.h"

static inline const char *arch_no_transactions(void) { return transaction_none(); }
static inline bool arch_transaction_begin(uint32_t *status) { return transaction_begin(status); }
static inline void arch_transaction_end(void) { transaction_end(); }
#define arch_transaction_abort(code) transaction_abort((uint32_t)(code) << 24 | TRANSACTION_EXPLICIT)
