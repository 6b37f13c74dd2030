/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/debug.h>
#include <lwip/mem.h>
#include <skerry/require.h>
#include "../copy.h"
#include "sent.h"

/* The headers in front of the data may have grown since; its end has not moved. */
__attribute__((noinline, cold)) void sent_take(struct sent *packet)
{
	const struct pbuf *pbuf = &packet->custom.pbuf;
	char *room = (char *)packet + SENT_BEFORE;

	require(packet->slot->sent == packet);
	copy_bytes(room, packet->slot->data, (size_t)((char *)pbuf->payload + pbuf->len - room));
	packet->slot->sent = NULL;
	packet->slot = NULL;
}

void sent_free(struct pbuf *pbuf)
{
	sent_leave((struct sent *)pbuf);
	mem_free(pbuf);
}
