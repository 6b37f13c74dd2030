/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions in software, for hosted machines whose cores take turns: so
 * that what regime rtm makes of aborts is seen on processors without RTM. The
 * kernel's sources are compiled with the thread sanitizer's instrumentation,
 * but linked with hooks.c in place of its library, which sees all they write.
 *
 * A transaction is alone: no other core goes on before its end. When it aborts,
 * memory, registers and the stack are as they were. It may abort where it
 * begins and ends, at each write, and where it reads the time. What hardware
 * would abort for (devices, other cores, waiting) panics: the kernel is to leave
 * the transaction before, by kernel_irrevocable(). How transactions meet in a
 * cache is not shown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum transaction_place { TRANSACTION_BEGINS, TRANSACTION_WRITES, TRANSACTION_READS_TIME, TRANSACTION_ENDS };

/* Abort statuses (Intel SDM volume 1, table 16-1), and in place of one: the transaction goes on. */
enum { TRANSACTION_EXPLICIT = 1, TRANSACTION_RETRY = 2, TRANSACTION_CONFLICT = 4, TRANSACTION_CAPACITY = 8,
       TRANSACTION_DEBUG = 16, TRANSACTION_NESTED = 32 };
#define TRANSACTION_GOES_ON 0xffffffffu

/* Writes that one transaction may make; more abort it with status CAPACITY. */
enum { TRANSACTION_WRITES_MAX = 8192 };

/* Says where transactions abort, and why; null (at first): drawn, most of them commit. */
extern uint32_t (*transaction_aborts)(enum transaction_place place);
/* Called at each turn of a waiting loop; null: nothing. */
extern void (*transaction_waits)(void);
/* Of all machines, since the program's start. */
extern struct transaction_count {
	uint64_t begun, committed, aborted;
} transaction_count;

/* For the kernel: see rtm-instructions.h. After an abort other cores may go on first. */
const char *transaction_none(void);
bool transaction_begin(uint32_t *status);
void transaction_end(void);
_Noreturn void transaction_abort(uint32_t status);

/* For hooks.c: `size` bytes are about to be written. */
void transaction_writes(void *address, size_t size);
