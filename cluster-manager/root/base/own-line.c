/* SPDX-License-Identifier: BSD-2-Clause */
#include "own-line.h"
#include <skerry/console.h>
#include <skerry/require.h>

struct text own_line_begin(char *buffer, size_t size)
{
	require(size > OWN_LINE_END);
	struct text line = { .data = buffer, .size = size - OWN_LINE_END };
	const char mark = CONSOLE_MANAGER;
	text_bytes(&line, &mark, 1);
	return line;
}

size_t own_line_end(struct text *line)
{
	struct seal seal;
	require(line->length && line->data[0] == CONSOLE_MANAGER);
	seal_begin(&seal, line->data[0]);
	for (size_t i = 1; i < line->length; i++)
		seal_add(&seal, line->data[i]);
	seal_end(&seal, line->data + line->length);
	line->length += SEAL_SIZE;
	line->data[line->length++] = '\n';
	return line->length;
}
