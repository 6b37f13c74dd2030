/* SPDX-License-Identifier: BSD-2-Clause */
/* Text from numbers and strings, where stdio cannot be used (skerry/posix.h). */
#include <string.h>
#include "layer.h"

static char *put_number(char *end, unsigned long value, unsigned base)
{
	do
		*--end = "0123456789abcdef"[value % base];
	while (value /= base);
	return end;
}

size_t format_text(char *to, size_t room, const char *format, va_list args)
{
	char digits[24];
	size_t length = 0;

	for (const char *f = format; *f; f++) {
		const char *piece = f;
		size_t size = 1;
		if (*f == '%') {
			char *end = digits + sizeof(digits);
			bool wide = f[1] == 'l';
			f += wide ? 2 : 1;
			if (*f == 's') {
				piece = va_arg(args, const char *);
				size = strlen(piece);
			} else if (*f == 'c') {
				*--end = (char)va_arg(args, int);
			} else if (*f == 'd') {
				long value = wide ? va_arg(args, long) : va_arg(args, int);
				end = put_number(end, value < 0 ? 0ul - (unsigned long)value : (unsigned long)value, 10);
				if (value < 0)
					*--end = '-';
			} else {
				unsigned long value = wide ? va_arg(args, unsigned long) : va_arg(args, unsigned);
				end = put_number(end, value, *f == 'x' ? 16 : 10);
			}
			if (*f != 's') {
				piece = end;
				size = (size_t)(digits + sizeof(digits) - end);
			}
		}
		if (size > room - length)
			size = room - length;
		memcpy(to + length, piece, size);
		length += size;
	}
	return length;
}
