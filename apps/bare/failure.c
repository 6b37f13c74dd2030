/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"

_Noreturn void fail(const char *file, int line, const char *what)
{
	struct text text = LINE;
	text_format(&text, "%s:%d: %s\n", file, line, what);
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
