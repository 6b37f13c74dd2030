/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer in another machine that overwrites what it shares, all of it or single words, is switched off and on, and does
 * so
 * again: what it wrote before has no effect on its next life, and none on us but that it is lost.
 */
#define _GNU_SOURCE
#include "test-link.h"

enum { PEER = 1, TYPE = 1, STORMS = 3000, TURNS = 40, SECOND = 1000 };

static _Alignas(4096) struct {
	struct channel_header header;
	uint8_t rest[CHANNEL_RINGS + 2 * CHANNEL_RING - sizeof(struct channel_header)];
} memory;
static unsigned lost, back, lines;
static uint8_t last;         /* message */
static unsigned received;    /* since the peer's last start */
static bool anything_goes;   /* the peer is hostile: what comes is its own words */

void *channel_memory_map(uint32_t index) { return index ? NULL : &memory; }
int channel_to(uint32_t cluster) { return cluster == PEER ? 0 : -1; }
bool mailbox_has_room(size_t bytes, uint32_t count) { return bytes + count > 0; }
_Noreturn void manager_panic(const char *format, ...) { abort(); (void)format; }

void console_print(const char *format, ...)
{
	(void)format;
	lines++;
}

int mailbox_put(const struct mail *mail)
{
	CHECK(mail->cluster == PEER);
	lost += mail->kind == MAIL_PEER_LOST;
	back += mail->kind == MAIL_PEER_BACK;
	if (mail->kind == MAIL_PEER) {
		CHECK(anything_goes || (mail->type == TYPE && mail->size == 1));
		last = *(const uint8_t *)mail->body;
		received++;
	}
	return 0;
}

static uint64_t draw(void)
{
	static uint64_t state = 1;
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return state >> 20;
}

static void work(void)
{
	for (unsigned i = 0; channels_work() && i < 100; i++)
		;
	channels_tick();
	now += TIMER_MS;
}

static struct ring_end their_out, their_in;
static uint64_t their_generation;

/* The loader of a machine that keeps to the protocol. False: this side does not let it in. */
static bool load(struct handshake_loader *l)
{
	*l = (struct handshake_loader){ .header = &memory.header, .size = sizeof(memory), .side = 1 };
	handshake_hello(l, 42);
	for (unsigned i = 0; i < 100 && !handshake_poll(l); i++)
		work();
	if (l->is_done)
		handshake_finish(l);
	return l->is_done;
}

/* Its manager. */
static void start(void)
{
	struct handshake_manager m;
	struct channel_side *theirs = &memory.header.side[1];
	their_generation = handshake_resume(&m, &memory.header, 1);
	theirs->acknowledged = 0;
	theirs->magic = CHANNEL_MAGIC;
	theirs->version = CHANNEL_VERSION;
	theirs->generation = their_generation;
	CHECK(m.expected == memory.header.side[0].generation);
	uint64_t position = channel_position(m.expected, their_generation);
	their_out = ring_producer_at((uint8_t *)&memory + CHANNEL_RINGS + CHANNEL_RING, CHANNEL_SLOTS, position);
	their_in = ring_consumer_at((uint8_t *)&memory + CHANNEL_RINGS, CHANNEL_SLOTS, position);
	theirs->acknowledged = m.expected;
}

static void say(uint8_t what)
{
	const struct fragment f = { .type = TYPE, .total = 1, .data = { what } };
	void *slot = ring_reserve(&their_out);
	CHECK(slot);
	if (!slot)
		return;
	memcpy(slot, &f, sizeof(f));
	ring_publish(&their_out);
}

/* It joins; the channel comes up with a generation that it never had, and carries messages both ways. */
static void joins(uint8_t what)
{
	static uint64_t before;
	struct handshake_loader l;
	const uint8_t hello = 7;
	now += 2 * SECOND; /* lines may be said again */
	anything_goes = false;
	CHECK(load(&l) && l.has_joined && l.own_generation > before && l.peer_generation == channel[0].generation);
	before = l.own_generation;
	received = 0;
	start();
	work();
	CHECK(channel[0].state == LINK_UP && channel[0].seen == before && channel_peer_life(PEER) == (uint32_t)before);
	CHECK(received == 0); /* of no former life */
	say(what);
	work();
	CHECK(received == 1 && last == what);
	CHECK(!channel_send(PEER, TYPE, &hello, 1));
	const struct fragment *f = ring_peek(&their_in);
	CHECK(f && f->data[0] == hello);
}

/* Some words of the header, all of it, or of the rings: an odd number, one near what stands there, or 0. */
static void overwrite(void)
{
	uint64_t *word = (uint64_t *)&memory;
	size_t words = sizeof(memory.header) / 8;
	if (draw() % 8 == 0)
		words = sizeof(memory) / 8;
	for (unsigned i = draw() % 4 ? 1 : 64; i > 0; i--) {
		size_t at = draw() % words;
		word[at] = draw() % 3 == 0 ? draw() : draw() % 2 ? word[at] + draw() % 3 - 1 : 0;
	}
}

static void storms(void)
{
	for (unsigned i = 0; i < STORMS; i++) {
		anything_goes = true;
		for (unsigned turn = draw() % TURNS; turn > 0; turn--) {
			overwrite();
			work();
		}
		joins((uint8_t)i);
	}
}

/* Each word of its half and of ours, one at a time: the link stays as it is, or the peer is lost. Ours is said
 * again. */
static void single_words(void)
{
	for (size_t at = 0; at < sizeof(memory.header) / 8; at++) {
		anything_goes = true;
		((uint64_t *)&memory)[at] += 1;
		unsigned before = lost;
		work();
		CHECK(channel[0].state != LINK_DEAD || lost == before + 1);
		if ((uint64_t *)&memory + at == (uint64_t *)&memory.header.handshake.side[0].hello)
			CHECK(lost == before + 1);
		joins((uint8_t)at);
		CHECK(memory.header.side[0].generation == channel[0].generation &&
		      memory.header.handshake.side[0].hello == channel[0].handshake.hello);
	}
}

/* A generation that was not granted changes nothing, even one that the peer had before. */
static void not_granted(void)
{
	unsigned before = lost;
	for (uint64_t generation = 0; generation < 3 * STORMS; generation++) {
		if (generation == their_generation)
			continue;
		memory.header.side[1].generation = generation;
		memory.header.side[1].heartbeat++;
		work();
	}
	memory.header.side[1].generation = their_generation;
	CHECK(lost == before && channel[0].state == LINK_UP && channel[0].seen == their_generation);
}

/* Hellos without end are heard now and then. */
static void hellos(void)
{
	unsigned before = lost, said = lines;
	now += 2 * SECOND;
	for (unsigned i = 0; i < 1000; i++) {
		memory.header.handshake.side[1].hello++;
		memory.header.side[1].generation = memory.header.handshake.side[0].granted;
		while (channels_work())
			;
	}
	CHECK(lost - before <= SAY_LINES && lines - said <= SAY_LINES);
	joins(1);
}

/* Both loaders meet; then this side's manager begins. */
static void begin(void)
{
	struct handshake_loader l[2];
	memset(&memory, 0x5a, sizeof(memory));
	for (uint32_t side = 0; side < 2; side++) {
		l[side] = (struct handshake_loader){ .header = &memory.header, .size = sizeof(memory), .side = side };
		handshake_hello(&l[side], 42 + side);
	}
	for (unsigned i = 0; i < 10 && !(handshake_poll(&l[0]) & handshake_poll(&l[1])); i++)
		;
	for (uint32_t side = 0; side < 2; side++) {
		CHECK(l[side].is_done && !l[side].has_joined && l[side].own_generation == 1);
		handshake_finish(&l[side]);
	}
	CHECK(memory.rest[0] == 0 && memory.rest[sizeof(memory.rest) - 1] == 0 &&
	      memory.header.side[0].generation == 0);
	channels_init(1, 0);
	CHECK(memory.header.side[0].generation == 1);
	start();
	work();
	CHECK(channel[0].state == LINK_UP && !lost && !back);
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->tsc_hz = 1000; /* a cycle is a millisecond */
	root->channel_count = 1;
	root->channel[0] = (struct root_channel){ .peer = PEER, .remote = 1 };
	begin();
	joins(9);
	CHECK(lost == 1 && back == 1);
	not_granted();
	single_words();
	hellos();
	storms();
	return failures != 0;
}
