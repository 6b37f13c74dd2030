/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

enum {
	DESCRIPTOR_NEXT = 1,        /* another one follows */
	DESCRIPTOR_WRITE = 2,       /* the device writes this buffer */
	AVAILABLE_NO_INTERRUPT = 1, /* without event indices: hints, both ways */
	USED_NO_NOTIFY = 1,
};

static uint64_t available_offset(uint16_t size) { return (uint64_t)size * sizeof(struct virtqueue_descriptor); }
static uint64_t used_offset(uint16_t size)
{
	uint64_t end = available_offset(size) + sizeof(struct virtqueue_available) + 2ull * size + 2;

	return (end + 63) & ~63ull; /* apart from what the driver writes */
}
static uint64_t buffers_offset(uint16_t size)
{
	uint64_t end = used_offset(size) + sizeof(struct virtqueue_used) + 8ull * size + 2;

	return (end + VIRTQUEUE_BUFFER - 1) & ~(uint64_t)(VIRTQUEUE_BUFFER - 1);
}

uint64_t virtqueue_bytes(uint16_t size)
{
	return (buffers_offset(size) + (uint64_t)size * VIRTQUEUE_BUFFER + 4095) & ~4095ull;
}

uint64_t virtqueue_available_paddr(const struct virtqueue *queue)
{
	return queue->paddr + available_offset(queue->size);
}
uint64_t virtqueue_used_paddr(const struct virtqueue *queue) { return queue->paddr + used_offset(queue->size); }

static uint64_t buffer_paddr(const struct virtqueue *queue, uint16_t id)
{
	return queue->paddr + buffers_offset(queue->size) + (uint64_t)id * VIRTQUEUE_BUFFER;
}

void virtqueue_init(struct virtqueue *queue, void *memory, uint64_t paddr, uint16_t size, bool device_writes)
{
	uint8_t *base = memory;

	require(size && !(size & (size - 1)) && size <= VIRTQUEUE_MAX && !(paddr & 4095));
	*queue = (struct virtqueue){
		.size = size,
		.descriptor = memory,
		.available = (void *)(base + available_offset(size)),
		.used = (void *)(base + used_offset(size)),
		.buffers = base + buffers_offset(size),
		.paddr = paddr,
	};
	for (uint16_t i = 0; i < size; i++)
		queue->descriptor[i] = (struct virtqueue_descriptor){
			.address = buffer_paddr(queue, i),
			.length = VIRTQUEUE_BUFFER,
			.flags = device_writes ? DESCRIPTOR_WRITE : 0,
		};
}

void virtqueue_post(struct virtqueue *queue, uint16_t id, uint32_t length)
{
	require(id < queue->size && length && length <= VIRTQUEUE_BUFFER);
	queue->descriptor[id].length = length;
	virtqueue_post_again(queue, id);
}

void virtqueue_chain(struct virtqueue *queue, uint16_t last, uint16_t id, uint32_t offset, uint32_t length)
{
	require(id < queue->size && last < queue->size && id != last && length && offset + length <= VIRTQUEUE_BUFFER);
	queue->descriptor[id].address = buffer_paddr(queue, id) + offset;
	queue->descriptor[id].length = length;
	queue->descriptor[last].next = id;
	queue->descriptor[last].flags = DESCRIPTOR_NEXT;
}

void virtqueue_unchain(struct virtqueue *queue, uint16_t id)
{
	require(id < queue->size);
	queue->descriptor[id].address = buffer_paddr(queue, id);
	queue->descriptor[id].flags = 0;
}

void virtqueue_exchange(struct virtqueue *queue, uint64_t reads, uint32_t read, uint64_t writes, uint32_t written)
{
	require(queue->size >= 2 && queue->posted == queue->taken && read && written);
	queue->descriptor[0] = (struct virtqueue_descriptor){ reads, read, DESCRIPTOR_NEXT, 1 };
	queue->descriptor[1] = (struct virtqueue_descriptor){ writes, written, DESCRIPTOR_WRITE, 0 };
	virtqueue_post_again(queue, 0);
}

/*
 * The device sees the stores before the fence before the loads after it are done. A locked instruction is no fence in
 * QEMU with one thread for all processors (-accel tcg,thread=single): it becomes a plain load and store there, while
 * the device runs on another thread.
 */
static inline void memory_fence(void) { __asm__ volatile("mfence" ::: "memory"); }

static uint16_t *used_event(struct virtqueue *queue) { return &queue->available->ring[queue->size]; }
static uint16_t *available_event(struct virtqueue *queue) { return (uint16_t *)&queue->used->ring[queue->size]; }

void virtqueue_kick(struct virtqueue *queue)
{
	uint16_t before = queue->published;
	bool wanted;

	if (queue->posted == before)
		return;
	queue->published = queue->posted;
	__atomic_store_n(&queue->available->index, queue->posted, __ATOMIC_RELEASE);
	memory_fence(); /* the publication is there before the look at what the device wants */
	if (queue->event_index) {
		uint16_t event = __atomic_load_n(available_event(queue), __ATOMIC_RELAXED);

		wanted = (uint16_t)(queue->posted - event - 1) < (uint16_t)(queue->posted - before);
	} else {
		wanted = !(__atomic_load_n(&queue->used->flags, __ATOMIC_RELAXED) & USED_NO_NOTIFY);
	}
	if (wanted)
		*queue->doorbell = queue->number;
}

bool virtqueue_peek(const struct virtqueue *queue, uint16_t *id, uint32_t *length)
{
	unsigned slot = queue->taken & (queue->size - 1u);

	if (__atomic_load_n(&queue->used->index, __ATOMIC_ACQUIRE) == queue->taken)
		return false;
	/* one load of each: the device can change them between two */
	*id = (uint16_t)(__atomic_load_n(&queue->used->ring[slot].id, __ATOMIC_RELAXED) & (queue->size - 1u));
	*length = __atomic_load_n(&queue->used->ring[slot].length, __ATOMIC_RELAXED);
	return true;
}

void virtqueue_arm(struct virtqueue *queue)
{
	if (queue->event_index)
		__atomic_store_n(used_event(queue), queue->taken, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&queue->available->flags, 0, __ATOMIC_RELAXED);
	memory_fence(); /* the wish is there before the last look for a buffer */
}

void virtqueue_disarm(struct virtqueue *queue)
{
	if (!queue->event_index) /* an event index in the past is silent by itself */
		__atomic_store_n(&queue->available->flags, AVAILABLE_NO_INTERRUPT, __ATOMIC_RELAXED);
}
