/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's own allocator: malloc's lock may be held by the caller.
 * Powers of two up to half a page from free lists, larger blocks in pages. A
 * header of 16 bytes before the block keeps its size.
 */
#include <string.h>
#include "layer.h"

struct header {
	uint64_t size; /* with the header; a class size, or whole pages */
	struct header *next;
};

enum { SMALLEST_SHIFT = 5, CLASSES = 7 }; /* 32 B .. 2 KiB */

static struct header *free_list[CLASSES];

static unsigned size_class(size_t size)
{
	unsigned class = 0;
	require(size && size <= PAGE / 2);
	while ((size_t)1 << (SMALLEST_SHIFT + class) < size)
		class++;
	return class;
}

static bool class_refill(unsigned class)
{
	size_t size = (size_t)1 << (SMALLEST_SHIFT + class);
	char *page = heap_map(1);

	if (!page)
		return false;
	for (size_t offset = 0; offset < PAGE; offset += size) {
		struct header *h = (struct header *)(page + offset);
		h->size = size;
		h->next = free_list[class];
		free_list[class] = h;
	}
	return true;
}

void *layer_allocate(size_t size)
{
	size_t whole = size + sizeof(struct header);
	struct header *h;

	if (whole < size)
		return 0;
	if (whole > PAGE / 2) {
		size_t pages = (whole + PAGE - 1) / PAGE;
		if (!(h = heap_map(pages)))
			return 0;
		h->size = pages * PAGE;
		return h + 1;
	}
	unsigned class = size_class(whole);
	if (!free_list[class] && !class_refill(class))
		return 0;
	h = free_list[class];
	require(h->size == (size_t)1 << (SMALLEST_SHIFT + class));
	free_list[class] = h->next;
	memset(h + 1, 0, h->size - sizeof(*h));
	return h + 1;
}

void layer_free(void *block)
{
	if (!block)
		return;
	struct header *h = (struct header *)block - 1;
	require(h->size > PAGE / 2 ? h->size % PAGE == 0 : h->size && !(h->size & (h->size - 1)));
	if (h->size > PAGE / 2) {
		heap_unmap(h, h->size / PAGE);
		return;
	}
	unsigned class = size_class(h->size);
	h->next = free_list[class];
	free_list[class] = h;
}
