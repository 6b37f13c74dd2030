/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions, for the regime that has them (../lock/rtm.h): the processor's,
 * as in ../arch-x86_64/arch_transaction.h, but none where a sanitizer keeps
 * books of what is then taken back.
 */
#pragma once

#include "rtm-instructions.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static inline const char *arch_no_transactions(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
	__has_feature(thread_sanitizer)
	return "a sanitizer watches";
#else
	return rtm_unusable();
#endif
}
static inline __attribute__((always_inline)) bool arch_transaction_begin(uint32_t *status)
{
	return rtm_xbegin(status);
}
static inline __attribute__((always_inline)) void arch_transaction_end(void) { rtm_xend(); }
#define arch_transaction_abort(code) rtm_xabort(code)
