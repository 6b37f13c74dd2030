/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

struct sink {
	char *at, *end;
};

static void put(struct sink *s, char c)
{
	if (s->at < s->end)
		*s->at++ = c;
}

static void put_number(struct sink *s, uint64_t value, unsigned radix, unsigned width)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % radix];
	while ((value /= radix) != 0);
	for (; width > n; width--)
		put(s, '0');
	while (n > 0)
		put(s, digits[--n]);
}

void text_format(char *out, size_t size, const char *format, va_list args)
{
	struct sink s = { out, out + size - 1 };

	for (const char *f = format; *f != '\0'; f++) {
		if (*f != '%') {
			put(&s, *f);
			continue;
		}
		unsigned width = 0;
		bool is_long = false;
		for (f++; *f >= '0' && *f <= '9'; f++)
			width = width * 10 + (unsigned)(*f - '0');
		if (*f == 'l') {
			is_long = true;
			f++;
		}
		if (*f == '\0')
			break;
		if (*f == 's') {
			for (const char *p = va_arg(args, const char *); *p != '\0'; p++)
				put(&s, *p);
		} else if (*f == 'c') {
			put(&s, (char)va_arg(args, int));
		} else if (*f == 'u' || *f == 'x') {
			uint64_t value = is_long ? va_arg(args, unsigned long) : va_arg(args, unsigned);
			put_number(&s, value, *f == 'u' ? 10 : 16, width);
		} else {
			put(&s, *f);
		}
	}
	*s.at = '\0';
}

bool refuse(struct refusal *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_format(why->text, sizeof why->text, format, args);
	va_end(args);
	/* names come from the map: keep the refusal one readable line */
	for (char *p = why->text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	return false;
}
