/* SPDX-License-Identifier: BSD-2-Clause */
/* What an operation's record is drawn into: numbers, slots, words and addresses. Of operation.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include "operation.h"
#include "players.h"
#include "vspace.h"

/* The one that this thread of the host is drawing for. */
static _Thread_local struct {
	struct hosted *machine;
	const uint8_t *operand;
	unsigned left;
	uint64_t state;
} draw;

static void begin(struct hosted *machine, const uint8_t record[RECORD_SIZE])
{
	draw.machine = machine;
	draw.operand = record + RECORD_OPERANDS;
	draw.left = RECORD_SIZE - RECORD_OPERANDS;
	draw.state = 0x9e3779b97f4a7c15ull;
	for (unsigned i = 0; i < RECORD_SIZE; i++)
		draw.state = (draw.state ^ record[i]) * 0x100000001b3ull;
}

/* Below `count`. */
static unsigned pick(unsigned count)
{
	if (draw.left) {
		unsigned value = *draw.operand++;
		draw.left--;
		return count > 256 ? (value * 0x101u + (unsigned)(draw.state >> 40)) % count : value % count;
	}
	draw.state ^= draw.state << 13;
	draw.state ^= draw.state >> 7;
	draw.state ^= draw.state << 17;
	return (draw.state >> 33) % count;
}
static bool one_in(unsigned n) { return pick(n) == n - 1; } /* no operand at all is the usual case */

static uint64_t any_slot(void)
{
	unsigned which = pick(64);
	if (which >= 62)
		return pick(1u << ROOT_CNODE_BITS);
	if (which >= 56)
		return pick(ROOT_SLOT_CHANNEL + 2);
	return PLAY_FIRST + which % PLAY_SLOTS;
}

/* What a slot of the root CNode seems to hold. Another core may be changing it: the sanitizer need not know. */
__attribute__((no_sanitize("thread"))) static unsigned peek_type(uint64_t slot)
{
	return ((const volatile struct slot *)draw.machine->root_cnode)[slot].cap.type;
}

/* A slot that holds this type, if there is one. */
static uint64_t slot_of_type(unsigned type)
{
	unsigned start = pick(PLAY_SLOTS + 1);
	for (unsigned i = 0; i < PLAY_SLOTS && start < PLAY_SLOTS; i++) {
		uint64_t slot = PLAY_FIRST + (start + i) % PLAY_SLOTS;
		if (peek_type(slot) == type)
			return slot;
	}
	return any_slot();
}

static uint64_t any_word(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 4096, 1 << 21, 1 << 30, 1ull << 39, 1ull << 47, USER_TOP - 4096, ~0ull,
	                                1ull << 63, -1ull << 47 };
	unsigned which = pick(96);
	if (which < sizeof(odd) / sizeof(odd[0]))
		return odd[which];
	return which < 64 ? which : PLAY_FIRST + which % PLAY_SLOTS;
}

static uint64_t any_vaddr(void)
{
	unsigned which = pick(128);
	uint64_t vaddr = (which & 3ull) << 39 | (which >> 2 & 1ull) << 30 | (which >> 3 & 3ull) << 21 |
	                 (which >> 5) * 4096ull;
	return which == 127 ? any_word() : which >= 80 ? PLAY_BUFFERS + which % 16 * 4096 : vaddr;
}
