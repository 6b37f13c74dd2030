/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/format.h>
#include "json.h"
#include "test-check.h"

static bool good(const char *s) { return json_is_object(s, strlen(s)); }

/* With a value of one field. */
static bool good_value(const char *value)
{
	char text[256];
	snprintf(text, sizeof(text), "{\"a\":%s}", value);
	return good(text);
}

static void check_values(void)
{
	static const char *const right[] = {
		"0", "-0", "10", "0.5", "1e9", "-1.25E-3", "1e+2", "true", "false", "null", "\"\"", "[]", "{}",
		" [ 1 , 2 ]\t", "[[],{\"b\":[null]}]", "1,\"b\":2",
	};
	static const char *const wrong[] = {
		"", "x", "NaN", "Infinity", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1 2", "1,", ",1", "tru",
		"nulll", "[1,]", "[,1]", "[1 2]", "{\"b\"}", "{\"b\":}", "{b:1}", "{1:1}", "{\"b\":1,}", "'b'", "\r1",
		"1}", "[}", "1,\"b\"",
	};
	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (!good_value(right[i]))
			fprintf(stderr, "refused: %s\n", right[i]), failures++;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (good_value(wrong[i]))
			fprintf(stderr, "accepted: %s\n", wrong[i]), failures++;
	CHECK(!good("{x}"));
	CHECK(!good("{\"a\"}"));
	CHECK(!good(" {}"));
	CHECK(!json_is_object("{}", 1));
	CHECK(!json_is_object("{\"a\":12}", 7)); /* the number goes on behind the end */
}

static void check_strings(void)
{
	CHECK(good_value("\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\uD83D\\uDE00\""));
	CHECK(good_value("\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\""));
	CHECK(!good_value("\"\\x\"") && !good_value("\"\\u12\"") && !good_value("\"\\u12g4\""));
	CHECK(!good_value("\"\\ud800\"") && !good_value("\"\\udc00\"") && !good_value("\"\\ud800\\u0041\""));
	CHECK(!good_value("\"\x80\"") && !good_value("\"\xc0\x80\"") && !good_value("\"\xe0\x80\x80\""));
	CHECK(!good_value("\"\xed\xa0\x80\"") && !good_value("\"\xf4\x90\x80\x80\"") && !good_value("\"\xc3\""));
	CHECK(!good_value("\"a\tb\"") && !good_value("\xc3\xa9"));
}

/* The object is one level; JSON_DEPTH_MAX are allowed. */
static void check_depth(void)
{
	char nested[2 * JSON_DEPTH_MAX + 1] = { 0 };
	memset(nested, '[', JSON_DEPTH_MAX - 1);
	memset(nested + JSON_DEPTH_MAX - 1, ']', JSON_DEPTH_MAX - 1);
	CHECK(good_value(nested));
	memset(nested, '[', JSON_DEPTH_MAX);
	memset(nested + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	CHECK(!good_value(nested));
}

static void check_formats(void)
{
	char buffer[128];
	struct text t = TEXT(buffer);
	text_format(&t, "%s|%u|%d|%x|%lu|%lx|%c|%%", "a", 0u, -5, 0xbeefu, 18446744073709551615ul, 0xfedcba9876543210ul,
	            'z');
	text_bytes(&t, "", 1);
	CHECK(!strcmp(buffer, "a|0|-5|beef|18446744073709551615|fedcba9876543210|z|%"));
	t = TEXT(buffer);
	text_json_string(&t, "a\"\\\n\x1f\xff");
	text_bytes(&t, "", 1);
	CHECK(!strcmp(buffer, "\"a\\\"\\\\\\u000a\\u001f\\u00ff\""));
	t = (struct text){ .data = buffer, .size = 4 };
	text_format(&t, "%s", "12345");
	CHECK(t.truncated && t.length == 4);
}

int main(void)
{
	CHECK(good("{}"));
	CHECK(good("{\"a\":[1,2,{\"b\":\"}]\\\"\"}]}"));
	CHECK(!good(""));
	CHECK(!good("[]"));
	CHECK(!good("{"));
	CHECK(!good("{}}"));
	CHECK(!good("{} "));
	CHECK(!good("{]"));
	CHECK(!good("{\"a\":[}"));
	CHECK(!good("{\"a}"));
	CHECK(!good("{\"a\\\"}"));
	CHECK(!good("{\"a\":\n1}"));
	CHECK(!good("{\"a\":\"\n\"}"));
	CHECK(!good("{\"a\":\"\\\n\"}"));
	check_values();
	check_strings();
	check_depth();
	check_formats();
	return failures != 0;
}
