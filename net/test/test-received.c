/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Received frames whose data is on loan from the ring: drawn at random, a far end sends, packets are taken in, kept,
 * read, copied and freed in any order. Each is as it was sent as long as it is kept, slots are returned as soon as no
 * slot before them is on loan, the far end is signalled, and always has half of its ring.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../lwip/interface.h"
#include "../lwip/received.h"
#include "test.h"

enum { STEPS = 150000, KEPT = 24, LONGEST = 1514, SHORTEST = 60, HALF = CABLE_SLOTS / 2 };
enum { BUFFERS = 16, SHORT_BUFFERS = 64, SHORT_FRAME = 192 }; /* as in received.c */

static char *memory;
static struct port_end near, far;
static struct loans loans;
static unsigned returns, loans_made, copied;
static uint64_t sent, arrived;
static bool no_memory;    /* of lwIP's */
static u16_t offered;     /* room of the last packet that is not lwIP's */

static struct packet {
	struct pbuf *pbuf;
	uint64_t number;
	uint32_t skipped; /* bytes of the frame before its payload */
} kept[KEPT];

/* --- lwIP's, as far as it is needed --- */

struct pbuf *pbuf_alloced_custom(pbuf_layer layer, u16_t length, pbuf_type type, struct pbuf_custom *p, void *payload,
                                 u16_t room)
{
	(void)layer;
	(void)type;
	CHECK(length <= room);
	offered = room;
	p->pbuf = (struct pbuf){ .payload = payload, .len = length, .tot_len = length, .flags = PBUF_FLAG_IS_CUSTOM,
	                         .ref = 1 };
	return &p->pbuf;
}

struct pbuf *pbuf_alloc(pbuf_layer layer, u16_t length, pbuf_type type)
{
	struct pbuf *p = !no_memory && rand() % 8 ? malloc(sizeof(*p) + length) : NULL;

	(void)layer;
	(void)type;
	if (p)
		*p = (struct pbuf){ .payload = p + 1, .len = length, .tot_len = length, .ref = 1 };
	return p;
}

static void release(struct pbuf *p)
{
	if (p->flags & PBUF_FLAG_IS_CUSTOM)
		((struct pbuf_custom *)p)->custom_free_function(p);
	else
		free(p);
}

void interface_returned(struct loans *of)
{
	CHECK(of == &loans);
	returns++;
}

/* --- frames: a number says all of one --- */

static uint32_t size_of(uint64_t number)
{
	uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15ull >> 40;

	return mixed % 3 ? LOAN_MIN - 10 + mixed % (LONGEST - LOAN_MIN + 11) : SHORTEST + mixed % 200;
}

static char byte_of(uint64_t number, uint32_t at) { return (char)((number * 131 + at * 7 + (at >> 3)) >> 1); }

static bool is_frame(const struct packet *p)
{
	const char *bytes = p->pbuf->payload;

	for (uint32_t i = 0; i < p->pbuf->len; i++)
		if (bytes[i] != byte_of(p->number, p->skipped + i))
			return false;
	return p->pbuf->len == size_of(p->number) - p->skipped;
}

static void far_sends(void)
{
	char *buffer = port_reserve(&far);

	if (!buffer)
		return;
	for (uint32_t i = 0; i < size_of(sent); i++)
		buffer[i] = byte_of(sent, i);
	port_publish(&far, size_of(sent++));
}

/* --- the stack --- */

static uint64_t returned(void) { return atomic_load(&near.receive.ring->taken); }

/* A slot is returned at once, or later, and then the far end is signalled. Nothing is copied before half of the ring is
 * held up. */
static void release_slot(void)
{
	const uint64_t before = returned();
	const unsigned returns_before = returns;
	const int slots = __builtin_popcountll(loans.slots);
	const bool back = loans_release(&loans);

	CHECK(!back || (returned() == near.receive.position && returns == returns_before));
	CHECK(back || (returned() != before) == (returns != returns_before));
	CHECK(near.receive.position - returned() < HALF);
	CHECK(near.receive.position - before >= HALF || __builtin_popcountll(loans.slots) == slots);
}

/* As net/lwip/interface.c does it: the segment is the expected one, or lwIP gets the whole frame. */
static void receive_one(void)
{
	struct packet p = { .number = arrived };
	uint32_t length;
	char *frame;
	unsigned free = 0;

	while (free < KEPT && kept[free].pbuf)
		free++;
	if (free == KEPT || !(frame = port_peek(&near, &length)))
		return;
	CHECK(length == size_of(arrived));
	p.pbuf = length >= LOAN_MIN ? received_headers(&loans, frame, length) : NULL;
	const bool loaned = p.pbuf;

	if (!loaned)
		p.pbuf = received_copy(frame, length);
	if (loaned)
		memset(frame, 0xee, LOAN_HEADERS); /* a far end that changes them finds that they have been read */
	release_slot();
	arrived++;
	if (!p.pbuf)
		return;
	loans_made += loaned;
	copied += !loaned;
	if (loaned && rand() % 4) {
		p.pbuf->payload = frame + LOAN_HEADERS;
		p.pbuf->len = (u16_t)(length - LOAN_HEADERS);
		p.skipped = LOAN_HEADERS;
	} else {
		received_copy_out(p.pbuf);
	}
	CHECK(is_frame(&p));
	kept[free] = p;
}

static void end_one(struct packet *p)
{
	uint64_t before = returned();
	unsigned returns_before = returns;

	CHECK(is_frame(p));
	release(p->pbuf);
	p->pbuf = NULL;
	CHECK((returned() == before) == (returns == returns_before)); /* and only then */
}

static bool in_ring(const struct packet *p)
{
	return (char *)p->pbuf->payload >= memory && (char *)p->pbuf->payload < memory + CABLE_SIZE;
}

/* Slots are held by packets with loans, and by nothing else. */
static void check_ring(void)
{
	unsigned in_rings = 0;

	for (unsigned i = 0; i < KEPT; i++)
		in_rings += kept[i].pbuf && in_ring(&kept[i]);
	CHECK(in_rings == (unsigned)__builtin_popcountll(loans.slots));
	CHECK(in_rings || returned() == near.receive.position);
}

/* Frames at random, by a cable in this memory. */
static void at_random(char *cable, uint64_t life)
{
	memory = cable;
	near = cable_open(memory, PORT_FROM_SWITCH, life);
	far = cable_open(memory, PORT_TO_SWITCH, life + 2);
	loans = (struct loans){ .port = &near };
	sent = arrived;
	for (unsigned i = 0; i < 3; i++) {
		port_poll(&near);
		port_poll(&far);
	}
	CHECK(near.up && far.up);
	for (unsigned step = 0; step < STEPS; step++) {
		struct packet *p = &kept[(unsigned)rand() % KEPT];

		switch (rand() % 8) {
		case 0: case 1: case 2: far_sends(); break;
		case 3: case 4: case 5: receive_one(); break;
		case 6:
			if (p->pbuf && rand() % 3)
				end_one(p);
			else if (p->pbuf && !(rand() % 4)) {
				received_copy_out(p->pbuf);
				CHECK(!in_ring(p) && is_frame(p));
			}
			break;
		default:
			if (rand() % 200)
				break;
			loans_end(&loans);
			for (unsigned i = 0; i < KEPT; i++)
				CHECK(!kept[i].pbuf || (!in_ring(&kept[i]) && is_frame(&kept[i])));
		}
		check_ring();
	}
	for (unsigned i = 0; i < KEPT; i++)
		if (kept[i].pbuf)
			end_one(&kept[i]);
	check_ring();
}

/* A segment with data. */
static void make_segment(uint8_t *frame, uint8_t mark)
{
	memset(frame, mark, LONGEST);
	memcpy(frame + 12, (const uint8_t[]){ 8, 0, 0x45, 0, 2, 0 }, 6);
	memcpy(frame + 20, (const uint8_t[]){ 0x40, 0, 64, 6 }, 4);
	frame[46] = 0x50;
	frame[47] = 0x18;
}

/* Returns whether these are its headers: of 40 bytes, without PSH. */
static bool is_segment(const struct pbuf *p, const uint8_t *frame)
{
	const uint8_t *bytes = p->payload;

	return p->len == 54 && !bytes[16] && bytes[17] == 40 && bytes[47] == 0x10 && !memcmp(bytes, frame, 16) &&
	       !memcmp(bytes + 18, frame + 18, 29) && !memcmp(bytes + 48, frame + 48, 6);
}

/* All buffers are in use and lwIP has no memory: of one frame at a time the headers find room. */
static void without_memory(void)
{
	uint8_t noise[LONGEST], first[LONGEST], second[LONGEST];
	struct pbuf *buffer[SHORT_BUFFERS + BUFFERS + 1], *p;
	unsigned count = 0;

	make_segment(first, 1);
	make_segment(second, 2);
	no_memory = true;
	/* for long frames, for the longest short ones, for others */
	for (; count <= SHORT_BUFFERS + BUFFERS; count++) {
		const uint32_t length = count < BUFFERS - 1                   ? LONGEST
		                        : count < BUFFERS - 1 + SHORT_BUFFERS ? SHORT_FRAME
		                                                              : SHORT_FRAME - 1;

		memset(noise, (int)count + 1, sizeof(noise));
		if (!(buffer[count] = received_copy(noise, length)))
			break;
		CHECK(offered == (length == SHORT_FRAME ? SHORT_FRAME : PORT_FRAME_MAX));
	}
	CHECK(count == SHORT_BUFFERS + BUFFERS);
	CHECK(!received_copy(noise, LONGEST) && !received_copy(noise, SHORTEST)); /* no segment */
	CHECK((p = received_copy(first, 54 + 20 * 24)) && is_segment(p, first));
	CHECK(!received_copy(second, LONGEST) && is_segment(p, first));
	received_copy_out(p); /* it has no loan */
	release(p);
	CHECK((p = received_copy(second, LONGEST)) && is_segment(p, second));
	release(p);
	no_memory = false;
	/* it fails at random */
	for (unsigned tries = 0; (!(p = received_copy(second, 600)) || p->flags & PBUF_FLAG_IS_CUSTOM); tries++) {
		CHECK(tries < 100);
		if (p)
			release(p);
	}
	CHECK(p->len == 600 && !memcmp(p->payload, second, 600));
	memset(p->payload, 0x41, 600); /* what looks like a buffer is none */
	memcpy(p->payload, &((struct pbuf_custom *)buffer[0])->custom_free_function, sizeof(void *));
	received_copy_out(p);
	release(p);
	while (count--) {
		for (unsigned i = 0; i < buffer[count]->len; i++)
			CHECK(((uint8_t *)buffer[count]->payload)[i] == count + 1);
		release(buffer[count]);
	}
}

int main(void)
{
	static _Alignas(4096) char near_places[CABLE_SIZE];
	char *far_from_places = mmap(NULL, CABLE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(far_from_places != MAP_FAILED);
	srand(20261127);
	without_memory();
	at_random(near_places, 2);
	at_random(far_from_places, 6);
	without_memory();
	CHECK(arrived > 2 * STEPS / 20 && loans_made > arrived / 3 && copied > arrived / 10);
	printf("%llu frames, %u of them lent\n", (unsigned long long)arrived, loans_made);
	return 0;
}
