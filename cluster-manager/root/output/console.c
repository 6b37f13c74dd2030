/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <string.h>
#include <skerry/format.h>
#include "console.h"
#include "map.h"
#include "message.h"
#include "output.h"
#include "root.h"

void console_line(uint32_t cluster, uint32_t application, const char *line, size_t length)
{
	char buffer[CONSOLE_LINE_MAX + PROCESS_NAME + 16];
	struct text t = { .data = buffer, .size = sizeof(buffer) - 1 };
	if (application < map->application_count)
		text_format(&t, "[%s] ", map->application[application].name);
	else
		text_format(&t, "[manager %u] ", cluster);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];
		char shown = (c < 0x20 && c != '\t' && c != 0x1b) || c == 0x7f ? '?' : (char)c;
		text_bytes(&t, &shown, 1);
	}
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
