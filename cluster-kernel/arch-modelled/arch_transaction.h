/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions of a modelled machine, for kernel rtm+model: this stands in the place of arch-x86_64/arch_transaction.h.
 * Marks tell the emulator's plugin where a transaction begins and ends (emulator/modelled/transactions.h). It lets
 * no other core run in between, so that each commits; the time of those that a processor would have aborted is added.
 * So begin never returns false of itself. Without the plugin nothing keeps the cores apart: for modelled machines only.
 *
 * What cannot be taken back is done with the lock. A processor would begin the entry anew with it; here the entry goes
 * on. The lock is free, for it was free at the begin and no other core ran since; none runs until the lock is taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_BEGIN = 1, MODEL_COMMIT, MODEL_LOCK_HELD, MODEL_IRREVOCABLE, MODEL_LOCKED };

/* As MARK() of skerry/mark.h. The kind is the upper half of its number. */
#define MODEL_MARK(kind, argument) \
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, %c0, %c1, 0x4b, 0x53" ::"i"((argument) & 0xff), \
	             "i"(kind) : "memory")

/* Of attempts the plugin is told as many as a byte holds. */
enum { MODEL_ATTEMPTS = RTM_ATTEMPTS < 255 ? RTM_ATTEMPTS : 255 };

static inline const char *arch_no_transactions(void) { return NULL; }
static inline __attribute__((always_inline)) bool arch_transaction_begin(uint32_t *status)
{
	(void)status;
	MODEL_MARK(MODEL_BEGIN, MODEL_ATTEMPTS);
	return true;
}
static inline __attribute__((always_inline)) void arch_transaction_end(void) { MODEL_MARK(MODEL_COMMIT, 0); }

/* In lock/rtm.h, where `cpu` is the core that has the transaction, and rtm_lock() is known where it is needed. */
#define arch_transaction_abort(code)                                                             \
	do {                                                                                     \
		if ((code) == RTM_IRREVOCABLE) {                                                 \
			MODEL_MARK(MODEL_IRREVOCABLE, 0);                                        \
			rtm_lock(cpu);                                                           \
			MODEL_MARK(MODEL_LOCKED, 0);                                             \
		} else {                                                                         \
			MODEL_MARK(MODEL_LOCK_HELD, 0);                                          \
			lock_own(cpu)->status = RTM_EXPLICIT | (uint32_t)(code) << RTM_CODE_SHIFT; \
		}                                                                                \
	} while (0)
