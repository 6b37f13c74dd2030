/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include "json.h"

/* Each function moves `at` behind what it accepts; false: that does not stand there. No function reads at `end`. */
struct scan {
	const char *at, *end;
};

static bool scan_accept(struct scan *s, char expected)
{
	if (s->at == s->end || *s->at != expected)
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
	while (scan_accept(s, ' ') || scan_accept(s, '\t'))
		;
}

static bool scan_word(struct scan *s, const char *letters)
{
	while (*letters)
		if (!scan_accept(s, *letters++))
			return false;
	return true;
}

static bool scan_digits(struct scan *s)
{
	bool any = false;
	while (in_range(s, '0', '9'))
		any = true;
	return any;
}

static bool scan_number(struct scan *s)
{
	scan_accept(s, '-');
	if (!scan_accept(s, '0') && !scan_digits(s))
		return false;
	if (scan_accept(s, '.') && !scan_digits(s))
		return false;
	if (!scan_accept(s, 'e') && !scan_accept(s, 'E'))
		return true;
	if (!scan_accept(s, '+'))
		scan_accept(s, '-');
	return scan_digits(s);
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
static bool scan_escape(struct scan *s)
{
	if (!scan_accept(s, 'u'))
		return scan_accept(s, '"') || scan_accept(s, '\\') || scan_accept(s, '/') || scan_accept(s, 'b') ||
		       scan_accept(s, 'f') || scan_accept(s, 'n') || scan_accept(s, 'r') || scan_accept(s, 't');
	int32_t first = code_unit(s);
	if (first < 0xd800 || first > 0xdfff)
		return first >= 0;
	int32_t second = first < 0xdc00 && scan_word(s, "\\u") ? code_unit(s) : -1;
	return second >= 0xdc00 && second <= 0xdfff;
}

static bool scan_continuation(struct scan *s, unsigned count)
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
		return scan_continuation(s, 1);
	if (scan_accept(s, (char)0xe0))
		return in_range(s, 0xa0, 0xbf) && scan_continuation(s, 1);
	if (scan_accept(s, (char)0xed))
		return in_range(s, 0x80, 0x9f) && scan_continuation(s, 1);
	if (in_range(s, 0xe1, 0xef))
		return scan_continuation(s, 2);
	if (scan_accept(s, (char)0xf0))
		return in_range(s, 0x90, 0xbf) && scan_continuation(s, 2);
	if (scan_accept(s, (char)0xf4))
		return in_range(s, 0x80, 0x8f) && scan_continuation(s, 2);
	return in_range(s, 0xf1, 0xf3) && scan_continuation(s, 3);
}

static bool string(struct scan *s)
{
	if (!scan_accept(s, '"'))
		return false;
	while (!scan_accept(s, '"')) {
		bool good = scan_accept(s, '\\') ? scan_escape(s) : in_range(s, 0x20, 0x7f) || wide_character(s);
		if (!good)
			return false;
	}
	return true;
}

static bool scan_value(struct scan *s, unsigned depth);

static bool scan_object(struct scan *s, unsigned depth)
{
	skip_space(s);
	if (scan_accept(s, '}'))
		return true;
	do {
		skip_space(s);
		if (!string(s))
			return false;
		skip_space(s);
		if (!scan_accept(s, ':') || !scan_value(s, depth))
			return false;
	} while (scan_accept(s, ','));
	return scan_accept(s, '}');
}

static bool scan_array(struct scan *s, unsigned depth)
{
	skip_space(s);
	if (scan_accept(s, ']'))
		return true;
	do {
		if (!scan_value(s, depth))
			return false;
	} while (scan_accept(s, ','));
	return scan_accept(s, ']');
}

/* With the space around it. `depth`: how many objects and arrays more may be open. */
static bool scan_value(struct scan *s, unsigned depth)
{
	bool good;
	skip_space(s);
	if (s->at == s->end)
		return false;
	switch (*s->at) {
	case '{':
	case '[':
		good = depth != 0 && (scan_accept(s, '{') ? scan_object(s, depth - 1)
							  : scan_accept(s, '[') && scan_array(s, depth - 1));
		break;
	case '"':
		good = string(s);
		break;
	case 't':
		good = scan_word(s, "true");
		break;
	case 'f':
		good = scan_word(s, "false");
		break;
	case 'n':
		good = scan_word(s, "null");
		break;
	default:
		good = scan_number(s);
	}
	skip_space(s);
	return good;
}

bool json_is_object(const char *text, size_t length)
{
	struct scan s = { text, text + length };
	return scan_accept(&s, '{') && scan_object(&s, JSON_DEPTH_MAX - 1) && s.at == s.end;
}
