/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdint.h>
#include "string.h"
#include "text.h"

void text_bytes(struct text *t, const char *bytes, size_t length)
{
	size_t room = t->size - t->length;
	if (length > room) {
		length = room;
		t->truncated = true;
	}
	memcpy(t->data + t->length, bytes, length);
	t->length += length;
}

static void text_number(struct text *t, uint64_t value, unsigned base)
{
	char digits[20];
	size_t at = sizeof(digits);
	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	text_bytes(t, digits + at, sizeof(digits) - at);
}

static void text_signed(struct text *t, int64_t value)
{
	if (value < 0)
		text_bytes(t, "-", 1);
	text_number(t, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

void text_vformat(struct text *t, const char *format, va_list arguments)
{
	for (const char *p = format; *p; p++) {
		if (*p != '%') {
			text_bytes(t, p, 1);
			continue;
		}
		bool wide = *++p == 'l';
		if (wide)
			p++;
		switch (*p) {
		case 's': {
			const char *s = va_arg(arguments, const char *);
			text_bytes(t, s, strlen(s));
			break;
		}
		case 'c': {
			char c = (char)va_arg(arguments, int);
			text_bytes(t, &c, 1);
			break;
		}
		case 'd':
			text_signed(t, wide ? va_arg(arguments, long) : va_arg(arguments, int));
			break;
		case 'u':
		case 'x':
			text_number(t, wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned),
				    *p == 'x' ? 16 : 10);
			break;
		case '%':
			text_bytes(t, p, 1);
			break;
		default: /* a format this function does not know: the compiler warns, here it ends */
			return;
		}
	}
}

void text_format(struct text *t, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	text_vformat(t, format, arguments);
	va_end(arguments);
}

void text_json_string(struct text *t, const char *s)
{
	text_bytes(t, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			text_format(t, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			text_format(t, "\\u00%c%c", "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]);
		else
			text_bytes(t, s, 1);
	}
	text_bytes(t, "\"", 1);
}
