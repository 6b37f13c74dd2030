/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "fragment.h"

static size_t piece_size(size_t total, size_t offset)
{
	require(offset <= total && total <= MESSAGE_SIZE_MAX);
	size_t left = total - offset;
	return left < FRAGMENT_DATA ? left : FRAGMENT_DATA;
}

void fragment_cut(struct fragment *f, uint16_t type, const void *body, size_t size, uint32_t index)
{
	require(size <= MESSAGE_SIZE_MAX && index < fragment_count(size));
	size_t offset = (size_t)index * FRAGMENT_DATA;
	*f = (struct fragment){ .type = type, .total = (uint16_t)size, .offset = (uint16_t)offset };
	memcpy(f->data, (const uint8_t *)body + offset, piece_size(size, offset));
}

enum assembly_state fragment_join(struct assembly *a, const struct fragment *f)
{
	if (f->offset == 0 && a->received == 0) {
		if (f->total > MESSAGE_SIZE_MAX)
			return ASSEMBLY_BROKEN;
		a->type = f->type;
		a->total = f->total;
	} else if (f->offset != a->received || f->total != a->total || f->type != a->type) {
		a->received = 0;
		return ASSEMBLY_BROKEN;
	}
	size_t size = piece_size(a->total, f->offset);
	memcpy(a->body + f->offset, f->data, size);
	require(f->offset + size <= sizeof(a->body));
	a->received = (uint16_t)(a->received + size);
	if (a->received < a->total)
		return ASSEMBLY_MORE;
	a->received = 0;
	return ASSEMBLY_WHOLE;
}
