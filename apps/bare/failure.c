/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "output.h"

_Noreturn void fail(const char *file, int line, const char *what)
{
	struct text text = { 0 };
	text_string(&text, file);
	text_put(&text, ':');
	text_number(&text, (uint64_t)line);
	text_string(&text, ": ");
	text_string(&text, what);
	text_put(&text, '\n');
	output_console(&text);
	output_exit(EXIT_BAD);
}

void check_code(const char *file, int line, const char *what, int result, unsigned expected)
{
	if (result != -(int)expected)
		fail(file, line, what);
}

void check_equal(const char *file, int line, const char *what, uint64_t value, uint64_t expected)
{
	if (value != expected)
		fail(file, line, what);
}
