/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames on their way to the device. Where it sums (VIRTIO_NET_F_CSUM) a frame
 * of TCP or UDP leaves with the sum of its pseudo header. Where it cuts up
 * segments (VIRTIO_NET_F_HOST_TSO4), those that follow each other in one batch
 * leave as one frame: the headers of the first, and the data of all where it
 * was copied to, as a chain of descriptors. The device, or whoever its frames
 * reach, makes the same segments of it again, byte for byte. Virtual I/O Device
 * specification 1.0, sections 5.1.6 and 2.4.5.
 */
#pragma once

#include <skerry/require.h>
#include "virtqueue.h"

/* In front of every frame; little endian. */
struct virtio_net_header {
	uint8_t flags, segmentation;
	uint16_t header_size, segment_size, sum_start, sum_field, buffers;
};
_Static_assert(sizeof(struct virtio_net_header) == 12, "section 5.1.6");

enum {
	VIRTIO_NET_HEADER = sizeof(struct virtio_net_header),
	/* flags: the sum from `sum_start` on is to be made, and written `sum_field` bytes behind that */
	VIRTIO_NET_SUM = 1,
	VIRTIO_NET_SUMMED = 2, /* flags: the device has found the sum of TCP or UDP right */
	VIRTIO_NET_TCPV4 = 1,  /* segmentation: of `segment_size` bytes each but the last */
};

/* A frame that has been made, but not posted, because the next one may be a part of it. */
struct growing {
	unsigned frames; /* in it; 0: there is none */
	uint16_t head, last; /* buffers */
	uint16_t number; /* of the next one's IP header */
	uint32_t headers; /* bytes before the data */
	uint32_t segment; /* bytes of data in each frame but the last */
	uint32_t data;    /* in all of them */
	uint32_t sequence; /* of the next one */
};

struct outgoing {
	struct virtqueue queue;
	bool sums, segments; /* that the device makes; segments only with sums */
	struct growing growing;
	unsigned idle_count;
	uint16_t idle[VIRTQUEUE_MAX]; /* buffers that the device does not hold */
	uint16_t next[VIRTQUEUE_MAX]; /* of the buffers of one frame */
	/* buffers of the frame that begins in this one, while the device holds it; else 0 */
	uint16_t held[VIRTQUEUE_MAX];
};

/* The queue has been laid out; the device holds none of its buffers. */
void outgoing_start(struct outgoing *);

/* Takes back what the device is done with. It is not trusted: a buffer that it does not hold is passed over. */
void outgoing_reclaim(struct outgoing *);

/* The buffer that is used next. */
static inline uint8_t *outgoing_reserve(const struct outgoing *o)
{
	require(o->idle_count && o->idle_count <= o->queue.size);
	return virtqueue_buffer(&o->queue, o->idle[o->idle_count - 1]) + VIRTIO_NET_HEADER;
}

/* Sends the first `size` bytes of what outgoing_reserve() has returned; its checksums are made on the way. */
void outgoing_send(struct outgoing *, uint32_t size);

/* At the end of a batch. */
void outgoing_flush(struct outgoing *);
