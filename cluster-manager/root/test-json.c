/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "json.h"
#include "test-check.h"
#include "text.h"

static bool good(const char *s) { return json_is_object(s, strlen(s)); }

static void check_formats(void)
{
	char buffer[128];
	struct text t = TEXT(buffer);
	text_format(&t, "%s|%u|%d|%x|%lu|%lx|%c|%%", "a", 0u, -5, 0xbeefu, 18446744073709551615ul, 0xfedcba9876543210ul, 'z');
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
	CHECK(!good("{[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}"));
	check_formats();
	return failures != 0;
}
