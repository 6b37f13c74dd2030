/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last words of a kernel in its ledger (skerry/ledger.h), for a reader that
 * trusts none of them: all numbers are in bounds and the text is printable and
 * terminated, whatever the page holds, and while it changes.
 */
#pragma once

#include <stdbool.h>
#include <skerry/ledger.h>

enum { LEDGER_NO_CORE = 0xffffffff };

struct ledger_words {
	enum ledger_reason reason;
	uint32_t core; /* below the reader's number of cores, or LEDGER_NO_CORE */
	char text[LEDGER_TEXT + 1];
};

/* Returns whether the kernel of `cores` cores said any. */
static inline bool ledger_read_words(const struct ledger_kernel *ledger, uint32_t cores, struct ledger_words *words)
{
	uint32_t state = atomic_load_explicit(&ledger->state, memory_order_acquire);
	if (state != LEDGER_DYING && state != LEDGER_DEAD)
		return false;
	uint32_t reason = atomic_load_explicit(&ledger->reason, memory_order_relaxed);
	uint32_t core = atomic_load_explicit(&ledger->core, memory_order_relaxed);
	words->reason = reason < LEDGER_REASONS ? (enum ledger_reason)reason : LEDGER_UNKNOWN;
	words->core = core < cores ? core : LEDGER_NO_CORE;
	unsigned length = 0;
	for (unsigned w = 0; w < LEDGER_TEXT_WORDS; w++) {
		uint64_t word = atomic_load_explicit(&ledger->text[w], memory_order_relaxed);
		for (unsigned i = 0; i < 8; i++, word >>= 8) {
			unsigned char c = (unsigned char)word;
			words->text[length++] = c == 0 || (c >= 0x20 && c < 0x7f) ? (char)c : '?';
		}
	}
	words->text[length] = 0;
	return true;
}
