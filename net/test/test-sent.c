/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sent data that a cable's ring keeps. Packets are written, chained, sent, sent again, by the cable or the switch, and
 * freed in an order drawn at random, with short frames between them. What arrives is what was written; with a far end
 * that writes all buffers meanwhile, each byte is that or the far end's, and none of what was in the packet's memory
 * before.
 */
#include <stdlib.h>
#include <string.h>
#include "../lwip/link.h"
#include "test.h"

enum { STEPS = 200000, KEPT = 100, SHORT = 60, MORE = 40, OLD = 0xa5, HOSTILE = 0xee };

static _Alignas(4096) char cable_memory[CABLE_SIZE], switch_memory[PORT_SIZE];
static struct link cable, to_switch;
static struct sent_slot slots[CABLE_SLOTS];
static struct port_end far, far_switch;
static bool hostile;
static unsigned lent, arrived;

static struct packet {
	struct pbuf *pbuf;
	uint32_t number;
	bool sent;
} kept[KEPT];

/* --- lwIP's, as far as it is needed --- */

void mem_free(void *block) { free(block); }
void pbuf_ref(struct pbuf *p) { p->ref++; }

u8_t pbuf_free(struct pbuf *p)
{
	while (p && !--p->ref) {
		struct pbuf *next = p->next;

		if (p->flags & PBUF_FLAG_IS_CUSTOM)
			((struct pbuf_custom *)p)->custom_free_function(p);
		else
			free(p);
		p = next;
	}
	return 0;
}

/* --- packets: a number says all of one, and stands at its beginning --- */

static uint32_t size_of(uint32_t number)
{
	const uint32_t mixed = (number + 1) * 2654435761u >> 8;

	return mixed % 3 ? SENT_MIN + mixed % (1460 - SENT_MIN - MORE) : 1 + mixed % 200;
}

static bool is_chained(uint32_t number) { return number % 7 == 0; }

/* Never one of the two bytes that stand for something else. */
static unsigned char byte_of(uint32_t number, uint32_t at)
{
	return (unsigned char)((number * 131 + at * 7 + (at >> 3)) % 128);
}

static uint32_t frame_size(uint32_t number) { return SENT_HEADERS + size_of(number) + (is_chained(number) ? MORE : 0); }

static struct pbuf *new_packet(size_t size)
{
	struct pbuf *p = malloc(SENT_BEFORE + size);

	CHECK(p);
	memset(p, OLD, SENT_BEFORE + size);
	*p = (struct pbuf){ .payload = (char *)p + SENT_BEFORE, .len = (u16_t)size, .tot_len = (u16_t)size,
	                    .type_internal = (u8_t)PBUF_RAM, .ref = 1 };
	return p;
}

static void fill(char *to, uint32_t number, uint32_t from, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		to[i] = (char)byte_of(number, from + i);
}

static void write_one(struct packet *k)
{
	static uint32_t number;
	const uint32_t size = size_of(number);
	struct pbuf *p = new_packet(size);
	char *data = size >= SENT_MIN ? link_loan(&cable, p) : p->payload;

	lent += data != p->payload;
	fill(data, number, SENT_HEADERS, size);
	p->payload = (char *)p->payload - SENT_HEADERS;
	p->len = p->tot_len = (u16_t)(SENT_HEADERS + size);
	fill(p->payload, number, 0, SENT_HEADERS);
	memcpy(p->payload, &number, sizeof(number));
	if (is_chained(number)) {
		p->next = new_packet(MORE);
		fill(p->next->payload, number, SENT_HEADERS + size, MORE);
		p->tot_len += MORE;
	}
	*k = (struct packet){ .pbuf = p, .number = number++ };
}

static void send_short(void)
{
	struct pbuf *p = new_packet(SHORT);
	const uint32_t number = UINT32_MAX;

	memset(p->payload, 0, SHORT);
	memcpy(p->payload, &number, sizeof(number));
	link_send(rand() % 8 ? &cable : &to_switch, p);
	pbuf_free(p);
}

static void check_bytes(const unsigned char *bytes, uint32_t number, uint32_t from, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		CHECK(bytes[i] == byte_of(number, from + i) || (hostile && bytes[i] == HOSTILE));
}

static void take_from(struct port_end *end)
{
	uint32_t length, number;
	unsigned char *frame = port_peek(end, &length);

	if (!frame)
		return;
	memcpy(&number, frame, sizeof(number));
	CHECK(length == (number == UINT32_MAX ? (uint32_t)SHORT : frame_size(number)));
	if (number != UINT32_MAX)
		check_bytes(frame + sizeof(number), number, sizeof(number), length - sizeof(number));
	port_release(end);
	arrived++;
}

/* Data that the far end has not taken yet stays readable here. */
static void scribble(void)
{
	for (unsigned i = 0; i < CABLE_SLOTS; i++)
		if (!(rand() % 8))
			memset((char *)far.received + i * PORT_BUFFER + SENT_HEADERS, HOSTILE,
			       PORT_BUFFER - SENT_HEADERS);
}

/* Slots and packets know each other. */
static void check_slots(void)
{
	for (unsigned i = 0; i < CABLE_SLOTS; i++)
		CHECK(!cable.slot[i].sent || cable.slot[i].sent->slot == &cable.slot[i]);
	for (unsigned i = 0; i < KEPT; i++) {
		const struct sent *sent = (const struct sent *)kept[i].pbuf;

		CHECK(!sent || !sent_is(&sent->custom.pbuf) || !sent->slot || sent->slot->sent == sent);
	}
}

/* lwIP's timers look at everything. */
static void own_all(void)
{
	link_copy_out(&cable);
	for (unsigned i = 0; i < KEPT; i++) {
		const struct pbuf *p = kept[i].pbuf;

		if (p)
			check_bytes((unsigned char *)p->payload + sizeof(uint32_t), kept[i].number, sizeof(uint32_t),
			            p->len - sizeof(uint32_t));
	}
}

static void step(void)
{
	struct packet *k = &kept[(unsigned)rand() % KEPT];

	switch (rand() % 8) {
	case 0: case 1: case 2:
		if (!k->pbuf)
			write_one(k);
		if (rand() % 3 && k->pbuf->ref == 1) /* at once, or again */
			k->sent |= link_send(rand() % 16 ? &cable : &to_switch, k->pbuf) == ERR_OK;
		break;
	case 3:
		if (k->pbuf && k->pbuf->ref == 1)
			k->sent |= link_send(&cable, k->pbuf) == ERR_OK;
		break;
	case 4:
		if (k->pbuf && k->sent) {
			pbuf_free(k->pbuf);
			k->pbuf = NULL;
		}
		break;
	case 5: send_short(); break;
	case 6:
		for (unsigned i = (unsigned)rand() % 8; i; i--) {
			take_from(&far);
			take_from(&far_switch);
		}
		link_flush(&cable);
		link_flush(&to_switch);
		break;
	default:
		if (hostile && !(rand() % 8))
			scribble();
		if (!(rand() % 50))
			own_all();
	}
	check_slots();
}

int main(void)
{
	static struct bell own, of_far;

	srand(20261127);
	links_start(&own);
	link_start(&cable, cable_open(cable_memory, PORT_TO_SWITCH, 2), &of_far, slots);
	link_start(&to_switch, port_open(switch_memory, PORT_TO_SWITCH, 2), NULL, NULL);
	far = cable_open(cable_memory, PORT_FROM_SWITCH, 4);
	far_switch = port_open(switch_memory, PORT_FROM_SWITCH, 4);
	for (unsigned i = 0; i < 3; i++) {
		port_poll(&cable.port);
		port_poll(&far);
		port_poll(&to_switch.port);
		port_poll(&far_switch);
	}
	CHECK(cable.port.up && to_switch.port.up);
	for (unsigned i = 0; i < STEPS; i++) {
		hostile = i > STEPS / 2;
		step();
	}
	for (unsigned i = 0; i < KEPT; i++)
		if (kept[i].pbuf)
			pbuf_free(kept[i].pbuf);
	link_drop(&cable);
	link_drop(&to_switch);
	for (unsigned i = 0; i < CABLE_SLOTS; i++)
		CHECK(!cable.slot[i].sent);
	CHECK(lent > STEPS / 100 && arrived > STEPS / 4);
	printf("%u frames, %u written to the ring\n", arrived, lent);
	return 0;
}
