/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records whose every value proves itself. A field's value is a stamp (its writer, and that client's sequence number)
 * in 16 hexadecimal digits, followed by characters that only this record, field and stamp give. So any client can check
 * any value without knowing the last writer: a value of another record or field, a mixture of two, or a damaged one
 * does not pass.
 *
 * Age is checked as well, by what this client has already seen of the field: a server with one copy never shows an
 * older value of the same writer again, nor the loaded one after an update.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STAMP_DIGITS = 16, KEY_SIZE = 32, FIELD_NAME_SIZE = 16, WRITER_SHIFT = 52 };

/* Writer in the upper 12 bits (0: the loader), sequence below. */
#define STAMP_LOADED 0ull
#define STAMP_UNSEEN UINT64_MAX
uint64_t stamp_make(unsigned writer, uint64_t sequence);

/* `number` in decimal digits; no terminating zero. Returns how many, at most 20. */
size_t decimal(char *to, uint64_t number);

/* "user" and YCSB's hash of the record's number. Returns the length. */
size_t record_key(char key[KEY_SIZE], uint64_t record);

/* length >= 24; no terminating zero is written. */
void record_value(char *value, size_t length, uint64_t record, unsigned field, uint64_t stamp);

/* True when it is a value that some writer made for this field; `*stamp` is then its stamp. */
bool record_check(const char *value, size_t length, size_t expected_length, uint64_t record, unsigned field,
		  uint64_t *stamp);

/* May `stamp` follow `seen` (the last of this field that was seen or written)? */
bool stamp_may_follow(uint64_t stamp, uint64_t seen);
