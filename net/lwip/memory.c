/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's memory: a pbuf, a segment, a connection. Freed blocks of the usual
 * sizes are kept for the next, so that a request and its answer cost a few
 * instructions here; what is kept has a bound, the rest goes back to the layer.
 *
 * Blocks are powers of two, as the layer's are, so that none wastes a second
 * rounding. Some of each size are a reserve that data to send never takes: a
 * received acknowledgement, which is what frees memory, always finds some.
 */
#include <string.h>
#include <skerry/posix.h>
#include <skerry/require.h>
#include "arch/cc.h"
#include "memory.h"

enum {
	SMALLEST_SHIFT = 6, /* 64 bytes */
	CLASSES = 6,        /* up to 2048: a full frame and its pbuf */
	LAYER_HEADER = 16,  /* that the layer puts before a block: it rounds the sum up to a power of two */
	KEPT_MAX = 512 * 1024,
};

/* In front of every block; 16 bytes, to keep its alignment. */
struct block {
	struct block *next;
	uint32_t class;   /* CLASSES or more: not of a usual size */
	uint32_t to_send; /* its bytes, if it holds data to send; else 0 */
};
_Static_assert(sizeof(struct block) == 16, "alignment");

static struct block *kept[CLASSES], *reserve[CLASSES]; /* each has its class already */
/* Blocks that the reserve lacks. Long frames with data have places of their own first (received.c), and
 * acknowledgements are short. */
static unsigned missing[CLASSES] = { 64, 64, 64, 64, 16, 16 };
static const uint32_t class_bytes[CLASSES] = { 64, 128, 256, 512, 1024, 2048 };
_Static_assert(SMALLEST_SHIFT == 6 && CLASSES == 6, "a size for each class");
static size_t kept_bytes, send_bytes;
static uint32_t sending; /* all bits, or none */

/* The smallest class with room for so many bytes, block header included; CLASSES or more: none has. */
static size_t class_of(size_t whole)
{
	const size_t last = (whole + LAYER_HEADER - 1) >> SMALLEST_SHIFT;

	return last ? 64 - (size_t)__builtin_clzll(last) : 0;
}

static void block_put(struct block **list, struct block *block)
{
	block->next = *list;
	*list = block;
}

bool net_memory_start(void)
{
	for (size_t class = 0; class < CLASSES; class++)
		for (; missing[class]; missing[class]--) {
			struct block *block = layer_allocate(class_bytes[class] - LAYER_HEADER);

			if (!block)
				return false;
			block->class = (uint32_t)class;
			block_put(&reserve[class], block);
		}
	return true;
}

void net_memory_sending(bool on)
{
	require(on == !sending);
	sending = on ? UINT32_MAX : 0;
}

size_t net_memory_sent(void) { return send_bytes; }

/* Where none is kept. */
static __attribute__((noinline)) struct block *block_make(size_t class)
{
	struct block *block = layer_allocate(class_bytes[class] - LAYER_HEADER);

	if (block) {
		block->class = (uint32_t)class;
	} else if (!sending && reserve[class]) {
		require(reserve[class]->class == class);
		block = reserve[class];
		reserve[class] = block->next;
		missing[class]++;
	}
	return block;
}

static __attribute__((noinline)) void *allocate_large(size_t whole)
{
	struct block *block = layer_allocate(whole);

	if (!block)
		return NULL;
	block->class = CLASSES;
	return block + 1;
}

void *net_allocate(size_t size)
{
	const size_t whole = size + sizeof(struct block), class = class_of(whole);
	struct block *block;

	if (size > SIZE_MAX - sizeof(struct block) - LAYER_HEADER)
		return NULL;
	if (class >= CLASSES)
		return allocate_large(whole);
	block = kept[class];
	if (block) {
		require(block->class == class && kept_bytes >= class_bytes[class]);
		kept[class] = block->next;
		kept_bytes -= class_bytes[class];
	} else if (!(block = block_make(class))) {
		return NULL;
	}
	block->to_send = class_bytes[class] & sending;
	send_bytes += block->to_send;
	return block + 1;
}

bool net_memory_has(size_t size)
{
	const size_t class = class_of(size + sizeof(struct block));
	struct block *block;

	require(class < CLASSES);
	if (kept[class] || (!sending && reserve[class]))
		return true;
	block = block_make(class);
	if (!block)
		return false;
	block_put(&kept[class], block);
	kept_bytes += class_bytes[class];
	return true;
}

bool net_memory_layer_has(size_t size)
{
	void *block = layer_allocate(size);

	layer_free(block);
	return block;
}

void *net_allocate_zeroed(size_t count, size_t size)
{
	void *block = NULL;

	if (!size || count <= SIZE_MAX / size)
		block = net_allocate(count * size);
	if (block)
		memset(block, 0, count * size);
	return block;
}

void net_free(void *memory)
{
	struct block *block;

	if (!memory)
		return;
	block = (struct block *)memory - 1;
	if (block->class >= CLASSES) {
		layer_free(block);
		return;
	}
	require(send_bytes >= block->to_send && (!block->to_send || block->to_send == class_bytes[block->class]));
	send_bytes -= block->to_send;
	if (missing[block->class]) {
		missing[block->class]--;
		block_put(&reserve[block->class], block);
	} else if (kept_bytes >= KEPT_MAX) {
		layer_free(block);
	} else {
		kept_bytes += class_bytes[block->class];
		block_put(&kept[block->class], block);
	}
}
