/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that a driver sends through a model of a device, which sums and cuts up segments as the specification says:
 * they arrive as they were, byte for byte, with the checksums that the driver itself would have made, whatever the
 * device takes on. Runs of segments that belong together, and such that differ in one header field, are drawn at
 * random. A device that returns what it does not hold, or the same twice, gets no buffer twice.
 */
#include <stdlib.h>
#include <string.h>
#include "../driver/checksum.h"
#include "../ethernet.h"
#include "../virtio-net/device.h"
#include "test.h"

enum {
	QUEUE = 64, FRAMES = 4096, LONGEST = 1514, STEPS = 100000, HEADERS = 54,
	NEXT = 1, /* a flag of descriptors */
	TCP = IP + IP_HEADER,
};

struct frame {
	uint32_t size;
	uint8_t bytes[LONGEST];
};

static struct frame sent[FRAMES]; /* as they are to arrive; a ring */
static unsigned sent_count, arrived_count;
static struct outgoing out;
static uint8_t *memory;
static volatile uint16_t doorbell;
static unsigned device_taken; /* of the available ring */
static uint16_t device_holds[QUEUE], device_count;
static unsigned merged;       /* frames of several segments that came */
static const uint64_t PADDR = 0x7000000;

static void arrive(const uint8_t *bytes, uint32_t size)
{
	CHECK(arrived_count != sent_count);
	const struct frame *expected = &sent[arrived_count++ % FRAMES];

	CHECK(size == expected->size && !memcmp(bytes, expected->bytes, size));
}

/* The device's: what the driver has left of the sums. */
static void complete(uint8_t *bytes, uint32_t size, const struct virtio_net_header *header)
{
	if (!(header->flags & VIRTIO_NET_SUM))
		return;
	CHECK(out.sums && header->sum_start + header->sum_field + 2u <= size);
	uint8_t *field = bytes + header->sum_start + header->sum_field;
	uint16_t sum = (uint16_t)~checksum_sum(bytes + header->sum_start, size - header->sum_start, 0);

	if (!sum && bytes[IP + 9] == 17)
		sum = 0xffff;
	memcpy(field, &sum, 2);
}

/* The device's: a frame of several segments, each as TCP would have sent it (RFC 9293) with the pseudo header's sum
 * made anew. */
static void cut(uint8_t *bytes, uint32_t size, const struct virtio_net_header *header)
{
	const uint32_t headers = (uint32_t)TCP + (bytes[TCP + 12] >> 4) * 4u, segment = header->segment_size;
	uint8_t one[LONGEST];

	CHECK(out.segments && header->segmentation == VIRTIO_NET_TCPV4 && header->flags & VIRTIO_NET_SUM);
	CHECK(header->header_size == headers && segment && size - headers > segment);
	CHECK(load_be16(bytes + IP + 2) == size - IP);
	merged++;
	for (uint32_t at = 0; at < size - headers; at += segment) {
		const uint32_t data = size - headers - at < segment ? size - headers - at : segment;
		struct virtio_net_header plain = *header;

		memcpy(one, bytes, headers);
		memcpy(one + headers, bytes + headers + at, data);
		store_be16(one + IP + 2, (uint16_t)(headers - IP + data));
		store_be16(one + IP + 4, (uint16_t)(load_be16(bytes + IP + 4) + at / segment));
		store_be32(one + TCP + 4, load_be32(bytes + TCP + 4) + at);
		if (at + segment < size - headers)
			one[TCP + 13] &= (uint8_t)~9; /* FIN, PSH */
		plain.segmentation = 0;
		struct checksum_left left = checksum_prepare(one, headers + data);

		CHECK(left.start == TCP && left.field == 16);
		complete(one, headers + data, &plain);
		arrive(one, headers + data);
	}
}

/* Takes one frame from the available ring. False: there is none. */
static bool device_takes(void)
{
	struct virtqueue *queue = &out.queue;
	static uint8_t whole[1 << 17];
	uint32_t size = 0;

	if ((uint16_t)device_taken == queue->available->index)
		return false;
	uint16_t head = queue->available->ring[device_taken++ % QUEUE], id = head;

	for (unsigned parts = 1;; parts++) {
		const struct virtqueue_descriptor *d = &queue->descriptor[id];

		CHECK(parts <= QUEUE && id < QUEUE && !(d->flags & ~NEXT));
		CHECK(d->address >= PADDR && d->address + d->length <= PADDR + virtqueue_bytes(QUEUE));
		memcpy(whole + size, memory + (d->address - PADDR), d->length);
		size += d->length;
		if (!(d->flags & NEXT))
			break;
		id = d->next;
	}
	struct virtio_net_header header;

	memcpy(&header, whole, sizeof(header));
	CHECK(!header.buffers && !(header.flags & ~VIRTIO_NET_SUM));
	if (header.segmentation)
		cut(whole + sizeof(header), size - (uint32_t)sizeof(header), &header);
	else {
		complete(whole + sizeof(header), size - (uint32_t)sizeof(header), &header);
		arrive(whole + sizeof(header), size - (uint32_t)sizeof(header));
	}
	CHECK(device_count < QUEUE);
	device_holds[device_count++] = head;
	return true;
}

static void device_returns(uint16_t id)
{
	struct virtqueue_used *used = out.queue.used;

	used->ring[used->index % QUEUE].id = id;
	__atomic_store_n(&used->index, (uint16_t)(used->index + 1), __ATOMIC_RELEASE);
}

/* One of those that it holds, in any order. */
static void device_ends_one(void)
{
	if (!device_count)
		return;
	unsigned which = (unsigned)rand() % device_count;
	uint16_t id = device_holds[which];

	device_holds[which] = device_holds[--device_count];
	device_returns(id);
}

/* The next segment of a stream, sometimes with one thing that is not as before. */
static struct {
	uint32_t sequence, acknowledged, segment;
	uint16_t number, port;
	uint8_t version, protocol, fragment; /* as IP's header has them */
	bool calm; /* full segments, one behind the other */
} stream;

static uint32_t next_segment(uint8_t *frame)
{
	static const uint32_t sizes[] = { 1, 2, 9, 536, 1200, 1459, 1460 };
	uint32_t options = stream.calm || rand() % 50 ? 0 : 4u * (1 + (uint32_t)rand() % 10), data = stream.segment;
	uint8_t flags = 16;

	if (!(rand() % 300))
		stream.calm = !stream.calm;
	if (!(rand() % 60))
		stream.segment = stream.calm ? 1460 : sizes[(unsigned)rand() % 7];
	if (!(rand() % 100)) { /* a run of segments that are not cut up, or of ordinary ones */
		unsigned odd = (unsigned)rand() % 8;

		stream.protocol = odd == 1 ? 17 : 6;
		stream.version = odd == 2 ? 0x46 : 0x45;
		stream.fragment = odd == 3 ? 0x20 : odd == 4 ? 0x40 : 0; /* more follow; must not be fragmented */
	}
	if (!stream.calm && !(rand() % 8))
		data = (uint32_t)rand() % (stream.segment + 1);
	if (data > LONGEST - HEADERS - options)
		data = LONGEST - HEADERS - options;
	for (uint32_t i = 0; i < HEADERS + options + data; i++)
		frame[i] = (uint8_t)rand();
	memcpy(frame, "\x52\x54\0\x53\x4b\1\2\0\0\0\0\1\x08\0\x45\0", 16);
	store_be16(frame + IP + 2, (uint16_t)(40 + options + data));
	store_be16(frame + IP + 4, stream.number);
	memcpy(frame + IP + 6, "\0\0\xff", 3);
	frame[IP] = stream.version;
	frame[IP + 6] = stream.fragment;
	frame[IP + 9] = stream.protocol;
	memcpy(frame + IP + 12, "\x0a\0\2\x65\x0a\0\2\2", 8);
	store_be16(frame + TCP, 6379);
	store_be16(frame + TCP + 2, stream.port);
	store_be32(frame + TCP + 4, stream.sequence);
	store_be32(frame + TCP + 8, stream.acknowledged);
	frame[TCP + 12] = (uint8_t)((5 + options / 4) << 4);
	memcpy(frame + TCP + 14, "\x20\0", 2);
	memset(frame + TCP + 18, 0, 2);
	for (uint32_t i = 0; i < options; i++)
		frame[HEADERS + i] = rand() % 400 ? 1 : 0;
	if (!stream.calm && !(rand() % 6))
		flags |= 8;
	if (!stream.calm && !(rand() % 60))
		flags |= 1;
	frame[TCP + 13] = flags;
	stream.sequence += data;
	stream.number++;
	return HEADERS + options + data;
}

/* Changes one thing of a segment, so that it is no part of what came before. Returns its size. */
static uint32_t spoil(uint8_t *frame, uint32_t size)
{
	static const uint8_t fields[] = {
		0, 5, 6, 11, IP + 1, IP + 4, IP + 5, IP + 6, IP + 8, IP + 12, IP + 19, TCP, TCP + 1, TCP + 2, TCP + 3,
		TCP + 4, TCP + 6, TCP + 7, TCP + 8, TCP + 11, TCP + 12, TCP + 13, TCP + 14, TCP + 15, TCP + 18,
		TCP + 19,
	};

	switch (rand() % 12) {
	case 0: frame[IP + 9] = (uint8_t[]){ 1, 17, 6, 99 }[rand() % 4]; break;
	case 1: store_be16(frame + 12, 0x0806); break;
	case 2: frame[IP] = (uint8_t)(0x40 | rand() % 16); break;
	case 3: store_be16(frame + IP + 6, (uint16_t)(0x2000 >> rand() % 5)); break;
	case 4: store_be16(frame + IP + 2, (uint16_t)(size - IP + (uint32_t)rand() % 5 - 2)); break;
	case 5: /* padded, or cut short */
		size = size < 60 ? 60 : size - (uint32_t)rand() % 10;
		break;
	case 6: frame[TCP + 13] ^= (uint8_t)(1u << rand() % 6); break;
	case 7: store_be16(frame + IP + 4, (uint16_t)(load_be16(frame + IP + 4) + 1)); break;
	default: frame[fields[(unsigned)rand() % sizeof(fields)]] ^= (uint8_t)(1u << rand() % 8); break;
	}
	return size;
}

static void start(bool sums, bool segments, uint32_t seed)
{
	srand(seed);
	memory = aligned_alloc(4096, virtqueue_bytes(QUEUE));
	CHECK(memory);
	memset(memory, 0, virtqueue_bytes(QUEUE));
	memset(&out, 0, sizeof(out));
	virtqueue_init(&out.queue, memory, PADDR, QUEUE, false);
	out.queue.doorbell = &doorbell;
	out.sums = sums;
	out.segments = segments;
	outgoing_start(&out);
	device_taken = device_count = sent_count = arrived_count = merged = 0;
	stream.segment = 1460;
	stream.version = 0x45;
	stream.protocol = 6;
}

static void send_one(void)
{
	struct frame *frame = &sent[sent_count++ % FRAMES];

	if (!out.idle_count)
		outgoing_reclaim(&out);
	if (!out.idle_count) {
		sent_count--;
		return;
	}
	frame->size = next_segment(frame->bytes);
	if (!stream.calm && !(rand() % 12))
		frame->size = spoil(frame->bytes, frame->size);
	memcpy(outgoing_reserve(&out), frame->bytes, frame->size);
	outgoing_send(&out, frame->size);
	checksum_make(frame->bytes, frame->size);
}

static void traffic(bool sums, bool segments)
{
	start(sums, segments, 20261127);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned burst = (unsigned)rand() % 80;

		if (!(rand() % 100))
			stream.acknowledged++;
		if (!(rand() % 200))
			stream.port++;
		for (unsigned i = 0; i < burst; i++, step++)
			send_one();
		outgoing_flush(&out);
		for (unsigned n = (unsigned)rand() % QUEUE; n && device_takes(); n--)
			;
		for (unsigned n = (unsigned)rand() % QUEUE; n; n--)
			device_ends_one();
	}
	while (device_takes())
		;
	CHECK(arrived_count == sent_count);
	while (device_count)
		device_ends_one();
	outgoing_reclaim(&out);
	CHECK(out.idle_count == QUEUE);
	CHECK(segments ? merged > STEPS / 100 : !merged);
	free(memory);
}

/* Each buffer is idle, in the growing frame, or held, once. */
static void check_buffers(void)
{
	unsigned seen[QUEUE] = { 0 };

	for (unsigned i = 0; i < out.idle_count; i++)
		seen[out.idle[i]]++;
	for (uint16_t i = 0; i < QUEUE; i++)
		for (uint16_t n = out.held[i], id = i; n; n--, id = out.next[id])
			seen[id]++;
	for (unsigned i = 0; i < QUEUE; i++)
		CHECK(seen[i] <= 1);
}

static void lies(void)
{
	start(true, true, 7);
	for (unsigned round = 0; round < 20000; round++) {
		for (unsigned i = (unsigned)rand() % 20; i; i--) {
			if (!out.idle_count)
				outgoing_reclaim(&out);
			if (!out.idle_count)
				break;
			static uint8_t frame[LONGEST];
			uint32_t size = next_segment(frame);

			memcpy(outgoing_reserve(&out), frame, size);
			outgoing_send(&out, size);
		}
		for (unsigned i = (unsigned)rand() % 200; i; i--) /* what it has not been given yet */
			virtqueue_buffer(&out.queue,
			                 (uint16_t)((unsigned)rand() % QUEUE))[(unsigned)rand() % (VIRTIO_NET_HEADER +
				HEADERS)] = (uint8_t)rand();
		if (out.growing.frames > 1 && rand() % 2) /* a protocol that the driver sums itself */
			virtqueue_buffer(&out.queue, out.growing.head)[VIRTIO_NET_HEADER + IP_PROTOCOL] = PROTOCOL_ICMP;
		outgoing_flush(&out);
		for (unsigned i = (unsigned)rand() % 64; i; i--)
			device_returns((uint16_t)rand());
		if (!(rand() % 50))
			out.queue.used->index = (uint16_t)rand();
		uint16_t taken = out.queue.taken;

		outgoing_reclaim(&out);
		CHECK((uint16_t)(out.queue.taken - taken) <= QUEUE);
		check_buffers();
	}
	free(memory);
}

int main(void)
{
	traffic(false, false);
	traffic(true, false);
	traffic(true, true);
	lies();
	return 0;
}
