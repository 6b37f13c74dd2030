/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring between two threads: millions of messages through rings of several
 * sizes arrive once and in order, with both sides sleeping through the arm and
 * wanted pairs. A lost wake shows as a hang, which the runner ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <skerry/ring.h>
#include "test.h"

struct pipe {
	unsigned slots;
	uint64_t messages;
	_Alignas(64) uint8_t memory[sizeof(struct ring) + 256 * RING_SLOT];
	sem_t full, room; /* stand for the two notifications */
	uint64_t sleeps[2];
};

static void *produce(void *argument)
{
	struct pipe *pipe = argument;
	struct ring_end end = ring_producer(pipe->memory, pipe->slots);

	for (uint64_t n = 0; n < pipe->messages; n++) {
		uint64_t *payload;

		while (!(payload = ring_reserve(&end))) {
			ring_arm_room(&end);
			if ((payload = ring_reserve(&end)))
				break;
			pipe->sleeps[0]++;
			sem_wait(&pipe->room);
		}
		for (unsigned i = 0; i < RING_PAYLOAD / 8; i++)
			payload[i] = n * 7 + i;
		ring_publish(&end);
		if (n % 3 == 0 || n + 1 == pipe->messages || !ring_reserve(&end)) /* not after each one: batches */
			if (ring_wanted(&end))
				sem_post(&pipe->full);
	}
	return NULL;
}

static void consume(struct pipe *pipe)
{
	struct ring_end end = ring_consumer(pipe->memory, pipe->slots);

	for (uint64_t n = 0; n < pipe->messages; n++) {
		uint64_t *payload;

		while (!(payload = ring_peek(&end))) {
			ring_arm(&end);
			if ((payload = ring_peek(&end)))
				break;
			if (ring_room_wanted(&end))
				sem_post(&pipe->room);
			pipe->sleeps[1]++;
			sem_wait(&pipe->full);
		}
		for (unsigned i = 0; i < RING_PAYLOAD / 8; i++)
			CHECK(payload[i] == n * 7 + i);
		ring_release(&end);
		if (n % 2 == 0 && ring_room_wanted(&end))
			sem_post(&pipe->room);
	}
	CHECK(!ring_peek(&end));
}

/* Nothing that a peer writes leads this side out of its ring. */
static void lies(void)
{
	static _Alignas(64) uint8_t memory[sizeof(struct ring) + 16 * RING_SLOT];
	struct ring *ring = (void *)memory;
	struct ring_end end = ring_producer(memory, 16);

	for (int i = 0; i < 16; i++) {
		CHECK(ring_reserve(&end));
		ring_publish(&end);
	}
	CHECK(!ring_reserve(&end));
	ring->taken = 17; /* more than was ever sent */
	CHECK(!ring_reserve(&end));
	ring->taken = UINT64_MAX;
	CHECK(!ring_reserve(&end));
	ring->taken = 1;
	CHECK(ring_reserve(&end) == ring->slot[0].payload);

	end = ring_consumer(memory, 16);
	ring->slot[0].sequence = 17; /* a lap ahead */
	CHECK(!ring_peek(&end));
}

int main(void)
{
	static const unsigned slots[] = { 1, 2, 16, 256 };

	lies();
	for (unsigned i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		struct pipe *pipe = aligned_alloc(64, sizeof(*pipe));
		pthread_t thread;

		memset(pipe, 0, sizeof(*pipe));
		pipe->slots = slots[i];
		pipe->messages = slots[i] < 16 ? 50000 : slots[i] < 256 ? 300000 : 3000000;
		sem_init(&pipe->full, 0, 0);
		sem_init(&pipe->room, 0, 0);
		pthread_create(&thread, NULL, produce, pipe);
		consume(pipe);
		pthread_join(thread, NULL);
		printf("%u slots: %lu messages in order, slept %lu times for room, %lu for messages\n", slots[i],
		       pipe->messages, pipe->sleeps[0], pipe->sleeps[1]);
		free(pipe);
	}
	return 0;
}
