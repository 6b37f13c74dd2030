/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/format.h>
#include <stdint.h>
#include <string.h>

enum { DIGITS = 20, WIDTH_MAX = 20 }; /* of 2^64 - 1 */

void text_bytes(struct text *text, const char *bytes, size_t length)
{
	size_t room = text->size - text->length;
	if (length > room) {
		length = room;
		text->truncated = true;
	}
	memcpy(text->data + text->length, bytes, length);
	text->length += length;
}

void text_put(void *text, const char *bytes, size_t length) { text_bytes(text, bytes, length); }

void text_vformat(struct text *text, const char *format, va_list arguments)
{
	const struct format_sink sink = { .put = text_put, .to = text };
	format_to(&sink, format, arguments);
}

void text_format(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	text_vformat(text, format, arguments);
	va_end(arguments);
}

static void sink_put(const struct format_sink *sink, const char *bytes, size_t size)
{
	sink->put(sink->to, bytes, size);
}

/* Puts foreign text, in which nothing may end the line or move a cursor if the sink forbids it. */
static void put_foreign(const struct format_sink *sink, const char *bytes, size_t size)
{
	for (size_t i = 0; sink->printable && i < size; i++)
		sink_put(sink, bytes[i] < ' ' || bytes[i] > '~' ? "?" : &bytes[i], 1);
	if (!sink->printable)
		sink_put(sink, bytes, size);
}

static void put_string(const struct format_sink *sink, const char *string)
{
	size_t length = strlen(string);
	if (!sink->longest || length <= sink->longest) {
		put_foreign(sink, string, length);
		return;
	}
	put_foreign(sink, string, sink->longest < 2 ? 0 : sink->longest - 2);
	sink_put(sink, "..", 2);
}

static void put_number(const struct format_sink *sink, uint64_t value, unsigned base, unsigned width, bool negative)
{
	char text[DIGITS + 1];
	size_t at = sizeof(text);
	do {
		text[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (at > 1 && sizeof(text) - at < width)
		text[--at] = '0';
	if (negative)
		text[--at] = '-';
	sink_put(sink, text + at, sizeof(text) - at);
}

void format_to(const struct format_sink *sink, const char *format, va_list arguments)
{
	for (const char *f = format; *f; f++) {
		unsigned width = 0;
		size_t plain = 0;
		while (f[plain] && f[plain] != '%')
			plain++;
		if (plain) {
			sink_put(sink, f, plain);
			f += plain - 1;
			continue;
		}
		for (f++; *f >= '0' && *f <= '9'; f++)
			width = width < WIDTH_MAX ? width * 10 + (unsigned)(*f - '0') : WIDTH_MAX;
		bool wide = *f == 'l';
		f += wide;
		if (*f == 's') {
			put_string(sink, va_arg(arguments, const char *));
		} else if (*f == 'c') {
			char c = (char)va_arg(arguments, int);
			put_foreign(sink, &c, 1);
		} else if (*f == 'd') {
			int64_t value = wide ? va_arg(arguments, long) : va_arg(arguments, int);
			put_number(sink, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, width, value < 0);
		} else if (*f == 'u' || *f == 'x') {
			uint64_t value = wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned);
			put_number(sink, value, *f == 'x' ? 16 : 10, width, false);
		} else if (*f == '%') {
			sink_put(sink, f, 1);
		} else {
			return;
		}
	}
}

void text_json_string(struct text *text, const char *string)
{
	text_bytes(text, "\"", 1);
	for (; *string; string++) {
		unsigned char c = (unsigned char)*string;
		if (c == '"' || c == '\\')
			text_format(text, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			text_format(text, "\\u00%c%c", "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]);
		else
			text_bytes(text, string, 1);
	}
	text_bytes(text, "\"", 1);
}
