/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of shared memory (skerry/ring.h) between one producer and one
 * consumer: nothing lost, doubled or read half; nobody sleeps for ever; a peer
 * that writes what it likes moves nobody out of the slots.
 */
#include <stdatomic.h>
#include "explore.h"
#include <skerry/ring.h>

enum { SLOTS_MAX = 4, LEGS = 2 };

static _Alignas(64) uint8_t memory[LEGS][sizeof(struct ring) + SLOTS_MAX * RING_SLOT];
static struct ring_end sender[LEGS], receiver[LEGS]; /* each is one thread's own */

/* A notification, no stronger than it must be: a word that one sets and the other takes. */
static _Atomic uint32_t bell[3];

static void signal(unsigned of) { atomic_store_explicit(&bell[of], 1, memory_order_release); }
static void wait(unsigned self)
{
	while (!atomic_load_explicit(&bell[self], memory_order_acquire))
		explore_relax();
	atomic_exchange_explicit(&bell[self], 0, memory_order_acquire);
}

static void begin(unsigned slots, unsigned slots_after)
{
	for (unsigned leg = 0; leg < LEGS; leg++) {
		sender[leg] = ring_producer(memory[leg], leg ? slots_after : slots);
		receiver[leg] = ring_consumer(memory[leg], leg ? slots_after : slots);
	}
	explore_name(memory, sizeof(memory), "ring");
	explore_name(bell, sizeof(bell), "bell");
}
static void one_slot(void) { begin(1, 2); }
static void two_slots(void) { begin(2, 1); }
static void four_slots(void) { begin(4, 4); }

static void fill(void *slot, uint64_t number)
{
	uint64_t *word = slot;
	word[0] = number;
	word[RING_PAYLOAD / 8 - 1] = ~number;
}

static uint64_t take(const void *slot)
{
	const uint64_t *word = slot;
	EXPLORE_CHECK(word[RING_PAYLOAD / 8 - 1] == ~word[0], "a slot is read half written");
	return word[0];
}

/* Without sleeping: what is sent arrives, in order. */
static void polling(unsigned self, unsigned messages)
{
	for (unsigned i = 1; i <= messages; i++) {
		void *slot;
		while (!(slot = self ? ring_peek(&receiver[0]) : ring_reserve(&sender[0])))
			explore_relax();
		if (self) {
			uint64_t got = take(slot);
			EXPLORE_CHECK(got == i, "message %u is %llu", i, (unsigned long long)got);
			ring_release(&receiver[0]);
		} else {
			fill(slot, i);
			ring_publish(&sender[0]);
		}
	}
}
static void polling_three(unsigned self) { polling(self, 3); }
static void polling_five(unsigned self) { polling(self, 5); }

/* As cluster-manager/root/link/channel.c sends: all there is room for, then one signal. */
static void send_sleeping(unsigned leg, unsigned self, unsigned to, unsigned messages)
{
	for (unsigned sent = 0; sent < messages;) {
		bool any = false;
		while (sent < messages) {
			void *slot = ring_reserve(&sender[leg]);
			if (!slot) {
				ring_arm_room(&sender[leg]);
				slot = ring_reserve(&sender[leg]);
				if (!slot)
					break;
			}
			fill(slot, ++sent);
			ring_publish(&sender[leg]);
			any = true;
		}
		if (any && ring_wanted(&sender[leg]))
			signal(to);
		if (sent < messages)
			wait(self);
	}
}

static void *peek_or_arm(unsigned leg)
{
	void *slot = ring_peek(&receiver[leg]);
	if (!slot) {
		ring_arm(&receiver[leg]);
		slot = ring_peek(&receiver[leg]);
	}
	return slot;
}

static void receive_sleeping(unsigned leg, unsigned self, unsigned from, unsigned messages)
{
	for (unsigned got = 0; got < messages;) {
		bool any = false;
		void *slot;
		while (got < messages && (slot = peek_or_arm(leg))) {
			uint64_t number = take(slot);
			EXPLORE_CHECK(number == ++got, "message %u is %llu", got, (unsigned long long)number);
			ring_release(&receiver[leg]);
			any = true;
		}
		if (any && ring_room_wanted(&receiver[leg]))
			signal(from);
		if (got < messages)
			wait(self);
	}
}

static void sleeping(unsigned self, unsigned messages)
{
	if (self)
		receive_sleeping(0, 1, 0, messages);
	else
		send_sleeping(0, 0, 1, messages);
}
static void sleeping_two(unsigned self) { sleeping(self, 2); }
static void sleeping_three(unsigned self) { sleeping(self, 3); }

/* Three in a row: the middle one has a bell for both of its rings. */
static void forwarding(unsigned self)
{
	if (self == 0) {
		send_sleeping(0, 0, 1, 2);
	} else if (self == 2) {
		receive_sleeping(1, 2, 1, 2);
	} else {
		receive_sleeping(0, 1, 0, 2);
		send_sleeping(1, 1, 2, 2);
	}
}

/* The middle one sends first: that it is signalled by the one behind it must not hide the signal of the one before. */
static void sending_first(unsigned self)
{
	if (self == 0) {
		send_sleeping(0, 0, 1, 1);
	} else if (self == 2) {
		receive_sleeping(1, 2, 1, 2);
	} else {
		send_sleeping(1, 1, 2, 2);
		receive_sleeping(0, 1, 0, 1);
	}
}

static void inside(const void *slot, unsigned slots)
{
	const uint8_t *at = slot, *first = memory[0] + sizeof(struct ring);
	EXPLORE_CHECK(!slot || (at >= first && at + RING_PAYLOAD <= first + slots * RING_SLOT), "outside of the slots");
}

static const uint64_t lies[] = { 0, 1, 2, 3, ~0ull, 1ull << 63 };
enum { LIES = sizeof(lies) / sizeof(lies[0]) };

/* The consumer claims to have taken anything at any time: no more than the slots there are are ever given out. */
static void lying_consumer(unsigned self)
{
	struct ring *ring = (struct ring *)memory[0];
	if (self) {
		for (unsigned i = 0; i < LIES; i++)
			atomic_store_explicit(&ring->taken, lies[i], memory_order_relaxed);
		return;
	}
	uint64_t given = 0;
	for (unsigned i = 0; i < 4; i++) {
		void *slot = ring_reserve(&sender[0]);
		inside(slot, 2);
		if (!slot)
			continue;
		given++;
		ring_publish(&sender[0]);
		EXPLORE_CHECK(sender[0].position == given && sender[0].limit - sender[0].position <= 2,
		              "room that is not there");
	}
}

static void lying_producer(unsigned self)
{
	struct ring *ring = (struct ring *)memory[0];
	if (self) {
		for (unsigned i = 0; i < LIES; i++)
			atomic_store_explicit(&ring->slot[i & 1].sequence, lies[i], memory_order_relaxed);
		return;
	}
	uint64_t got = 0;
	for (unsigned i = 0; i < 4; i++) {
		const void *slot = ring_peek(&receiver[0]);
		inside(slot, 2);
		if (!slot)
			continue;
		got++;
		ring_release(&receiver[0]);
		EXPLORE_CHECK(receiver[0].position == got, "the place moved by more than one");
	}
}

static const struct explore_case cases[] = {
	{ .name = "polling, 1 slot, 3 messages", .threads = 2, .begin = one_slot, .thread = polling_three },
	{ .name = "polling, 2 slots, 5 messages", .threads = 2, .begin = two_slots, .thread = polling_five },
	{ .name = "polling, 4 slots, 5 messages", .threads = 2, .begin = four_slots, .thread = polling_five },
	{ .name = "sleeping, 1 slot, 2 messages", .threads = 2, .begin = one_slot, .thread = sleeping_two },
	{ .name = "sleeping, 1 slot, 3 messages", .threads = 2, .begin = one_slot, .thread = sleeping_three },
	{ .name = "sleeping, 2 slots, 3 messages", .threads = 2, .begin = two_slots, .thread = sleeping_three },
	{ .name = "sleeping, 4 slots, 3 messages", .threads = 2, .begin = four_slots, .thread = sleeping_three },
	{ .name = "forwarding, 1 slot then 2, 2 messages, 3 threads", .threads = 3, .begin = one_slot,
	  .thread = forwarding },
	{ .name = "forwarding, 2 slots then 1, 2 messages, 3 threads", .threads = 3, .begin = two_slots,
	  .thread = forwarding },
	{ .name = "sending first, 1 slot, 2 messages, 3 threads", .threads = 3, .begin = two_slots,
	  .thread = sending_first },
	{ .name = "a lying consumer", .threads = 2, .begin = two_slots, .thread = lying_consumer },
	{ .name = "a lying producer", .threads = 2, .begin = two_slots, .thread = lying_producer },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
