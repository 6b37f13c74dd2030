/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include "console.h"
#include "orders.h"
#include "power.h"
#include "report.h"
#include "root.h"
#include "run.h"
#include "string.h"

void report(enum message_type type, const void *body, size_t size)
{
	if (is_primary())
		run_report(ROOT->cluster, type, body, size);
	else
		channel_send(map.primary, (uint16_t)type, body, size);
}

void report_about(enum message_type type, uint32_t application, uint32_t value)
{
	struct about_application body = { application, value };
	report(type, &body, sizeof(body));
}

void report_text(enum message_type type, uint32_t application, const char *text, size_t length)
{
	struct {
		struct about_application about;
		char text[1024];
	} body = { .about = { application, 0 } };
	if (length > sizeof(body.text))
		length = sizeof(body.text);
	memcpy(body.text, text, length);
	report(type, &body, sizeof(body.about) + length);
}

void order_all(enum message_type type, const void *body, size_t size)
{
	channel_broadcast((uint16_t)type, body, size);
	order_execute(type, body, size);
}

/* Orders come from the primary only, reports come to the primary only. */
void channel_received(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	bool good = false;
	if (type >= REPORT_BOOT && is_primary())
		good = run_report(cluster, (enum message_type)type, body, size);
	else if (type < REPORT_BOOT && cluster == map.primary)
		good = order_execute((enum message_type)type, body, size);
	if (!good)
		console_print("cluster %u sent a message of type %u that it may not send so: dropped", cluster, type);
}

void channel_peer_lost(uint32_t cluster, const char *why)
{
	console_print("cluster %u is gone: %s", cluster, why);
	if (is_primary())
		run_cluster_lost(cluster, why);
	else if (cluster == map.primary && map.shutdown_when_done && map_cluster(&map, ROOT->cluster)->devices)
		power_off(1); /* nobody else is left to say so */
}
