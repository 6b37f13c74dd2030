/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtio network device, as the driver's loop uses it (../driver/card.h). */
#pragma once

#include "../driver/card.h"
#include <skerry/require.h>
#include "device.h"

struct card {
	struct virtio_net net;
};

static const char *card_start(struct card *card, const struct process_info *info)
{
	const char *wrong = virtio_net_start(&card->net, info);

	if (wrong)
		return wrong;
	outgoing_start(&card->net.transmit);
	for (uint16_t i = 0; i < card->net.receive.size; i++)
		virtqueue_post(&card->net.receive, i, VIRTQUEUE_BUFFER);
	virtqueue_kick(&card->net.receive);
	return 0;
}

static inline bool card_peek(struct card *card, struct card_frame *frame)
{
	const uint8_t *buffer;
	uint32_t length;
	uint16_t id;

	if (!virtqueue_peek(&card->net.receive, &id, &length))
		return false;
	buffer = virtqueue_buffer(&card->net.receive, id);
	frame->data = buffer + VIRTIO_NET_HEADER;
	frame->size = length - VIRTIO_NET_HEADER; /* of one without a whole header: larger than any frame */
	frame->id = id;
	frame->summed = card->net.receives_summed &&
			((const struct virtio_net_header *)buffer)->flags & (VIRTIO_NET_SUM | VIRTIO_NET_SUMMED);
	return true;
}

static inline void card_release(struct card *card, const struct card_frame *frame)
{
	require(frame->id < card->net.receive.size);
	require((uint16_t)(card->net.receive.posted - card->net.receive.taken) == card->net.receive.size);
	virtqueue_take(&card->net.receive);
	virtqueue_post_again(&card->net.receive, (uint16_t)frame->id);
}

static inline void card_refill(struct card *card) { virtqueue_kick(&card->net.receive); }

static inline bool card_has_room(struct card *card, bool arm)
{
	struct outgoing *transmit = &card->net.transmit;

	require(transmit->idle_count <= transmit->queue.size);
	if (!transmit->idle_count)
		outgoing_reclaim(transmit);
	if (!transmit->idle_count && arm) {
		virtqueue_arm(&transmit->queue);
		outgoing_reclaim(transmit);
	}
	return transmit->idle_count != 0;
}

static inline uint8_t *card_reserve(struct card *card)
{
	return outgoing_reserve(&card->net.transmit);
}

static inline void card_send(struct card *card, uint8_t *buffer, uint32_t size)
{
	require(buffer == outgoing_reserve(&card->net.transmit));
	(void)buffer;
	outgoing_send(&card->net.transmit, size);
}

static inline void card_flush(struct card *card) { outgoing_flush(&card->net.transmit); }

static inline void card_arm(struct card *card) { virtqueue_arm(&card->net.receive); }

static inline void card_disarm(struct card *card)
{
	virtqueue_disarm(&card->net.receive);
	virtqueue_disarm(&card->net.transmit.queue);
}
