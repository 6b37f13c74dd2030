/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtio network device, as the driver's loop uses it (../driver/card.h). */
#pragma once

#include "../driver/card.h"
#include "../driver/assert.h"
#include "device.h"

struct card {
	struct virtio_net net;
	uint16_t idle[VIRTQUEUE_MAX]; /* transmit buffers that the device does not hold */
	unsigned idle_count;
};

static const char *card_start(struct card *card, const struct process_info *info)
{
	const char *wrong = virtio_net_start(&card->net, info);

	if (wrong)
		return wrong;
	for (uint16_t i = 0; i < card->net.transmit.size; i++)
		card->idle[card->idle_count++] = i;
	for (uint16_t i = 0; i < card->net.receive.size; i++)
		virtqueue_post(&card->net.receive, i, VIRTQUEUE_BUFFER);
	virtqueue_kick(&card->net.receive);
	return 0;
}

static inline bool card_peek(struct card *card, struct card_frame *frame)
{
	uint32_t length;
	uint16_t id;

	if (!virtqueue_peek(&card->net.receive, &id, &length))
		return false;
	frame->data = virtqueue_buffer(&card->net.receive, id) + VIRTIO_NET_HEADER;
	frame->size = length - VIRTIO_NET_HEADER; /* of one without a whole header: larger than any frame */
	frame->id = id;
	return true;
}

static inline void card_release(struct card *card, const struct card_frame *frame)
{
	virtqueue_take(&card->net.receive);
	virtqueue_post(&card->net.receive, (uint16_t)frame->id, VIRTQUEUE_BUFFER);
}

static inline void card_refill(struct card *card) { virtqueue_kick(&card->net.receive); }

/* Out of line: once for all buffers, not once a frame. */
static __attribute__((noinline)) void virtio_net_reclaim(struct card *card)
{
	struct virtqueue *queue = &card->net.transmit;
	uint32_t length;
	uint16_t id;

	while (card->idle_count < queue->size && virtqueue_peek(queue, &id, &length)) {
		virtqueue_take(queue);
		card->idle[card->idle_count++] = id;
	}
}

static inline bool card_has_room(struct card *card, bool arm)
{
	if (!card->idle_count)
		virtio_net_reclaim(card);
	if (!card->idle_count && arm) {
		virtqueue_arm(&card->net.transmit);
		virtio_net_reclaim(card);
	}
	return card->idle_count != 0;
}

static inline uint8_t *card_reserve(struct card *card)
{
	driver_assert(card->idle_count);
	return virtqueue_buffer(&card->net.transmit, card->idle[card->idle_count - 1]) + VIRTIO_NET_HEADER;
}

static inline void card_send(struct card *card, uint8_t *buffer, uint32_t size)
{
	uint16_t id = card->idle[--card->idle_count];

	driver_assert(buffer == virtqueue_buffer(&card->net.transmit, id) + VIRTIO_NET_HEADER);
	virtqueue_post(&card->net.transmit, id, VIRTIO_NET_HEADER + size);
	(void)buffer;
}

static inline void card_flush(struct card *card) { virtqueue_kick(&card->net.transmit); }

static inline void card_arm(struct card *card) { virtqueue_arm(&card->net.receive); }

static inline void card_disarm(struct card *card)
{
	virtqueue_disarm(&card->net.receive);
	virtqueue_disarm(&card->net.transmit);
}
