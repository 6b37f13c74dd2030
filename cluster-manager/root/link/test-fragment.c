/* SPDX-License-Identifier: BSD-2-Clause */
/* Every length of message goes over a real ring and comes back the same; broken sequences are refused. */
#include <stdlib.h>
#include <string.h>
#include "fragment.h"
#include "test-check.h"

enum { SLOTS = 8 };

static _Alignas(64) char memory[sizeof(struct ring) + SLOTS * RING_SLOT];
static struct ring_end out, in;
static struct assembly assembly;

/* Takes all that is in the ring; the number of whole messages. */
static unsigned receive(void)
{
	unsigned whole = 0;
	const void *slot;
	while ((slot = ring_peek(&in))) {
		struct fragment f;
		memcpy(&f, slot, sizeof(f));
		ring_release(&in);
		enum assembly_state state = fragment_join(&assembly, &f);
		CHECK(state != ASSEMBLY_BROKEN);
		whole += state == ASSEMBLY_WHOLE;
	}
	return whole;
}

static unsigned send_and_receive(uint16_t type, const uint8_t *body, size_t size)
{
	unsigned whole = 0;
	for (uint32_t i = 0; i < fragment_count(size); i++) {
		void *slot = ring_reserve(&out);
		while (!slot) { /* full: the receiver has its turn */
			whole += receive();
			slot = ring_reserve(&out);
		}
		struct fragment f;
		fragment_cut(&f, type, body, size, i);
		memcpy(slot, &f, sizeof(f));
		ring_publish(&out);
	}
	return whole + receive();
}

static void check_all_lengths(void)
{
	static uint8_t body[MESSAGE_SIZE_MAX];
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t size = 0; size <= MESSAGE_SIZE_MAX; size++) {
		CHECK(send_and_receive((uint16_t)(size + 1), body, size) == 1);
		CHECK(assembly.type == (uint16_t)(size + 1) && assembly.total == size);
		CHECK(!memcmp(assembly.body, body, size));
		memset(assembly.body, 0, size);
	}
}

static void check_broken(void)
{
	static const uint8_t body[200];
	struct fragment first, second, third;
	fragment_cut(&first, 1, body, sizeof(body), 0);
	fragment_cut(&second, 1, body, sizeof(body), 1);
	fragment_cut(&third, 1, body, sizeof(body), 2);

	memset(&assembly, 0, sizeof(assembly));
	CHECK(fragment_join(&assembly, &second) == ASSEMBLY_BROKEN); /* no beginning */
	CHECK(fragment_join(&assembly, &first) == ASSEMBLY_MORE);
	CHECK(fragment_join(&assembly, &third) == ASSEMBLY_BROKEN); /* a gap */
	CHECK(fragment_join(&assembly, &first) == ASSEMBLY_MORE);   /* and it goes on afterwards */
	struct fragment other = second;
	other.type = 2;
	CHECK(fragment_join(&assembly, &other) == ASSEMBLY_BROKEN);
	CHECK(fragment_join(&assembly, &first) == ASSEMBLY_MORE);
	other = second;
	other.total = 4000;
	CHECK(fragment_join(&assembly, &other) == ASSEMBLY_BROKEN);
	other = first;
	other.total = MESSAGE_SIZE_MAX + 1;
	CHECK(fragment_join(&assembly, &other) == ASSEMBLY_BROKEN); /* too long */

	/* whatever comes, nothing beyond the body is written: the sanitizers watch */
	srand(1);
	for (unsigned i = 0; i < 200000; i++) {
		struct fragment f;
		f.type = (uint16_t)(rand() % 2);
		f.total = (uint16_t)(rand() % 4 ? rand() % 300 : rand());
		f.offset = (uint16_t)(rand() % 2 ? assembly.received : rand());
		enum assembly_state state = fragment_join(&assembly, &f);
		CHECK(assembly.received <= MESSAGE_SIZE_MAX);
		CHECK(state != ASSEMBLY_WHOLE || assembly.total <= MESSAGE_SIZE_MAX);
	}
}

/* Both sides begin anew at another position: what is left in the slots is no message, and no slot is lost. */
static void check_anew(void)
{
	struct fragment f = { .total = 1 };
	for (uint64_t position = 0; position < 3ull << 44; position += 1ull << 44) {
		out = ring_producer_at(memory, SLOTS, position);
		in = ring_consumer_at(memory, SLOTS, position);
		CHECK(!ring_peek(&in));
		for (unsigned i = 0; i < SLOTS; i++) {
			void *slot = ring_reserve(&out);
			CHECK(slot);
			if (!slot)
				return;
			memcpy(slot, &f, sizeof(f));
			ring_publish(&out);
		}
		CHECK(!ring_reserve(&out));
		CHECK(ring_peek(&in));
		ring_release(&in);
		CHECK(ring_reserve(&out));
	}
}

int main(void)
{
	check_anew();
	memset(memory, 0, sizeof(memory));
	out = ring_producer(memory, SLOTS);
	in = ring_consumer(memory, SLOTS);
	check_all_lengths();
	check_broken();
	return failures != 0;
}
