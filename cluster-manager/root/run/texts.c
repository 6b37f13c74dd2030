/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "channel.h"
#include "console.h"
#include "json.h"
#include "map.h"
#include "results.h"
#include "root.h"
#include "texts.h"

enum { LINE_COST = 48 /* of a line beside its own bytes: its writer's name, the message that carries it */ };

static uint32_t sent; /* bytes that the primary has not written yet */

uint32_t text_cost(size_t length) { return (uint32_t)length + LINE_COST; }

uint32_t texts_sent(void) { return sent; }

void texts_written(uint32_t bytes) { sent -= bytes < sent ? bytes : sent; }

bool texts_go_to_primary(void) { return !is_primary() && channel_alive(map->primary); }

static void send(enum message_type type, uint32_t application, const char *text, size_t length)
{
	struct {
		struct about_application about;
		char text[1024];
	} body = { .about = { application, 0 } };
	require(!is_primary() && (type == REPORT_CONSOLE || type == REPORT_RESULT));
	if (length > sizeof(body.text))
		length = sizeof(body.text);
	memcpy(body.text, text, length);
	size_t size = sizeof(body.about) + length;
	int error = type == REPORT_CONSOLE ? channel_send_line(map->primary, (uint16_t)type, &body, size) :
					     channel_send(map->primary, (uint16_t)type, &body, size);
	if (!error)
		sent += text_cost(length);
}

void text_pass(enum message_type type, uint32_t application, const char *text, size_t length)
{
	const struct about_application about = { application, 0 };
	if (is_primary())
		text_publish(ROOT->cluster, type, &about, text, length);
	else if (type == REPORT_CONSOLE && !texts_go_to_primary())
		console_line(ROOT->cluster, application, text, length); /* on the kernel's own console */
	else
		send(type, application, text, length);
}

/* A cluster speaks for its own applications only. */
static bool cluster_owns(uint32_t cluster, uint32_t application)
{
	return application < map->application_count && map->application[application].cluster == cluster;
}

bool text_publish(uint32_t cluster, enum message_type type, const struct about_application *about, const char *text,
		  size_t length)
{
	if (type == REPORT_CONSOLE) {
		if (about->application != ABOUT_MANAGER && !cluster_owns(cluster, about->application))
			return false;
		console_line(cluster, about->application, text, length);
		return true;
	}
	if (!cluster_owns(cluster, about->application) || !json_is_object(text, length))
		return false;
	struct text *t = results_begin("result");
	results_application(t, about->application);
	text_format(t, ",\"data\":");
	text_bytes(t, text, length);
	results_end(t);
	return true;
}
