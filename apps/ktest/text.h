/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that is put together piece by piece; what does not fit is left out. */
#pragma once

#include <stdint.h>

struct text {
	unsigned length;
	char bytes[400];
};

void text_put(struct text *text, char c);
void text_string(struct text *text, const char *string);
void text_number(struct text *text, uint64_t number);
void text_hex(struct text *text, uint64_t number);
/* In quotes, escaped as JSON asks. */
void text_json(struct text *text, const char *string);
