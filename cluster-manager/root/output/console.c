/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <string.h>
#include <skerry/format.h>
#include <skerry/require.h>
#include "console.h"
#include "map.h"
#include "message.h"
#include "output.h"
#include "own-line.h"
#include "root.h"

enum { ESCAPE = 0x1b };

/* Returns the length of the control sequence (ECMA-48, 5.4) that the text begins with, or 0. */
static size_t control_sequence(const char *text, size_t length)
{
	size_t i = 2;
	if (length < 2 || text[0] != ESCAPE || text[1] != '[')
		return 0;
	while (i < length && text[i] >= 0x30 && text[i] <= 0x3f)
		i++;
	while (i < length && text[i] >= 0x20 && text[i] <= 0x2f)
		i++;
	return i < length && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : 0;
}

/* Returns whether two bytes that follow each other on the console are one control character in UTF-8: U+0080 to U+009F,
 * such as CSI. */
static bool wide_control(unsigned char first, unsigned char second) { return first == 0xc2 && (second & 0xe0) == 0x80; }

/* Writes what a terminal prints of the line: programs' colours are left out, and what else it would obey is a question
 * mark. */
static void put_printable(struct text *t, const char *line, size_t length)
{
	unsigned char before = 0;
	for (size_t i = 0, sequence; i < length; i += sequence ? sequence : 1) {
		unsigned char c = (unsigned char)line[i];
		char shown = (c < 0x20 && c != '\t') || c == 0x7f ? '?' : (char)c;
		sequence = control_sequence(line + i, length - i);
		if (sequence)
			continue;
		if (wide_control(before, c))
			shown = '?';
		before = c;
		text_bytes(t, &shown, 1);
	}
}

void console_line(uint32_t cluster, uint32_t application, const char *line, size_t length)
{
	char buffer[CONSOLE_LINE_MAX + PROCESS_NAME + 16 + OWN_LINE_END];
	const bool is_own = application >= map->application_count;
	struct text t = is_own ? own_line_begin(buffer, sizeof(buffer))
	            : (struct text){ .data = buffer, .size = sizeof(buffer) - 1 };
	if (is_own)
		text_format(&t, "[manager %u] ", cluster);
	else
		text_format(&t, "[%s] ", map->application[application].name);
	put_printable(&t, line, length);
	require(t.length + (is_own ? OWN_LINE_END : 1) <= sizeof(buffer));
	if (is_own)
		own_line_end(&t);
	else
		buffer[t.length++] = '\n';
	output_put(OUTPUT_CONSOLE, buffer, t.length);
}

void console_print(const char *format, ...)
{
	char buffer[CONSOLE_LINE_MAX];
	struct text t = TEXT(buffer);
	va_list arguments;
	va_start(arguments, format);
	text_vformat(&t, format, arguments);
	va_end(arguments);
	if (is_primary()) {
		console_line(ROOT->cluster, ABOUT_MANAGER, buffer, t.length);
		return;
	}
	const struct mail mail = { .kind = MAIL_OWN_BULK, .type = REPORT_CONSOLE, .cluster = ROOT->cluster,
				   .body = buffer, .size = t.length };
	mailbox_put(&mail);
}
