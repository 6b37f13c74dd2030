/* SPDX-License-Identifier: BSD-2-Clause */
/* For the host's tool, which loads this as a shared library (topology/checker.py). */
#include <string.h>

#include "host.h"
#include "read.h"

enum { LONGEST = 240 }; /* characters of a string: each takes two at most */

struct json {
	char *at, *end;
	bool any;
};

static void put(struct json *j, char c)
{
	if (j->at < j->end)
		*j->at++ = c;
}

static void put_text(struct json *j, const char *text)
{
	put(j, '"');
	for (size_t i = 0; i < LONGEST && text[i] != '\0'; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put(j, '\\');
		put(j, text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
	}
	put(j, '"');
}

static void put_member(struct json *j, const char *name, const char *text)
{
	put(j, j->any ? ',' : '{');
	j->any = true;
	put_text(j, name);
	put(j, ':');
	put_text(j, text != NULL ? text : "");
}

bool cluster_map_check(const void *blob, uint64_t size, char *out, uint64_t room)
{
	static struct cluster_map map;
	static _Alignas(8) char copy[MAP_MAX_SIZE];
	struct refusal why = { .text = "" };
	struct json j = { out, out + room - 1, false };

	if (size <= sizeof copy)
		memcpy(copy, blob, size);
	if (cluster_map_read(&map, copy, size, &why))
		return true;
	put_member(&j, "text", why.text);
	put_member(&j, "node", why.node);
	put_member(&j, "property", why.property);
	put_member(&j, "cause", why.cause);
	put_member(&j, "cause_property", why.cause_property);
	put(&j, '}');
	*j.at = '\0';
	return false;
}
