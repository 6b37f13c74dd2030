/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bell word (skerry/bell.h) of a process that reads several rings: no message stays in a ring while it sleeps, and
 * each producer signals at most once for each of its sleeps.
 */
#include <stdatomic.h>
#include "explore.h"
#include <skerry/bell.h>
#include <skerry/ring.h>

enum { SLOTS = 4, PRODUCERS = 2 };

static _Alignas(64) uint8_t memory[PRODUCERS][sizeof(struct ring) + SLOTS * RING_SLOT];
static struct ring_end sender[PRODUCERS], receiver[PRODUCERS];
static struct bell word;
static uint64_t rung[PRODUCERS];   /* each is one producer's own */
static unsigned signals[PRODUCERS];
static unsigned sleeps;            /* the consumer's own */
static unsigned producers;

/* The process's notification, no stronger than it must be. */
static _Atomic uint32_t notification;

static void wait(void)
{
	while (!atomic_load_explicit(&notification, memory_order_acquire))
		explore_relax();
	atomic_exchange_explicit(&notification, 0, memory_order_acquire);
}

static void begin(unsigned count)
{
	producers = count;
	for (unsigned i = 0; i < PRODUCERS; i++) {
		sender[i] = ring_producer(memory[i], SLOTS);
		receiver[i] = ring_consumer(memory[i], SLOTS);
	}
	explore_name(memory, sizeof(memory), "ring");
	explore_name(&word, sizeof(word), "bell word");
	explore_name(&notification, sizeof(notification), "notification");
}
static void one(void) { begin(1); }
static void two(void) { begin(2); }

static void produce(unsigned self, unsigned messages)
{
	for (unsigned i = 1; i <= messages; i++) {
		*(uint64_t *)ring_reserve(&sender[self]) = i;
		ring_publish(&sender[self]);
		if (bell_rings(&word, &rung[self])) {
			signals[self]++;
			atomic_store_explicit(&notification, 1, memory_order_release);
		}
	}
}

static unsigned take_all(void)
{
	unsigned taken = 0;
	const uint64_t *message;
	for (unsigned i = 0; i < producers; i++)
		for (; (message = ring_peek(&receiver[i])); taken++) {
			EXPLORE_CHECK(*message == receiver[i].position + 1, "a message is not the next one");
			ring_release(&receiver[i]);
		}
	return taken;
}

static void consume(unsigned messages)
{
	for (;;) {
		bell_awake(&word);
		messages -= take_all();
		if (!messages)
			return;
		bell_arm(&word);
		sleeps++;
		messages -= take_all();
		if (!messages)
			return;
		wait();
	}
}

static void run(unsigned self, unsigned messages)
{
	if (self < producers)
		produce(self, messages);
	else
		consume(producers * messages);
}
static void one_message(unsigned self) { run(self, 1); }
static void two_messages(unsigned self) { run(self, 2); }
static void three_messages(unsigned self) { run(self, 3); }

static void once_for_each_sleep(void)
{
	for (unsigned i = 0; i < producers; i++)
		EXPLORE_CHECK(signals[i] <= sleeps, "more signals than sleeps");
}

/* A process that armed is served by another thread of its own, which arms anew (apps/libc/posix/event.c). */
static void armed_anew(unsigned self)
{
	if (!self) {
		produce(0, 2);
		return;
	}
	bell_arm(&word);
	unsigned taken = take_all();
	bell_arm(&word); /* that thread has only sent something */
	taken += take_all();
	while (taken < 2) {
		wait();
		bell_awake(&word);
		taken += take_all();
		if (taken == 2)
			break;
		bell_arm(&word);
		taken += take_all();
	}
}

/* Whatever a process writes to its own word, a producer comes to an end. */
static void lying_word(unsigned self)
{
	static const uint64_t lies[] = { 1, 2, ~0ull, 0, 1 };
	if (!self) {
		produce(0, 3);
		return;
	}
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		atomic_store_explicit(&word.sleeps, lies[i], memory_order_relaxed);
}

static const struct explore_case cases[] = {
	{ .name = "one ring, 1 message", .threads = 2, .begin = one, .thread = one_message,
	  .end = once_for_each_sleep },
	{ .name = "one ring, 2 messages", .threads = 2, .begin = one, .thread = two_messages,
	  .end = once_for_each_sleep },
	{ .name = "one ring, 3 messages", .threads = 2, .begin = one, .thread = three_messages,
	  .end = once_for_each_sleep },
	{ .name = "two rings, 1 message each", .threads = 3, .begin = two, .thread = one_message,
	  .end = once_for_each_sleep },
	{ .name = "armed anew, 2 messages", .threads = 2, .begin = one, .thread = armed_anew },
	{ .name = "a lying word", .threads = 2, .begin = one, .thread = lying_word },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
