/* SPDX-License-Identifier: BSD-2-Clause */
/* A chain that is longer than a frame, built as in an image, without assertions: nothing behind its buffer is
 * written. */
#include <stdlib.h>
#include <string.h>
#include "../lwip/link.h"
#include "test.h"

enum { FIRST = 1000, LONG = 65000, MARK = 0x5e };

static _Alignas(4096) char memory[CABLE_SIZE];
static char data[LONG], *buffers;
static struct sent_slot slots[CABLE_SLOTS];

void mem_free(void *block) { free(block); }
void pbuf_ref(struct pbuf *p) { p->ref++; }
u8_t pbuf_free(struct pbuf *p) { return (u8_t)(p->ref-- == 1); }

static struct pbuf part(u16_t length, struct pbuf *next)
{
	const unsigned all = length + (next ? next->tot_len : 0u);

	return (struct pbuf){ .payload = data, .len = length, .tot_len = (u16_t)all, .next = next, .ref = 1 };
}

/* Returns the length that is told. */
static uint32_t send(struct link *link, struct port_end *far, struct pbuf *frame)
{
	uint32_t length;

	CHECK(link_send(link, frame) == ERR_OK);
	link_flush(link);
	CHECK(port_peek(far, &length));
	port_release(far);
	return length;
}

/* Bytes of the cable's buffers. */
static unsigned written(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CABLE_SLOTS * PORT_BUFFER; i++)
		count += buffers[i] == MARK;
	return count;
}

int main(void)
{
	static struct bell own;
	struct link link;
	struct port_end far;

	buffers = port_buffer(memory, PORT_TO_SWITCH, CABLE_SLOTS, 0);

	links_start(&own);
	link_start(&link, cable_open(memory, PORT_TO_SWITCH, 2), NULL, slots);
	far = cable_open(memory, PORT_FROM_SWITCH, 2);
	memset(data, MARK, sizeof(data));
	for (unsigned i = 0; i < 3; i++) {
		port_poll(&far);
		port_poll(&link.port);
	}
	CHECK(link.port.up && far.up);

	struct pbuf rest = part(514, NULL), whole = part(FIRST, &rest);
	CHECK(send(&link, &far, &whole) == FIRST + 514);
	struct pbuf exact = part(PORT_FRAME_MAX - FIRST, NULL), full = part(FIRST, &exact);
	CHECK(send(&link, &far, &full) == PORT_FRAME_MAX);

	struct pbuf endless = part(LONG, NULL), wrapped = part(FIRST, &endless);
	CHECK(wrapped.tot_len < PORT_FRAME_MAX);
	memset(buffers, 0, (size_t)CABLE_SLOTS * PORT_BUFFER);
	CHECK(send(&link, &far, &wrapped) == FIRST);
	CHECK(written() == FIRST);
	CHECK(send(&link, &far, &endless) == 0);
	CHECK(send(&link, &far, &whole) == FIRST + 514);
	return 0;
}
