/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

void text_put(struct text *text, char c)
{
	if (text->length < sizeof(text->bytes) - 1)
		text->bytes[text->length++] = c;
	text->bytes[text->length] = 0;
}

void text_string(struct text *text, const char *string)
{
	while (*string)
		text_put(text, *string++);
}

static void number(struct text *text, uint64_t value, unsigned base)
{
	char digits[20];
	unsigned n = 0;
	do
		digits[n++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (n)
		text_put(text, digits[--n]);
}

void text_number(struct text *text, uint64_t value) { number(text, value, 10); }

void text_hex(struct text *text, uint64_t value)
{
	text_string(text, "0x");
	number(text, value, 16);
}

void text_json(struct text *text, const char *string)
{
	text_put(text, '"');
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			text_put(text, '\\');
		text_put(text, *string < ' ' ? ' ' : *string);
	}
	text_put(text, '"');
}
