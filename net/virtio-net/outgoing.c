/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"
#include <skerry/require.h>
#include "../driver/checksum.h"
#include "../ethernet.h"

enum { /* offsets in a frame whose IPv4 header has no options */
	TCP = IP + IP_HEADER,
	TCP_SEQUENCE = TCP + 4,
	TCP_ACKNOWLEDGED = TCP + 8,
	TCP_OFFSET = TCP + 12,
	TCP_FLAGS = TCP + 13,
	TCP_WINDOW = TCP + 14,
	TCP_URGENT = TCP + 18,
	TCP_OPTIONS = TCP + 20,

	IPV4_WITHOUT_OPTIONS = 0x45,
	FIN = 1,
	PSH = 8,
	ACK = 16,
	PACKET_MAX = 65535,
};

void outgoing_start(struct outgoing *o)
{
	require(!o->idle_count && o->queue.size <= VIRTQUEUE_MAX && (o->sums || !o->segments));
	for (uint16_t i = 0; i < o->queue.size; i++)
		o->idle[o->idle_count++] = i;
}

void outgoing_reclaim(struct outgoing *o)
{
	uint32_t length;
	uint16_t id;

	for (unsigned i = 0; i < o->queue.size && virtqueue_peek(&o->queue, &id, &length); i++) {
		unsigned buffers = o->held[id];

		virtqueue_take(&o->queue);
		o->held[id] = 0;
		if (buffers > 1)
			virtqueue_unchain(&o->queue, id);
		while (buffers) {
			require(o->idle_count < o->queue.size && id < o->queue.size);
			o->idle[o->idle_count++] = id;
			id = o->next[id];
			if (--buffers)
				virtqueue_unchain(&o->queue, id);
		}
	}
}

static uint8_t *frame_in(const struct outgoing *o, uint16_t id)
{
	return virtqueue_buffer(&o->queue, id) + VIRTIO_NET_HEADER;
}

/* Compares the bytes of two frames from offset `from` to `to`. */
static bool same_bytes(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t to)
{
	return !__builtin_memcmp(a + from, b + from, to - from);
}

/* Bytes of headers of a segment of TCP with data and nothing unusual, which is the whole frame. Otherwise 0. */
static uint32_t headers_of(const uint8_t *frame, uint32_t size)
{
	uint32_t headers;

	if (size <= TCP_OPTIONS || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 ||
	    frame[IP] != IPV4_WITHOUT_OPTIONS ||
	    frame[IP_PROTOCOL] != PROTOCOL_TCP || load_be16(frame + IP_FRAGMENT) & IP_FRAGMENT_BITS ||
	    load_be16(frame + IP_LENGTH) != size - IP)
		return 0;
	headers = TCP + loaded_once(frame[TCP_OFFSET] >> 4) * 4u;
	return headers >= TCP_OPTIONS && headers < size ? headers : 0;
}

/* Returns whether this segment goes on where the growing frame ends, with the headers that the device would give it. */
static bool growing_follows(const struct growing *g, const uint8_t *first, const uint8_t *frame, uint32_t size)
{
	const uint32_t headers = headers_of(frame, size);

	return headers == g->headers && size - headers <= g->segment && !(frame[TCP_FLAGS] & ~(FIN | PSH) & ~ACK) &&
	       frame[TCP_FLAGS] & ACK && load_be32(frame + TCP_SEQUENCE) == g->sequence &&
	       load_be16(frame + IP_NUMBER) == g->number &&
	       g->headers - IP + g->data + size - headers <= PACKET_MAX && same_bytes(first, frame, 0, IP_LENGTH) &&
	       same_bytes(first, frame, IP_FRAGMENT, IP_PROTOCOL + 1) &&
	       same_bytes(first, frame, IP_FROM, TCP_SEQUENCE) &&
	       same_bytes(first, frame, TCP_ACKNOWLEDGED, TCP_FLAGS) &&
	       same_bytes(first, frame, TCP_WINDOW, TCP_WINDOW + 2) &&
	       same_bytes(first, frame, TCP_URGENT, headers);
}

/* Posts the frame that begins in this buffer. */
static void frame_post(struct outgoing *o, uint16_t id, uint32_t size, unsigned buffers)
{
	require(!o->held[id] && buffers && buffers <= o->queue.size);
	o->held[id] = (uint16_t)buffers;
	virtqueue_post(&o->queue, id, VIRTIO_NET_HEADER + size);
}

static struct virtio_net_header header_of(struct checksum_left left)
{
	return (struct virtio_net_header){ .flags = left.start ? VIRTIO_NET_SUM : 0, .sum_start = left.start,
	                                   .sum_field = left.field };
}

static struct virtio_net_header *header_in(const struct outgoing *o, uint16_t id)
{
	return (void *)virtqueue_buffer(&o->queue, id);
}

/* Headers for a device that makes no sums are zero, as the queue's memory was. */
static void send_alone(struct outgoing *o, uint16_t id, uint32_t size)
{
	if (o->sums)
		*header_in(o, id) = header_of(checksum_prepare(frame_in(o, id), size));
	else
		checksum_make(frame_in(o, id), size);
	frame_post(o, id, size, 1);
}

/* The device can write what it will read: lengths are those that were noted here, not what the headers say by now. */
static void send_segments(struct outgoing *o, const struct growing *g)
{
	uint8_t *frame = frame_in(o, g->head);
	struct virtio_net_header *header = header_in(o, g->head);

	require(o->segments && g->frames > 1 && g->headers - IP + g->data <= PACKET_MAX);
	store_be16(frame + IP_LENGTH, (uint16_t)(g->headers - IP + g->data));
	*header = header_of(checksum_prepare_segments(frame, g->headers + g->data));
	header->segmentation = VIRTIO_NET_TCPV4;
	header->header_size = (uint16_t)g->headers;
	header->segment_size = (uint16_t)g->segment;
	frame_post(o, g->head, g->headers + g->segment, g->frames);
}

static void growing_finish(struct outgoing *o)
{
	struct growing *g = &o->growing;

	if (g->frames > 1)
		send_segments(o, g);
	else if (g->frames)
		send_alone(o, g->head, g->headers + g->segment);
	g->frames = 0;
}

static void growing_append(struct outgoing *o, uint16_t id, uint32_t size)
{
	struct growing *g = &o->growing;
	const uint8_t *frame = frame_in(o, id);
	const uint32_t data = size - g->headers;
	const uint8_t flags = frame[TCP_FLAGS];

	require(g->frames && data && data <= g->segment);
	virtqueue_chain(&o->queue, g->last, id, VIRTIO_NET_HEADER + g->headers, data);
	o->next[g->last] = id;
	g->last = id;
	g->frames++;
	g->data += data;
	g->sequence += data;
	g->number++;
	frame_in(o, g->head)[TCP_FLAGS] |= flags; /* which the device gives to the last segment only */
	if (data < g->segment || flags != ACK)
		growing_finish(o);
}

/* Returns whether the frame may become the first of several. */
static bool growing_begin(struct outgoing *o, uint16_t id, uint32_t size)
{
	const uint8_t *frame = frame_in(o, id);
	uint32_t headers;

	require(!o->growing.frames);
	if (frame[TCP_FLAGS] != ACK || !(headers = headers_of(frame, size)))
		return false;
	o->growing = (struct growing){
		.frames = 1, .head = id, .last = id, .headers = headers, .segment = size - headers,
		.data = size - headers, .sequence = load_be32(frame + TCP_SEQUENCE) + size - headers,
		.number = (uint16_t)(load_be16(frame + IP_NUMBER) + 1),
	};
	return true;
}

void outgoing_send(struct outgoing *o, uint32_t size)
{
	uint16_t id = o->idle[--o->idle_count];

	require(o->idle_count < o->queue.size && !o->held[id] && size <= VIRTQUEUE_BUFFER - VIRTIO_NET_HEADER);
	if (o->growing.frames) {
		if (growing_follows(&o->growing, frame_in(o, o->growing.head), frame_in(o, id), size)) {
			growing_append(o, id, size);
			return;
		}
		growing_finish(o);
	}
	if (!o->segments || !growing_begin(o, id, size))
		send_alone(o, id, size);
}

void outgoing_flush(struct outgoing *o)
{
	growing_finish(o);
	virtqueue_kick(&o->queue);
}
