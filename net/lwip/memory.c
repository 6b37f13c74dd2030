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
#include "arch/cc.h"
#include "memory.h"

enum {
	SMALLEST_SHIFT = 6, /* 64 bytes */
	CLASSES = 6,        /* up to 2048: a full frame and its pbuf */
	LAYER_HEADER = 16,  /* that the layer puts before a block: it rounds the sum up to a power of two */
	KEPT_MAX = 512 * 1024,
	RESERVE = 64, /* blocks of each class */
};

/* In front of every block; 16 bytes, to keep its alignment. */
struct block {
	struct block *next;
	uint32_t class; /* CLASSES or more: not of a usual size */
	uint32_t to_send;
};
_Static_assert(sizeof(struct block) == 16, "alignment");

struct list {
	struct block *first;
	unsigned count;
};

static struct list kept[CLASSES], reserve[CLASSES];
static size_t kept_bytes, send_bytes;
static bool sending;

static size_t class_bytes(size_t class) { return (size_t)1 << (SMALLEST_SHIFT + class); }

/* The smallest class with room for so many bytes, block header included; CLASSES or more: none has. */
static size_t class_of(size_t whole)
{
	const size_t last = (whole + LAYER_HEADER - 1) >> SMALLEST_SHIFT;

	return last ? 64 - (size_t)__builtin_clzll(last) : 0;
}

static void list_put(struct list *list, struct block *block)
{
	block->next = list->first;
	list->first = block;
	list->count++;
}

static struct block *list_take(struct list *list)
{
	struct block *block = list->first;

	if (block) {
		list->first = block->next;
		list->count--;
	}
	return block;
}

bool net_memory_start(void)
{
	for (size_t class = 0; class < CLASSES; class++)
		while (reserve[class].count < RESERVE) {
			struct block *block = layer_allocate(class_bytes(class) - LAYER_HEADER);

			if (!block)
				return false;
			block->class = (uint32_t)class;
			list_put(&reserve[class], block);
		}
	return true;
}

void net_memory_sending(bool on) { sending = on; }

size_t net_memory_sent(void) { return send_bytes; }

static struct block *take(size_t class)
{
	struct block *block = list_take(&kept[class]);

	if (block) {
		kept_bytes -= class_bytes(class);
		return block;
	}
	block = layer_allocate(class_bytes(class) - LAYER_HEADER);
	return block || sending ? block : list_take(&reserve[class]);
}

void *net_allocate(size_t size)
{
	const size_t whole = size + sizeof(struct block);
	struct block *block;
	size_t class;

	if (size > SIZE_MAX - sizeof(struct block) - LAYER_HEADER)
		return NULL;
	class = class_of(whole);
	block = class < CLASSES ? take(class) : layer_allocate(whole);
	if (!block)
		return NULL;
	block->class = (uint32_t)class;
	block->to_send = sending && class < CLASSES;
	if (block->to_send)
		send_bytes += class_bytes(class);
	return block + 1;
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
	if (block->to_send)
		send_bytes -= class_bytes(block->class);
	if (reserve[block->class].count < RESERVE) {
		list_put(&reserve[block->class], block);
	} else if (kept_bytes >= KEPT_MAX) {
		layer_free(block);
	} else {
		kept_bytes += class_bytes(block->class);
		list_put(&kept[block->class], block);
	}
}
