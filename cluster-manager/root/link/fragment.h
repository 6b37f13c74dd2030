/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between managers, cut into pieces of one ring slot each. Pieces of
 * one message follow one another, so a piece whose offset is not what has been
 * received so far means that the peer broke the protocol.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <skerry/ring.h>
#include "mailbox.h"

enum { FRAGMENT_DATA = 48 }; /* of MESSAGE_SIZE_MAX at most in all */

struct fragment {
	uint16_t type;
	uint16_t total;  /* bytes of the whole message */
	uint16_t offset; /* of this piece */
	uint16_t reserved;
	uint8_t data[FRAGMENT_DATA];
};
_Static_assert(sizeof(struct fragment) == RING_PAYLOAD, "a piece fills a slot");

/* How many pieces a message of `size` bytes takes; an empty one takes one. */
static inline uint32_t fragment_count(size_t size)
{
	return size ? (uint32_t)((size + FRAGMENT_DATA - 1) / FRAGMENT_DATA) : 1;
}

/* Makes piece `index` of a message. */
void fragment_cut(struct fragment *f, uint16_t type, const void *body, size_t size, uint32_t index);

/* A message being put together. All zero: nothing received yet. */
struct assembly {
	uint16_t type, total, received;
	_Alignas(8) uint8_t body[MESSAGE_SIZE_MAX];
};

enum assembly_state { ASSEMBLY_MORE, ASSEMBLY_WHOLE, ASSEMBLY_BROKEN };

/* `f` is private memory (the peer cannot change it meanwhile). After WHOLE, `type`, `total` and `body` hold. */
enum assembly_state fragment_join(struct assembly *a, const struct fragment *f);
