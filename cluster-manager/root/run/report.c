/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include "map.h"
#include "report.h"
#include "root.h"

/* Samples are taken again when one is lost, and a timeout ends the wait for it. */
static bool is_bulk(enum message_type type) { return type == REPORT_SAMPLE_CORE || type == REPORT_SAMPLE; }

static int send_to_self(enum message_type type, const void *body, size_t size)
{
	const struct mail mail = {
		.kind = is_bulk(type) ? MAIL_OWN_BULK : MAIL_OWN, .type = (uint16_t)type, .cluster = ROOT->cluster,
		.body = body, .size = size,
	};
	return mailbox_put(&mail);
}

int report(enum message_type type, const void *body, size_t size)
{
	return is_primary() ? send_to_self(type, body, size) : channel_send(map->primary, (uint16_t)type, body, size);
}

int report_about(enum message_type type, uint32_t application, uint32_t value)
{
	const struct about_application body = { application, value };
	return report(type, &body, sizeof(body));
}

int order(uint32_t cluster, enum message_type type, const void *body, size_t size)
{
	return cluster == ROOT->cluster ? send_to_self(type, body, size) :
					  channel_send(cluster, (uint16_t)type, body, size);
}

void order_all(enum message_type type, const void *body, size_t size)
{
	channel_broadcast((uint16_t)type, body, size);
	send_to_self(type, body, size);
}
