/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two cluster-managers' channel code (cluster-manager/root/channel.c) over one
 * channel: they find each other, talk, sleep; one starts again in the middle.
 * No timer helps: what is not announced by a bell is slept through.
 */
#include "handshake.h"
#include <skerry/channel.h>
#include "channel-memory.h"
#include "channel.h"
#include "console.h"
#include "explore.h"
#include "fragment.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

/* Instances 0 and 1 are the sides; 2 is side 1, started again. */
#define INSTANCE(n)                                                                          \
	void channels_init_##n(int notification);                                            \
	int channel_send_##n(uint32_t cluster, uint16_t type, const void *body, size_t size);\
	void channels_work_##n(void);
INSTANCE(0) INSTANCE(1) INSTANCE(2)

enum { SIDES = 2, INSTANCES = 3, OWN = 1 << 18 };

static _Alignas(4096) uint8_t memory[CHANNEL_RINGS + SIDES * CHANNEL_RING];
static struct root_info info[SIDES];
static struct manager {
	unsigned instance;
	unsigned received, lost;
	uint8_t last;
	size_t taken;
	_Alignas(64) uint8_t own[OWN];
} manager[INSTANCES];
static struct manager *self_of[SIDES]; /* each side's own */

/* A bell that nobody listens to is not heard, as in the kernel. */
static _Atomic uint32_t bell[SIDES], listens[SIDES];
static struct explore_line line[SIDES];

/* The side whose code runs: a thread's, or the one that begin() plays. */
static int played = -1;
static unsigned side_of_self(void) { return played >= 0 ? (unsigned)played : explore_self(); }

const struct root_info *root_of_self(void) { return &info[side_of_self()]; }

int bell_signal(uint64_t doorbell)
{
	(void)doorbell;
	unsigned to = !side_of_self();
	if (played < 0)
		explore_drain();
	if (atomic_load_explicit(&listens[to], memory_order_acquire)) {
		atomic_fetch_or_explicit(&bell[to], 1, memory_order_release);
		if (played < 0)
			explore_raise(&line[to]);
	}
	return 0;
}

int bell_listen(void)
{
	if (played < 0)
		explore_drain();
	atomic_store_explicit(&listens[side_of_self()], 1, memory_order_release);
	return 0;
}

static bool rung(void *which) { return *(uint32_t *)which != 0; }

static void wait_for_bell(void)
{
	unsigned self = side_of_self();
	explore_rest(&line[self], rung, &bell[self]);
	atomic_exchange_explicit(&bell[self], 0, memory_order_acquire);
}

/*
 * Payloads stay as they are: zeroing one races with a peer that still reads the
 * old side's last message, which nothing in the protocol prevents.
 */
void *shared_memset(void *start, int byte, size_t size)
{
	uint8_t *at = start;
	if (at < memory || at >= memory + sizeof(memory))
		return memset(start, byte, size);
	struct ring *ring = start;
	atomic_store_explicit(&ring->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->wanted, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->room_wanted, 0, memory_order_relaxed);
	for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
		atomic_store_explicit(&ring->slot[i].sequence, 0, memory_order_relaxed);
	return start;
}

void *own_memory(uint64_t size)
{
	struct manager *m = self_of[side_of_self()];
	void *start = m->own + m->taken;
	m->taken += (size + 63) & ~63ull;
	EXPLORE_CHECK(m->taken <= OWN, "a manager needs more memory");
	return start;
}
void *channel_memory_map(uint32_t index) { return index ? 0 : memory; }
int slots_take(uint32_t count) { return (int)count; }
void console_print(const char *format, ...) { (void)format; }
void manager_panic(const char *format, ...) { explore_fail("a manager panics: %s", format); }

void channel_received(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	struct manager *m = self_of[side_of_self()];
	EXPLORE_CHECK(cluster == !side_of_self() && type == 9 && size == 1, "a message is not what was sent");
	m->received++;
	m->last = *(const uint8_t *)body;
}

void channel_peer_lost(uint32_t cluster, const char *why)
{
	(void)cluster, (void)why;
	self_of[side_of_self()]->lost++;
}

static void set_up(void)
{
	for (unsigned side = 0; side < SIDES; side++) {
		info[side].cluster = side;
		info[side].channel_count = 1;
		info[side].channel[0] = (struct root_channel){ .id = 0, .peer = !side, .side = side };
	}
	explore_name(memory, CHANNEL_RINGS, "header");
	explore_name(memory + CHANNEL_RINGS, CHANNEL_RING, "ring 0>1");
	explore_name(memory + CHANNEL_RINGS + CHANNEL_RING, CHANNEL_RING, "ring 1>0");
	explore_name(bell, sizeof(bell), "bell");
	explore_name(listens, sizeof(listens), "listens");
}

static void begin_instance(unsigned instance)
{
	static void (*const init[])(int) = { channels_init_0, channels_init_1, channels_init_2 };
	unsigned self = side_of_self();
	self_of[self] = &manager[instance];
	manager[instance].instance = instance;
	init[instance](1);
}

static void work(unsigned instance)
{
	static void (*const works[])(void) = { channels_work_0, channels_work_1, channels_work_2 };
	works[instance]();
}

static void send(unsigned instance, uint8_t what)
{
	static int (*const sends[])(uint32_t, uint16_t, const void *, size_t) = { channel_send_0, channel_send_1, channel_send_2 };
	EXPLORE_CHECK(sends[instance](!side_of_self(), 9, &what, 1) == 0, "a message is refused");
}

/* Serves the channel for good. */
static void serve(unsigned instance)
{
	for (;;) {
		wait_for_bell();
		work(instance);
	}
}

/* Both have opened the channel, seen each other, and a message has come to side 0. */
static void both_up(void)
{
	for (played = 0; played < SIDES; played++)
		begin_instance(played);
	for (unsigned i = 0; i < 2 * SIDES; i++) {
		played = i % SIDES;
		work(played);
	}
	played = 1;
	send(1, 11);
	played = 0;
	work(0);
	played = -1;
	EXPLORE_CHECK(manager[0].received == 1, "the channel does not come up");
	manager[0].received = 0;
	bell[0] = bell[1] = 0;
}

static void one_way(unsigned self)
{
	if (!self)
		send(0, 10);
	serve(self);
}

static void both_ways(unsigned self)
{
	send(self, 10 + self);
	serve(self);
}

/* Side 1's whole cluster is stopped and started: its kernel forgets who listened. */
static void restart(void)
{
	atomic_store_explicit(&listens[1], 0, memory_order_release);
	atomic_store_explicit(&bell[1], 0, memory_order_release);
	begin_instance(2);
}

/* Then a message comes from the new one. */
static void starts_again(unsigned self)
{
	if (self) {
		restart();
		send(2, 12);
	}
	serve(self ? 2 : 0);
}

/* While side 0 has something to say to whoever is there. */
static void starts_again_unheard(unsigned self)
{
	if (self)
		restart();
	else
		send(0, 10);
	serve(self ? 2 : 0);
}

/* Its last words are heard whole or not at all. */
static void last_words(unsigned self)
{
	if (self) {
		send(1, 11);
		restart();
	}
	serve(self ? 2 : 0);
}

static void one_came(void)
{
	EXPLORE_CHECK(manager[1].received == 1 && manager[1].last == 10, "the message never arrives");
}

static void both_came(void)
{
	one_came();
	EXPLORE_CHECK(manager[0].received == 1 && manager[0].last == 11, "the answer never arrives");
	EXPLORE_CHECK(!manager[0].lost && !manager[1].lost, "a peer is thought lost");
}

static void the_new_ones_came(void)
{
	EXPLORE_CHECK(manager[0].received == 1 && manager[0].last == 12, "the new peer's message never arrives");
	EXPLORE_CHECK(manager[0].lost <= 1, "a peer is lost more often than it starts");
}

/* It may have gone to the one that stopped. Whatever comes is whole (channel_received()), and side 0 has noticed. */
static void noticed(void)
{
	EXPLORE_CHECK(manager[0].lost == 1, "a peer started again and nobody noticed");
	EXPLORE_CHECK(manager[2].received <= 1, "a message came twice");
}

static const struct explore_case cases[] = {
	{ .name = "one way", .threads = 2, .set_up = set_up, .begin = both_up, .thread = one_way, .end = one_came },
	{ .name = "both ways", .threads = 2, .set_up = set_up, .begin = both_up, .thread = both_ways, .end = both_came },
	{ .name = "one starts again", .threads = 2, .set_up = set_up, .begin = both_up, .thread = starts_again, .end = the_new_ones_came },
	{ .name = "one starts again and is told something", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = starts_again_unheard, .end = noticed },
	{ .name = "last words", .threads = 2, .set_up = set_up, .begin = both_up, .thread = last_words, .end = noticed },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
