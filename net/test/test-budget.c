/* SPDX-License-Identifier: BSD-2-Clause */
/* How a stack's memory is divided, that the reserve is a reserve, and what is left of a frame that finds no memory. */
#include <stdlib.h>
#include <string.h>
#include "../lwip/budget.h"
#include "../lwip/headers.h"
#include "../lwip/include/arch/cc.h"
#include "../lwip/memory.h"
#include "test.h"

enum { MIB = 1 << 20, CONNECTIONS = 1000, SEGMENT = 1460, COST = SEGMENT + BUDGET_SEGMENT_OVERHEAD };

/* --- the layer: so many bytes, in blocks rounded up as the real one does --- */

static size_t layer_left, layer_blocks;

void *layer_allocate(size_t size);
void layer_free(void *block);

static size_t rounded(size_t size)
{
	size_t whole = 32;

	while (whole < size + 16)
		whole *= 2;
	return whole;
}

void *layer_allocate(size_t size)
{
	size_t whole = rounded(size), *block;

	if (whole > layer_left)
		return NULL;
	layer_left -= whole;
	layer_blocks++;
	block = calloc(1, whole);
	*block = whole;
	return block + 2;
}

void layer_free(void *memory)
{
	size_t *block = (size_t *)memory - 2;

	layer_left += *block;
	layer_blocks--;
	free(block);
}

/* --- sending --- */

/* Connections that write all they may, in turns or one after the other, and whose peers take nothing. */
static void greedy_writers(size_t memory, unsigned count, bool in_turns)
{
	struct budget budget = budget_of(memory);
	size_t held[CONNECTIONS] = { 0 }, used = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned i = 0; i < count; i++)
			while (budget_send_bytes(budget_send_limit(&budget, used), held[i], SEGMENT) >= SEGMENT) {
				held[i] += COST;
				used += COST;
				moved = true;
				if (in_turns)
					break;
			}
	}
	CHECK(used <= budget.send_pool + count * (size_t)BUDGET_SEND_MIN + COST);
	for (unsigned i = 0; i < count; i++)
		CHECK(held[i] >= 2 * COST);
	/* the next one has its guaranteed part, and writes again when its peer has taken a segment */
	CHECK(budget_send_bytes(budget_send_limit(&budget, used), 0, SEGMENT) >= 2 * SEGMENT);
	CHECK(budget_send_bytes(budget_send_limit(&budget, used), COST, SEGMENT) >= SEGMENT);
	if (count == 1)
		CHECK(held[0] >= budget.send_pool / 16);
	if (in_turns && count >= 100)
		CHECK(held[0] <= 2 * held[count - 1] + COST);
}

static void pieces(void)
{
	CHECK(!budget_send_bytes(5000, 5000, SEGMENT) && !budget_send_bytes(5000, 6000, SEGMENT));
	CHECK(!budget_send_bytes(BUDGET_SEGMENT_OVERHEAD, 0, SEGMENT));
	CHECK(budget_send_bytes(BUDGET_SEGMENT_OVERHEAD + 1, 0, SEGMENT) == 1);
	CHECK(budget_send_bytes(COST, 0, SEGMENT) == SEGMENT);
	/* a peer with an MSS of 1 */
	CHECK(budget_send_bytes(BUDGET_SEND_MIN, 0, 1) == BUDGET_SEND_MIN / (1 + BUDGET_SEGMENT_OVERHEAD));
	/* with a quarter free, share.c calls a connection writable */
	CHECK(budget_send_bytes(BUDGET_SEND_MIN, BUDGET_SEND_MIN - BUDGET_SEND_MIN / 4, 1) > 0);
}

/* --- windows --- */

static void windows(size_t memory, unsigned count)
{
	enum { MAX = 256 * 1024 };
	struct budget budget = budget_of(memory);
	size_t credit[CONNECTIONS], promised = 0, alone;

	for (unsigned i = 0; i < count; i++) {
		credit[i] = budget_first_window(&budget, promised, MAX);
		CHECK(credit[i] >= BUDGET_WINDOW_MIN && credit[i] <= MAX);
		promised += credit[i];
	}
	/* all fill their windows, and their programs read everything: the windows grow, but not beyond the pool */
	for (unsigned round = 0; round < 50; round++)
		for (unsigned i = 0; i < count; i++) {
			size_t now = budget_credit(&budget, promised, credit[i], credit[i], credit[i], MAX);

			CHECK(now >= BUDGET_WINDOW_MIN && now <= MAX);
			promised = promised - credit[i] + now;
			credit[i] = now;
		}
	CHECK(promised <= budget.receive_pool + count * (size_t)BUDGET_WINDOW_MIN);
	/* small requests do not make a window grow, and a window never shrinks by more than was read */
	CHECK(budget_credit(&budget, 20000, 20000, 100, 100, MAX) == 20000);
	CHECK(budget_credit(&budget, budget.receive_pool * 2, 50000, 50000, 1000, MAX) == 49000);
	CHECK(budget_credit(&budget, budget.receive_pool * 2, BUDGET_WINDOW_MIN, 10, 10, MAX) == BUDGET_WINDOW_MIN);
	alone = budget_first_window(&budget, 0, MAX);
	for (unsigned i = 0; i < 20; i++)
		alone = budget_credit(&budget, alone, alone, alone, alone, MAX);
	CHECK(alone >= (budget.receive_pool / 16 < MAX ? budget.receive_pool / 16 : MAX));
}

/* --- memory --- */

static void reserve(void)
{
	static void *block[20000];
	unsigned count = 0, frames = 0;
	size_t blocks;

	layer_left = 4 * MIB;
	CHECK(net_memory_start());
	blocks = layer_blocks;
	net_memory_sending(true);
	while ((block[count] = net_allocate(1560)))
		count++;
	CHECK(!net_allocate(1560) && net_memory_sent() == count * 2048ul);
	net_memory_sending(false);
	while ((block[count + frames] = net_allocate(1560))) /* received ones still find memory */
		frames++;
	CHECK(frames == 16 && net_memory_sent() == count * 2048ul);
	CHECK(!net_memory_has(1560));
	while (net_memory_has(60)) { /* more of the short ones, whatever long ones have taken */
		const size_t before = layer_blocks;

		CHECK(net_memory_has(60) && layer_blocks == before);
		CHECK((block[count + frames] = net_allocate(60)) && layer_blocks == before);
		frames++;
	}
	CHECK(!net_allocate(60));
	CHECK(frames >= 16 + 64 && frames < 16 + 64 + 2048 / 128); /* the layer's rest has room for some */
	for (unsigned i = 0; i < count + frames; i++)
		net_free(block[i]);
	CHECK(!net_memory_sent());
	/* the reserve is whole again, and what is kept beside it has a bound */
	CHECK(layer_blocks >= blocks && layer_blocks <= blocks + 512 * 1024 / 2048 + 1);
	net_free(NULL);
	CHECK(!net_allocate_zeroed(SIZE_MAX, 2));
	for (size_t below = 0; below < 32; below++)
		CHECK(!net_allocate(SIZE_MAX - below));
}

/* Each size has its room (ASan looks), and from one class to the next none is wasted. */
static void all_sizes(void)
{
	layer_left = 4 * MIB;
	CHECK(net_memory_start());
	for (size_t size = 0; size < 5000; size++) {
		const size_t left = layer_left;
		size_t whole = 64;
		char *block;

		while (whole < size + 32)
			whole *= 2;
		net_memory_sending(true);
		CHECK((block = net_allocate(size)));
		net_memory_sending(false);
		CHECK(net_memory_sent() == (whole <= 2048 ? whole : 0));
		memset(block, 1, size);
		net_free(block);
		CHECK(whole <= 2048 || layer_left == left);
	}
}

static void no_memory_at_all(void)
{
	layer_left = 0;
	CHECK(!net_memory_start());
}

/* --- headers --- */

static void headers(void)
{
	uint8_t frame[200] = { [12] = 8, [14] = 0x46, [17] = 186, [23] = 6, [14 + 24 + 12] = 0x80,
	                       [14 + 24 + 13] = 0x19 };
	uint8_t to[HEADERS_MAX];
	enum { TCP = 14 + 24, WHOLE = 14 + 24 + 32 };

	CHECK(headers_only(to, frame, sizeof(frame)) == WHOLE);
	CHECK(to[16] == 0 && to[17] == 24 + 32 && to[TCP + 13] == 0x10); /* an acknowledgement; without its FIN */
	CHECK(!memcmp(to + 18, frame + 18, TCP + 13 - 18) && frame[TCP + 13] == 0x19);
	CHECK(headers_only(to, frame, WHOLE) == WHOLE && !headers_only(to, frame, WHOLE - 1) &&
	      !headers_only(to, frame, 14));
	frame[TCP + 13] = 4;
	CHECK(headers_only(to, frame, sizeof(frame)) == WHOLE);
	frame[TCP + 13] = 0x12; /* with SYN: lwIP would keep it */
	CHECK(!headers_only(to, frame, sizeof(frame)));
	frame[TCP + 13] = 0;
	CHECK(!headers_only(to, frame, sizeof(frame)));
	frame[TCP + 13] = 0x10;
	frame[20] = 0x20; /* a fragment */
	CHECK(!headers_only(to, frame, sizeof(frame)));
	frame[20] = 0x40;
	CHECK(headers_only(to, frame, sizeof(frame)));
	frame[TCP + 12] = 0x40;
	CHECK(!headers_only(to, frame, sizeof(frame)));
	frame[TCP + 12] = 0x80;
	frame[23] = 17;
	CHECK(!headers_only(to, frame, sizeof(frame)));
	frame[23] = 6;
	frame[13] = 6;
	CHECK(!headers_only(to, frame, sizeof(frame)));
}

int main(void)
{
	static const size_t memory[] = { 6 * MIB, 16 * MIB, 24 * MIB, 64 * MIB };
	static const unsigned count[] = { 1, 2, 50, 300, 384 };

	no_memory_at_all();
	for (unsigned m = 0; m < sizeof(memory) / sizeof(memory[0]); m++) {
		CHECK(budget_of(memory[m]).connections_max == memory[m] / 24576);
		for (unsigned c = 0; c < sizeof(count) / sizeof(count[0]); c++) {
			greedy_writers(memory[m], count[c], false);
			greedy_writers(memory[m], count[c], true);
			windows(memory[m], count[c]);
		}
	}
	pieces();
	reserve();
	all_sizes();
	headers();
	puts("passed");
	return 0;
}
