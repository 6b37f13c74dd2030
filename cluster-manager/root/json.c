/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

enum { JSON_DEPTH_MAX = 16 };

/* `at` is on the opening quote; the index after the closing one, or 0. */
static size_t skip_string(const char *text, size_t length, size_t at)
{
	for (at++; at < length; at++) {
		if (text[at] == '"')
			return at + 1;
		if (text[at] == '\\')
			at++;
		if (at < length && (unsigned char)text[at] < 0x20)
			return 0;
	}
	return 0;
}

bool json_is_object(const char *text, size_t length)
{
	char open[JSON_DEPTH_MAX];
	size_t depth = 0;
	if (length == 0 || text[0] != '{')
		return false;
	for (size_t at = 0; at < length;) {
		char c = text[at];
		if ((unsigned char)c < 0x20)
			return false;
		if (c == '"') {
			at = skip_string(text, length, at);
			if (at == 0)
				return false;
			continue;
		}
		if (c == '{' || c == '[') {
			if (depth == JSON_DEPTH_MAX)
				return false;
			open[depth++] = c;
		} else if (c == '}' || c == ']') {
			if (depth == 0 || open[--depth] != (c == '}' ? '{' : '['))
				return false;
			if (depth == 0)
				return at + 1 == length;
		}
		at++;
	}
	return false;
}
