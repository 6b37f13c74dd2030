/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"
#include <stdarg.h>
#include <stdint.h>
#include <skerry/console.h>
#include "arch.h"
#include "assert.h"

static void line_put(struct print_line *line, char c)
{
	kernel_assert(c != '\n');
	arch_console_put(c);
	seal_add(&line->seal, c);
}

static void line_put_string(struct print_line *line, const char *s)
{
	while (*s)
		line_put(line, *s++);
}

static void line_put_number(struct print_line *line, uint64_t value, unsigned base, unsigned digits)
{
	kernel_assert(base >= 10 && digits <= 20);
	char text[20];
	unsigned n = 0;
	do
		text[n++] = "0123456789abcdef"[value % base];
	while ((value /= base) || n < digits);
	while (n)
		line_put(line, text[--n]);
}

static void line_put_all(struct print_line *line, const char *format, va_list list)
{
	for (; *format; format++) {
		if (*format != '%') {
			line_put(line, *format);
			continue;
		}
		switch (*++format) {
		case 's': line_put_string(line, va_arg(list, const char *)); break;
		case 'u': line_put_number(line, va_arg(list, unsigned), 10, 1); break;
		case 'p':
			line_put_string(line, "0x");
			line_put_number(line, va_arg(list, uint64_t), 16, 16);
			break;
		default: line_put(line, *format); break;
		}
	}
}

static void line_begin(struct print_line *line, const char *format, va_list list)
{
	arch_console_put(CONSOLE_KERNEL);
	seal_begin(&line->seal, CONSOLE_KERNEL);
	line_put_all(line, format, list);
}

void print_begin(struct print_line *line, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	line_begin(line, format, list);
	va_end(list);
}

void print_more(struct print_line *line, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	line_put_all(line, format, list);
	va_end(list);
}

void print_end(struct print_line *line)
{
	char letters[SEAL_SIZE];
	seal_end(&line->seal, letters);
	for (unsigned i = 0; i < SEAL_SIZE; i++)
		arch_console_put(letters[i]);
	arch_console_put('\n');
}

void print(const char *format, ...)
{
	struct print_line line;
	va_list list;
	va_start(list, format);
	line_begin(&line, format, list);
	va_end(list);
	print_end(&line);
}
