/* SPDX-License-Identifier: BSD-2-Clause */
#include "scrape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_MAX = 512, LABEL_MAX = 64, FIRST_ROOM = 16 << 10 };

static bool make_room(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : FIRST_ROOM;

	while (room < t->length + more)
		room *= 2;
	if (room == t->room)
		return true;
	char *data = room <= TEXT_MAX ? realloc(t->data, room) : NULL;
	if (!data)
		return false;
	t->data = data;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *format, ...)
{
	va_list arguments;

	if (t->failed || !make_room(t, PIECE_MAX)) {
		t->failed = true;
		return;
	}
	va_start(arguments, format);
	const int length = vsnprintf(t->data + t->length, PIECE_MAX, format, arguments);
	va_end(arguments);
	t->failed = length < 0 || length >= PIECE_MAX;
	if (!t->failed)
		t->length += (size_t)length;
}

void text_label(struct text *t, const char *name, const char *value)
{
	char quoted[2 * LABEL_MAX + 1];
	size_t length = 0;

	for (unsigned i = 0; value[i] && i < LABEL_MAX; i++) {
		if (value[i] == '"' || value[i] == '\\')
			quoted[length++] = '\\';
		quoted[length++] = value[i] < ' ' || value[i] > '~' ? '?' : value[i];
	}
	quoted[length] = 0;
	text_add(t, "%s=\"%s\"", name, quoted);
}
