/* SPDX-License-Identifier: BSD-2-Clause */
#include "host.h"

#include <stdio.h>

jmp_buf host_refused;
char host_words[256];
unsigned host_lines;
int host_failures;

/* memory.c fills it; no CPU reads it here */
_Alignas(4096) uint64_t boot_pml4[512];

static void keep(const char *format, va_list args)
{
	format_line(host_words, sizeof host_words, format, args);
	host_lines++;
}

void print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
}

void panic(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
	longjmp(host_refused, 1);
}

void host_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s does not hold (\"%s\")\n", what, host_words);
	host_failures++;
}
