/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two cluster-managers' channel code (cluster-manager/root/link/channel.c) over one
 * channel: they find each other, talk, sleep; one starts again in the middle.
 * No timer helps: what is not announced by a bell is slept through.
 */
#include <skerry/channel.h>
#include "channel-memory.h"
#include "channel.h"
#include "console.h"
#include "explore.h"
#include "fragment.h"
#include "mailbox.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

/* Instances 0 and 1 are the sides; 2 and 3 are sides 0 and 1, started again. */
#define INSTANCE(n)                                                                          \
	void channels_init_##n(int notification);                                            \
	int channel_send_##n(uint32_t cluster, uint16_t type, const void *body, size_t size);\
	bool channels_work_##n(void);
INSTANCE(0) INSTANCE(1) INSTANCE(2) INSTANCE(3)

enum { SIDES = 2, INSTANCES = 4, OWN = 1 << 18 };

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

/* A bell that nobody listens to is not received, as in the kernel. */
static _Atomic uint32_t bell[SIDES], listens[SIDES];
static struct explore_line line[SIDES];

/* The side whose code runs: a thread's, or the one that begin() plays. */
static int played = -1;
static unsigned side_of_self(void) { return played >= 0 ? (unsigned)played : explore_self(); }

const struct root_info *root_of_self(void) { return &info[side_of_self()]; }

/* Side 1's first manager stops before it rings. */
static bool silent;

int bell_signal(uint64_t doorbell)
{
	(void)doorbell;
	unsigned to = !side_of_self();
	if (silent && side_of_self() == 1 && self_of[1]->instance == 1)
		return 0;
	if (atomic_load_explicit(&listens[to], memory_order_seq_cst)) {
		atomic_fetch_or_explicit(&bell[to], 1, memory_order_release);
		if (played < 0)
			explore_raise(&line[to]);
	}
	return 0;
}

int bell_listen(void)
{
	atomic_store_explicit(&listens[side_of_self()], 1, memory_order_seq_cst);
	return 0;
}

static bool rung(void *which) { return *(uint32_t *)which != 0; }

static void wait_for_bell(void)
{
	unsigned self = side_of_self();
	explore_rest(&line[self], rung, &bell[self]);
	atomic_exchange_explicit(&bell[self], 0, memory_order_acquire);
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
int channel_to(uint32_t cluster) { return cluster == !side_of_self() ? 0 : -1; }
int slots_take(uint32_t count) { return (int)count; }
void console_print(const char *format, ...) { (void)format; }
void manager_panic(const char *format, ...) { explore_fail("a manager panics: %s", format); }

bool mailbox_has_room(size_t bytes, uint32_t count)
{
	(void)bytes, (void)count;
	return true;
}

int mailbox_put(const struct mail *mail)
{
	struct manager *m = self_of[side_of_self()];
	if (mail->kind == MAIL_PEER_LOST) {
		m->lost++;
		return 0;
	}
	if (mail->kind == MAIL_PEER_BACK) /* for the run's state, which is not here */
		return 0;
	EXPLORE_CHECK(mail->cluster == !side_of_self() && mail->type == 9 && mail->size == 1, "a message is not what was sent");
	m->received++;
	m->last = *(const uint8_t *)mail->body;
	return 0;
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
	static void (*const init[])(int) = { channels_init_0, channels_init_1, channels_init_2, channels_init_3 };
	unsigned self = side_of_self();
	self_of[self] = &manager[instance];
	manager[instance].instance = instance;
	init[instance](1);
}

/* As the service loop does: again without a bell while the budget ran out. */
static void work(unsigned instance)
{
	static bool (*const works[])(void) = { channels_work_0, channels_work_1, channels_work_2, channels_work_3 };
	while (works[instance]())
		;
}

static void send(unsigned instance, uint8_t what)
{
	static int (*const sends[])(uint32_t, uint16_t, const void *, size_t) = {
		channel_send_0, channel_send_1, channel_send_2, channel_send_3 };
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

/* Both have opened the channel, seen each other, and messages have come to side 0: as many as the ring has slots. */
static void both_up(void)
{
	for (played = 0; played < SIDES; played++)
		begin_instance(played);
	for (unsigned i = 0; i < 2 * SIDES; i++) {
		played = i % SIDES;
		work(played);
	}
	for (unsigned i = 0; i < CHANNEL_SLOTS; i++) {
		played = 1;
		send(1, 11);
		played = 0;
		work(0);
	}
	played = -1;
	EXPLORE_CHECK(manager[0].received == CHANNEL_SLOTS, "the channel does not come up");
	manager[0].received = 0;
	bell[0] = bell[1] = 0;
}

static void one_way(unsigned self)
{
	if (!self)
		send(0, 10);
	serve(self);
}

/* More than one call of channels_work() takes; only the first of them rings. */
static void two_at_once(unsigned self)
{
	if (!self) {
		send(0, 9);
		send(0, 10);
	}
	serve(self);
}

static void both_ways(unsigned self)
{
	send(self, 10 + self);
	serve(self);
}

/* The side's whole cluster is stopped and started: its kernel forgets its listeners. */
static void restart(void)
{
	unsigned side = side_of_self();
	atomic_store_explicit(&listens[side], 0, memory_order_release);
	atomic_store_explicit(&bell[side], 0, memory_order_release);
	begin_instance(side + SIDES);
}

/* Then a message comes from the new one. */
static void starts_again(unsigned self)
{
	if (self) {
		restart();
		send(3, 12);
	}
	serve(self ? 3 : 0);
}

/* While side 0 has something to say to its peer. */
static void starts_again_unnoticed(unsigned self)
{
	if (self)
		restart();
	else
		send(0, 10);
	serve(self ? 3 : 0);
}

/* Its last words are received whole or not at all. */
static void last_words(unsigned self)
{
	if (self) {
		send(1, 11);
		restart();
	}
	serve(self ? 3 : 0);
}

static void last_words_unrung(unsigned self)
{
	if (self)
		silent = true;
	last_words(self);
}

/* And the new one speaks in the same slot. */
static void last_and_first_words(unsigned self)
{
	if (self) {
		send(1, 11);
		restart();
		send(3, 12);
	}
	serve(self ? 3 : 0);
}

/* And has a bell before it is acknowledged. */
static void last_and_first_words_answered(unsigned self)
{
	if (!self)
		send(0, 10);
	last_and_first_words(self);
}

static void both_open(unsigned self)
{
	begin_instance(self);
	both_ways(self);
}

static void both_start_again(unsigned self)
{
	restart();
	if (self)
		send(self + SIDES, 10 + self);
	serve(self + SIDES);
}

static void one_came(void)
{
	EXPLORE_CHECK(manager[1].received == 1 && manager[1].last == 10, "the message never arrives");
}

static void two_came(void)
{
	EXPLORE_CHECK(manager[1].received == 2 && manager[1].last == 10, "the second message never arrives");
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

/* It may have gone to the one that stopped. Whatever comes is whole (mailbox_put()), and side 0 has noticed. */
static void noticed(void)
{
	EXPLORE_CHECK(manager[0].lost == 1, "a peer started again and nobody noticed");
	EXPLORE_CHECK(manager[3].received <= 1, "a message came twice");
}

static void last_and_first_came(void)
{
	noticed();
	EXPLORE_CHECK(manager[0].received >= 1 && manager[0].received <= 2 && manager[0].last == 12,
	              "the new peer's message never arrives");
}

static void both_new_ones_came(void)
{
	EXPLORE_CHECK(manager[2].received == 1 && manager[2].last == 11, "the new peer's message never arrives");
	EXPLORE_CHECK(manager[2].lost <= 1 && manager[3].lost <= 1, "a peer is lost more often than it starts");
}

static const struct explore_case cases[] = {
	{ .name = "one way", .threads = 2, .set_up = set_up, .begin = both_up, .thread = one_way, .end = one_came },
	{ .name = "two at once", .threads = 2, .set_up = set_up, .begin = both_up, .thread = two_at_once, .end = two_came },
	{ .name = "both ways", .threads = 2, .set_up = set_up, .begin = both_up, .thread = both_ways, .end = both_came },
	{ .name = "one starts again", .threads = 2, .set_up = set_up, .begin = both_up, .thread = starts_again, .end = the_new_ones_came },
	{ .name = "one starts again and is told something", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = starts_again_unnoticed, .end = noticed },
	{ .name = "last words", .threads = 2, .set_up = set_up, .begin = both_up, .thread = last_words, .end = noticed },
	{ .name = "last words without a bell", .threads = 2, .set_up = set_up, .begin = both_up, .thread = last_words_unrung,
	  .end = noticed },
	{ .name = "last and first words", .threads = 2, .set_up = set_up, .begin = both_up, .thread = last_and_first_words,
	  .end = last_and_first_came },
	{ .name = "last and first words, answered", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = last_and_first_words_answered, .end = last_and_first_came },
	{ .name = "both open", .threads = 2, .set_up = set_up, .thread = both_open, .end = both_came },
	{ .name = "both start again", .threads = 2, .set_up = set_up, .begin = both_up, .thread = both_start_again,
	  .end = both_new_ones_came },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
