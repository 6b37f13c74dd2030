/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A split virtqueue (Virtual I/O Device specification 1.0, section 2.4) whose
 * descriptor i always names buffer i: nothing to allocate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
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
