/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include "json.h"

/* Each function moves `at` behind what it accepts; false: that does not stand there. No function reads at `end`. */
struct scan {
	const char *at, *end;
};

static bool accept(struct scan *s, char wanted)
{
	if (s->at == s->end || *s->at != wanted)
		return false;
	s->at++;
	return true;
}

static bool in_range(struct scan *s, unsigned char low, unsigned char high)
{
	if (s->at == s->end || (unsigned char)*s->at < low || (unsigned char)*s->at > high)
		return false;
	s->at++;
	return true;
}

/* A line of results has no line ends within it, so a space or a tab is all that may stand between tokens. */
static void skip_space(struct scan *s)
{
	while (accept(s, ' ') || accept(s, '\t'))
		;
}

static bool word(struct scan *s, const char *letters)
{
	while (*letters)
		if (!accept(s, *letters++))
			return false;
	return true;
}

static bool digits(struct scan *s)
{
	bool any = false;
	while (in_range(s, '0', '9'))
		any = true;
	return any;
}

static bool number(struct scan *s)
{
	accept(s, '-');
	if (!accept(s, '0') && !digits(s))
		return false;
	if (accept(s, '.') && !digits(s))
		return false;
	if (!accept(s, 'e') && !accept(s, 'E'))
		return true;
	if (!accept(s, '+'))
		accept(s, '-');
	return digits(s);
}

static int hex_digit(struct scan *s)
{
	if (in_range(s, '0', '9'))
		return s->at[-1] - '0';
	if (in_range(s, 'a', 'f'))
		return s->at[-1] - 'a' + 10;
	return in_range(s, 'A', 'F') ? s->at[-1] - 'A' + 10 : -1;
}

/* The four digits of \uXXXX, or -1. */
static int32_t code_unit(struct scan *s)
{
	int32_t value = 0;
	for (unsigned i = 0; i < 4; i++) {
		int digit = hex_digit(s);
		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* Behind the backslash. Half of a surrogate pair is no character. */
static bool escape(struct scan *s)
{
	if (!accept(s, 'u'))
		return accept(s, '"') || accept(s, '\\') || accept(s, '/') || accept(s, 'b') || accept(s, 'f') ||
		       accept(s, 'n') || accept(s, 'r') || accept(s, 't');
	int32_t first = code_unit(s);
	if (first < 0xd800 || first > 0xdfff)
		return first >= 0;
	int32_t second = first < 0xdc00 && word(s, "\\u") ? code_unit(s) : -1;
	return second >= 0xdc00 && second <= 0xdfff;
}

static bool continuation(struct scan *s, unsigned count)
{
	while (count--)
		if (!in_range(s, 0x80, 0xbf))
			return false;
	return true;
}

/* One character of UTF-8 that is not ASCII (RFC 3629, section 4): no overlong form, no surrogate, at most U+10FFFF. */
static bool wide_character(struct scan *s)
{
	if (in_range(s, 0xc2, 0xdf))
		return continuation(s, 1);
	if (accept(s, (char)0xe0))
		return in_range(s, 0xa0, 0xbf) && continuation(s, 1);
	if (accept(s, (char)0xed))
		return in_range(s, 0x80, 0x9f) && continuation(s, 1);
	if (in_range(s, 0xe1, 0xef))
		return continuation(s, 2);
	if (accept(s, (char)0xf0))
		return in_range(s, 0x90, 0xbf) && continuation(s, 2);
	if (accept(s, (char)0xf4))
		return in_range(s, 0x80, 0x8f) && continuation(s, 2);
	return in_range(s, 0xf1, 0xf3) && continuation(s, 3);
}

static bool string(struct scan *s)
{
	if (!accept(s, '"'))
		return false;
	while (!accept(s, '"')) {
		bool good = accept(s, '\\') ? escape(s) : in_range(s, 0x20, 0x7f) || wide_character(s);
		if (!good)
			return false;
	}
	return true;
}

static bool value(struct scan *s, unsigned depth);

static bool object(struct scan *s, unsigned depth)
{
	skip_space(s);
	if (accept(s, '}'))
		return true;
	do {
		skip_space(s);
		if (!string(s))
			return false;
		skip_space(s);
		if (!accept(s, ':') || !value(s, depth))
			return false;
	} while (accept(s, ','));
	return accept(s, '}');
}

static bool array(struct scan *s, unsigned depth)
{
	skip_space(s);
	if (accept(s, ']'))
		return true;
	do {
		if (!value(s, depth))
			return false;
	} while (accept(s, ','));
	return accept(s, ']');
}

/* With the space around it. `depth`: how many objects and arrays more may be open. */
static bool value(struct scan *s, unsigned depth)
{
	bool good;
	skip_space(s);
	if (s->at == s->end)
		return false;
	switch (*s->at) {
	case '{':
	case '[':
		good = depth != 0 && (accept(s, '{') ? object(s, depth - 1) : accept(s, '[') && array(s, depth - 1));
		break;
	case '"':
		good = string(s);
		break;
	case 't':
		good = word(s, "true");
		break;
	case 'f':
		good = word(s, "false");
		break;
	case 'n':
		good = word(s, "null");
		break;
	default:
		good = number(s);
	}
	skip_space(s);
	return good;
}

bool json_is_object(const char *text, size_t length)
{
	struct scan s = { text, text + length };
	return accept(&s, '{') && object(&s, JSON_DEPTH_MAX - 1) && s.at == s.end;
}
