/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include "lines.h"
#include "map.h"
#include "texts.h"

struct line {
	uint16_t length;
	char bytes[CONSOLE_LINE_MAX];
};

static struct line unfinished[MAP_MAX_APPLICATIONS];

static void line_pass(uint32_t application, struct line *line)
{
	text_pass(REPORT_CONSOLE, application, line->bytes, line->length);
	line->length = 0;
}

void line_flush(uint32_t application)
{
	struct line *line = &unfinished[application];
	if (line->length)
		line_pass(application, line);
}

void line_write(uint32_t application, const char *bytes, size_t length)
{
	struct line *line = &unfinished[application];
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\n') {
			line_pass(application, line);
		} else if (bytes[i] != '\r') {
			if (line->length == CONSOLE_LINE_MAX)
				line_pass(application, line);
			line->bytes[line->length++] = bytes[i];
		}
	}
}
