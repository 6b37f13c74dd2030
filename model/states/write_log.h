/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The write log: each word of the explored machine that is written, with its value before. Going back to a state is
 * undoing the log; the hash of a state is the sum, over the words that differ from the first state, of a mix of address
 * and value (Zobrist 1970), so a transition changes it by the words that it wrote and by no others.
 *
 * The kernel and its hosted port are compiled with the thread sanitizer's instrumentation and linked with
 * cluster-kernel/test/software/hooks.c, which calls transaction_writes() before each write. What is not instrumented
 * writes through log_put().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LOG_ENTRIES = 1 << 20 };

struct log_entry {
	uint64_t *at, before;
};
extern struct log_entry log_entry[LOG_ENTRIES];
extern unsigned log_count;

/* Writes to these bytes are logged from now on; addresses and sizes are multiples of 8. At most 4 ranges. */
void log_range(void *start, size_t size);
/* Logs the words that hold the bytes, before they are written. Ends the program where the log is full. */
void log_write(const volatile void *address, size_t size);
/* Undoes the newest writes until `count` are left. */
void log_undo(unsigned count);
/* Returns what the writes from the `count`th on have added to the hash of the state; 64 bits, modulo 2^64. */
uint64_t log_hash(unsigned count);
uint64_t log_mix(uint64_t address, uint64_t value);

static inline void log_put(void *at, uint64_t value)
{
	uint64_t *word = at;
	if (*word == value)
		return;
	log_write(word, sizeof(*word));
	*word = value;
}
/* A field of any integer type. */
#define LOG_SET(field, value)                                   \
	do {                                                    \
		if ((field) != (value)) {                       \
			log_write(&(field), sizeof(field));     \
			(field) = (value);                      \
		}                                               \
	} while (0)
void log_zero(void *at, size_t size);
