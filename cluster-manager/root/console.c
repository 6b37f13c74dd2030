/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include "channel.h"
#include "console.h"
#include "report.h"
#include "root.h"
#include "serial.h"
#include "string.h"
#include "text.h"

enum { LINE_MAX = 512 };

struct line {
	uint16_t length;
	char bytes[LINE_MAX];
};

static struct line unfinished[MAP_MAX_APPLICATIONS];
static uint16_t port; /* 0: none, the kernel's console has to do */

void console_init(void)
{
	port = is_primary() ? ROOT->console_port : 0;
}

void console_bytes(const char *bytes, size_t length)
{
	if (port)
		serial_write(port, bytes, length);
	else
		for (size_t i = 0; i < length; i++)
			debug_put(bytes[i]);
}

void console_line(uint32_t cluster, uint32_t application, const char *line, size_t length)
{
	char buffer[LINE_MAX + PROCESS_NAME + 16];
	struct text t = { .data = buffer, .size = sizeof(buffer) - 1 };
	if (application < map.application_count)
		text_format(&t, "[%s] ", map.application[application].name);
	else
		text_format(&t, "[manager %u] ", cluster);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];
		char shown = (c < 0x20 && c != '\t' && c != 0x1b) || c == 0x7f ? '?' : (char)c;
		text_bytes(&t, &shown, 1);
	}
	buffer[t.length++] = '\n';
	console_bytes(buffer, t.length);
}

static void line_out(uint32_t application, const char *line, size_t length)
{
	/* without a way to the primary the kernel's own console has to do */
	if (is_primary() || !channel_alive(map.primary))
		console_line(ROOT->cluster, application, line, length);
	else
		report_text(REPORT_CONSOLE, application, line, length);
}

void console_print(const char *format, ...)
{
	char buffer[LINE_MAX];
	struct text t = TEXT(buffer);
	va_list arguments;
	va_start(arguments, format);
	text_vformat(&t, format, arguments);
	va_end(arguments);
	line_out(ABOUT_MANAGER, buffer, t.length);
}

void console_flush(uint32_t application)
{
	struct line *line = &unfinished[application];
	if (line->length)
		line_out(application, line->bytes, line->length);
	line->length = 0;
}

void console_write(uint32_t application, const char *bytes, size_t length)
{
	struct line *line = &unfinished[application];
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\n') {
			line_out(application, line->bytes, line->length);
			line->length = 0;
		} else if (bytes[i] != '\r') {
			if (line->length == LINE_MAX)
				console_flush(application);
			line->bytes[line->length++] = bytes[i];
		}
	}
}
