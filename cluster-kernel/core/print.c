/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"
#include <stdarg.h>
#include <stdint.h>
#include <skerry/console.h>
#include "arch.h"
#include "assert.h"

static void put_string(const char *s)
{
	while (*s)
		arch_console_put(*s++);
}

static void put_number(uint64_t value, unsigned base, unsigned digits)
{
	kernel_assert(base >= 10 && digits <= 20);
	char text[20];
	unsigned n = 0;
	do
		text[n++] = "0123456789abcdef"[value % base];
	while ((value /= base) || n < digits);
	while (n)
		arch_console_put(text[--n]);
}

static void put_all(const char *format, va_list list)
{
	for (; *format; format++) {
		if (*format != '%') {
			arch_console_put(*format);
			continue;
		}
		switch (*++format) {
		case 's': put_string(va_arg(list, const char *)); break;
		case 'u': put_number(va_arg(list, unsigned), 10, 1); break;
		case 'p':
			put_string("0x");
			put_number(va_arg(list, uint64_t), 16, 16);
			break;
		default: arch_console_put(*format); break;
		}
	}
}

void print(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	arch_console_put(CONSOLE_KERNEL);
	put_all(format, list);
	va_end(list);
}

void print_more(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	put_all(format, list);
	va_end(list);
}
