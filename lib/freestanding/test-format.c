/* SPDX-License-Identifier: BSD-2-Clause */
/* The formatter beside the C library's, and what only it does: strings of others, cuts, formats that it does not
 * know. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/format.h>

enum { ROOM = 200 };

static unsigned failures;

static void expect(const char *what, const struct text *text, const char *expected)
{
	if (text->length == strlen(expected) && !memcmp(text->data, expected, text->length))
		return;
	fprintf(stderr, "%s: '%.*s', expected '%s'\n", what, (int)text->length, text->data, expected);
	failures++;
}

/* Both formatters, the same arguments. */
#define SAME(...)                                                   \
	do {                                                        \
		char ours_[ROOM], theirs_[ROOM];                    \
		struct text text_ = TEXT(ours_);                    \
		text_format(&text_, __VA_ARGS__);                   \
		snprintf(theirs_, sizeof(theirs_), __VA_ARGS__);    \
		expect(#__VA_ARGS__, &text_, theirs_);              \
	} while (0)

static void as_the_c_library(void)
{
	static const long numbers[] = { 0, 1, 9, 10, 99, 255, 0x7fffffff, 0x80000000, INT64_MAX, INT64_MIN, -1, -10 };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		long n = numbers[i];
		SAME("%ld %lu %lx", n, (unsigned long)n, (unsigned long)n);
		SAME("%d %u %x", (int)n, (unsigned)n, (unsigned)n);
		SAME("%08x|%016lx|%01u|%020lu", (unsigned)n, (unsigned long)n, (unsigned)n, (unsigned long)n);
	}
	SAME("%s", "");
	SAME("a %s b %c%% %s", "string", 'x', "another");
	SAME("100 %% of %u", 3u);
}

static void what_does_not_fit_is_cut(void)
{
	char room[4];
	struct text text = TEXT(room);
	text_format(&text, "ab%u", 12u);
	expect("it fits", &text, "ab12");
	failures += text.truncated;
	text_format(&text, "x");
	expect("it does not", &text, "ab12");
	failures += !text.truncated;
	text = (struct text)TEXT(room);
	text_format(&text, "%s", "12345");
	expect("a part does", &text, "1234");
}

static void sink(size_t longest, const char *expected, const char *format, ...)
{
	char room[ROOM];
	struct text text = TEXT(room);
	const struct format_sink to = { .put = text_put, .to = &text, .longest = longest, .printable = true };
	va_list arguments;
	va_start(arguments, format);
	format_to(&to, format, arguments);
	va_end(arguments);
	expect(format, &text, expected);
}

static void strings_of_others(void)
{
	sink(0, "a?b?[31m?", "%s%c", "a\nb\033[31m", '\x7f');
	sink(5, "12345", "%s", "12345");
	sink(5, "123..", "%s", "123456");
	sink(2, "..", "%s", "123");
	sink(1, "..", "%s", "123"); /* below what it may be: it reads nothing beyond the string */
	sink(5, "a format's own\nline 12345678", "a format's own\nline %u", 12345678u);
}

static void unknown_formats_end_the_text(void)
{
	static const char *const formats[] = { "a%q", "a%", "a%l", "a%9" };
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		sink(0, "a", formats[i]);
}

static void json(void)
{
	char room[ROOM];
	struct text text = TEXT(room);
	text_json_string(&text, "a\"b\\c\n\xc3\xa9/");
	expect("JSON", &text, "\"a\\\"b\\\\c\\u000a\\u00c3\\u00a9/\"");
}

int main(void)
{
	as_the_c_library();
	what_does_not_fit_is_cut();
	strings_of_others();
	unknown_formats_end_the_text();
	json();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
