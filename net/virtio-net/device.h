/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A split virtqueue (Virtual I/O Device specification 1.0, section 2.4) whose
 * descriptor i always names buffer i: nothing to allocate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <skerry/process.h>
#include <skerry/require.h>

enum { VIRTQUEUE_BUFFER = 2048, VIRTQUEUE_MAX = 256, VIRTQUEUE_MIN = 16 };

struct virtqueue_descriptor {
	uint64_t address;
	uint32_t length;
	uint16_t flags;
	uint16_t next;
};

struct virtqueue_available {
	uint16_t flags;
	uint16_t index;
	uint16_t ring[]; /* one more at the end: used_event */
};

struct virtqueue_used {
	uint16_t flags;
	uint16_t index;
	struct {
		uint32_t id;
		uint32_t length;
	} ring[]; /* 16 bits more at the end: avail_event */
};

struct virtqueue {
	uint16_t size; /* a power of two */
	uint16_t posted;    /* buffers given to the device so far, modulo 2^16 */
	uint16_t published; /* of them, those that were announced to it */
	uint16_t taken;     /* buffers taken back so far */
	bool event_index;   /* VIRTIO_F_EVENT_IDX was negotiated */
	struct virtqueue_descriptor *descriptor;
	struct virtqueue_available *available;
	struct virtqueue_used *used;
	uint8_t *buffers;
	uint64_t paddr;             /* of the queue's memory: descriptors first */
	volatile uint16_t *doorbell;
	uint16_t number;
};

/* Bytes of DMA memory for a queue of `size` buffers; a multiple of 4 KiB. */
uint64_t virtqueue_bytes(uint16_t size);

/* `memory` (physical `paddr`) is zero. `device_writes`: its buffers are for receiving. */
void virtqueue_init(struct virtqueue *queue, void *memory, uint64_t paddr, uint16_t size, bool device_writes);

/* Physical addresses of the available and used rings. */
uint64_t virtqueue_available_paddr(const struct virtqueue *queue);
uint64_t virtqueue_used_paddr(const struct virtqueue *queue);

static inline uint8_t *virtqueue_buffer(const struct virtqueue *queue, uint16_t id)
{
	require(id < queue->size);
	return queue->buffers + (uint32_t)id * VIRTQUEUE_BUFFER;
}

/* Give buffer `id` of `length` bytes to the device; it learns of it by virtqueue_kick(). */
void virtqueue_post(struct virtqueue *queue, uint16_t id, uint32_t length);
/* The same of a buffer that was posted before, with its length. */
static inline void virtqueue_post_again(struct virtqueue *queue, uint16_t id)
{
	require(id < queue->size);
	queue->available->ring[queue->posted++ & (queue->size - 1)] = id;
}
void virtqueue_kick(struct virtqueue *queue);

/*
 * Buffer `id`, from `offset` on, becomes the part behind `last` of what the
 * device reads; neither has been posted. virtqueue_unchain() undoes it, for each
 * of both, once the device is done with them.
 */
void virtqueue_chain(struct virtqueue *queue, uint16_t last, uint16_t id, uint32_t offset, uint32_t length);
void virtqueue_unchain(struct virtqueue *queue, uint16_t id);

/*
 * Posts a request of which the device reads `read` bytes at one physical address and answers with up to `written` at
 * another. Both lie outside the queue's buffers; descriptors 0 and 1 serve, so there is one request at a time and no
 * other buffer in the queue. The device learns of it by virtqueue_kick(), and virtqueue_peek() then gives buffer 0 and
 * the bytes that it says it has written.
 */
void virtqueue_exchange(struct virtqueue *queue, uint64_t reads, uint32_t read, uint64_t writes, uint32_t written);

/* The oldest buffer that the device is done with, left where it is until virtqueue_take(). `*id` is below `size`. */
bool virtqueue_peek(const struct virtqueue *queue, uint16_t *id, uint32_t *length);
static inline void virtqueue_take(struct virtqueue *queue) { queue->taken++; }

/* Ask for an interrupt at the next buffer it is done with; then peek once more. */
void virtqueue_arm(struct virtqueue *queue);
void virtqueue_disarm(struct virtqueue *queue);

/*
 * Frames on their way to the device. Where it sums (VIRTIO_NET_F_CSUM) a frame
 * of TCP or UDP leaves with the sum of its pseudo header. Where it cuts up
 * segments (VIRTIO_NET_F_HOST_TSO4), those that follow each other in one batch
 * leave as one frame: the headers of the first, and the data of all where it
 * was copied to, as a chain of descriptors. The device, or whoever its frames
 * reach, makes the same segments of it again, byte for byte. Virtual I/O Device
 * specification 1.0, sections 5.1.6 and 2.4.5.
 */

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

/* Bringing up a virtio network device of the modern kind (specification 1.0, sections 3.1, 4.1 and 5.1). */

struct virtio_net {
	struct virtqueue receive;
	struct outgoing transmit;
	bool receives_summed; /* the device says which frames it answers for */
};

/*
 * Reset the device, agree on features, lay both queues into the DMA memory
 * (as large as fits, up to VIRTQUEUE_MAX) and start it. Null, or what is wrong.
 * Frames of up to 64 KiB (VIRTIO_NET_F_GUEST_TSO4) are not taken: a port
 * carries frames of one packet, so they would be cut up here again.
 */
const char *virtio_net_start(struct virtio_net *net, const struct process_info *info);
