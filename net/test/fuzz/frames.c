/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "../../lwip/link.h"
#include "fuzz.h"

/* Places in a frame. */
enum { ETHERNET_TYPE = 12, IP_AT = 14, IP_TOTAL = 16, PROTOCOL = 23, FROM = 26, TO = 30, TCP_AT = 34, SEQUENCE = 38,
       OFFSET = 46, FLAGS = 47, UDP_DATA = 42 };
enum { SHORTEST = 42, SYN_FLAG = 2, TCP = 6, UDP = 17, NOTED = 54 };

static unsigned load16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }
static uint32_t load32(const uint8_t *p) { return (uint32_t)load16(p) << 16 | load16(p + 2); }

/* Nothing of what the memory held before leaves a stack. */
static void check_stale(unsigned stack, unsigned link, const uint8_t *frame, uint32_t from, uint32_t length)
{
	const uint8_t *stale = from < length ? memchr(frame + from, STALE, length - from) : NULL;

	if (stale)
		fail("stack %u, link %u: old memory at %u of %u bytes", stack, link, (unsigned)(stale - frame), length);
}

/* A segment has what was written, at its place. */
static void check_segment(struct connection *c, unsigned direction, const uint8_t *frame, uint32_t data,
                          uint32_t length)
{
	const uint32_t sequence = load32(frame + SEQUENCE), size = length - data;
	const bool syn = frame[FLAGS] & SYN_FLAG;
	const uint64_t written = c->end[direction].written;
	uint32_t at, known, wrong;

	if (syn) {
		c->first[direction] = sequence;
		c->has_first[direction] = true;
	}
	at = sequence - c->first[direction] - 1;
	trace(c, "end %u sends %d, %u bytes, flags %x", direction, (int)at, size, frame[FLAGS]);
	if (!c->has_first[direction] || c->broken || syn || !size)
		return;
	if ((int32_t)at < 0 || at + size > written + 1) /* a keep-alive's byte is behind all */
		fail("connection %u, end %u: segment %u with %u bytes of %lu", c->id, direction, at, size, written);
	known = at + size > written ? (uint32_t)(written - at) : size;
	wrong = text_differs(frame + data, c, direction, at, known);
	if (wrong < known)
		fail("connection %u, end %u: segment %u of %u bytes with byte %u as %02x", c->id, direction, at, size,
		     wrong, frame[data + wrong]);
}

static void check_tcp(unsigned stack, unsigned link, const uint8_t *frame, uint32_t length)
{
	const uint32_t data = TCP_AT + (uint32_t)(frame[OFFSET] >> 4) * 4, from = address_of(stack);
	const unsigned to = (unsigned)frame[TO + 3] - 1;
	struct connection *c;
	unsigned direction;

	check_stale(stack, link, frame, data, length);
	if (to >= STACKS || memcmp(frame + FROM, &from, 4) || data > length)
		return;
	c = connection_between(stack, to, (uint16_t)load16(frame + TCP_AT), (uint16_t)load16(frame + TCP_AT + 2),
	                       &direction);
	if (c && (c->end[direction].life == lab.life[stack].host.info.life || !c->accepted))
		check_segment(c, direction, frame, data, length);
}

static void look(unsigned stack, unsigned link, const uint8_t *frame, uint32_t length)
{
	run.totals.frames++;
	note(frame, length < NOTED ? length : NOTED);
	note(&length, sizeof(length));
	if (length < SHORTEST || load16(frame + ETHERNET_TYPE) != 0x800)
		return;
	if (load16(frame + IP_TOTAL) + IP_AT != length) {
		if (run.modes & WORDS)
			return;
		fail("stack %u, link %u: %u bytes with a packet of %u", stack, link, length, load16(frame + IP_TOTAL));
	}
	if (frame[PROTOCOL] == UDP)
		check_stale(stack, link, frame, UDP_DATA, length);
	else if (frame[PROTOCOL] == TCP)
		check_tcp(stack, link, frame, length);
	trouble_keep(frame, length);
}

/* The slots of a cable's ring and the packets in them name each other. */
static void check_slots(const struct link *link)
{
	for (unsigned i = 0; link->slot && i < CABLE_SLOTS; i++) {
		const struct sent *sent = link->slot[i].sent;

		if (sent && (sent->slot != &link->slot[i] || !sent_is(&sent->custom.pbuf) || !sent->custom.pbuf.ref))
			fail("slot %u has a packet that is not there", i);
		if (link->slot[i].data != link->port.sent + i * PORT_BUFFER + SENT_HEADERS)
			fail("slot %u has its data elsewhere", i);
	}
}

void frames_look(unsigned stack)
{
	const struct life_calls *calls = lab.life[stack].calls;
	uint64_t *looked = run.program[stack].looked;

	for (unsigned i = 0; calls && i < calls->links(); i++) {
		const struct link *link = calls->link(i);
		const struct ring_end *ring = &link->port.transmit;
		const uint64_t start = ring->position - port_count(ring), slots = ring->mask + 1;
		uint64_t at = looked[i];

		if (at > ring->position || at < start)
			at = start;
		if (ring->position - at > slots)
			at = ring->position - slots;
		for (; at < ring->position; at++) {
			const struct port_descriptor *descriptor =
				(const void *)ring->ring->slot[at & ring->mask].payload;

			look(stack, i, (const uint8_t *)link->port.sent + (at & ring->mask) * PORT_BUFFER,
			     descriptor->length);
		}
		looked[i] = ring->position;
		check_slots(link);
	}
}
