/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's memory: a pbuf, a segment, a connection. Freed blocks of the usual
 * sizes are kept for the next, so that a request and its answer cost a few
 * instructions here; what is kept has a bound, the rest goes back to the layer.
 */
#include <string.h>
#include <skerry/posix.h>
#include "arch/cc.h"

enum {
	CLASS_STEP = 128, /* bytes */
	CLASSES = 13,     /* up to 1664: a full frame and its pbuf */
	KEPT_MAX = 512 * 1024,
};

/* In front of every block; 16 bytes, to keep its alignment. */
struct block {
	struct block *next;
	uint32_t class; /* CLASSES: not of a usual size */
	uint32_t reserved;
};
_Static_assert(sizeof(struct block) == 16, "alignment");

static struct block *kept[CLASSES];
static size_t kept_bytes;

void *net_allocate(size_t size)
{
	size_t whole = size + sizeof(struct block);
	size_t class = (whole - 1) / CLASS_STEP;
	struct block *block;

	if (whole < size)
		return NULL;
	if (class < CLASSES && kept[class]) {
		block = kept[class];
		kept[class] = block->next;
		kept_bytes -= (class + 1) * CLASS_STEP;
		return block + 1;
	}
	block = layer_allocate(class < CLASSES ? (class + 1) * CLASS_STEP : whole);
	if (!block)
		return NULL;
	block->class = class < CLASSES ? (uint32_t)class : CLASSES;
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
	struct block *block = (struct block *)memory - 1;

	if (!memory)
		return;
	if (block->class >= CLASSES || kept_bytes >= KEPT_MAX) {
		layer_free(block);
		return;
	}
	kept_bytes += (block->class + 1) * CLASS_STEP;
	block->next = kept[block->class];
	kept[block->class] = block;
}
