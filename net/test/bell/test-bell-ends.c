/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bell words (skerry/bell.h) by themselves, and at the ends of a cable: each end signals the other once for each of its
 * sleeps, and none that is awake; a successor is not taken for its predecessor; a far end in another cluster has flags
 * in the rings instead.
 */
#include <string.h>
#ifdef PORT_END_H
#include PORT_END_H
#else
#include "../../port_end.h"
#endif
#include "../test.h"

enum { LENGTH = 60 };

/* --- the word --- */

static void numbers(void)
{
	struct bell own = { 0 };
	uint64_t rung = 0, other = 0;

	CHECK(!bell_rings(&own, &rung)); /* it has never slept */
	for (unsigned i = 0; i < 3; i++) {
		bell_arm(&own);
		CHECK(bell_rings(&own, &rung) && !bell_rings(&own, &rung));
		CHECK(bell_rings(&own, &other)); /* each producer for itself */
		bell_arm(&own); /* it has looked, and sleeps again */
		CHECK(bell_rings(&own, &rung));
		bell_awake(&own);
		CHECK(!bell_rings(&own, &rung));
		bell_awake(&own);
		CHECK(!bell_rings(&own, &other) && !(own.sleeps & 1));
	}
	own.sleeps = UINT64_MAX; /* whatever a predecessor has left */
	bell_arm(&own);
	CHECK(bell_rings(&own, &rung));
	own.sleeps = UINT64_MAX;
	bell_awake(&own);
	CHECK(!bell_rings(&own, &rung));
	bell_arm(&own);
	rung = 0; /* as for a successor */
	CHECK(bell_rings(&own, &rung));
}

/* --- the ends of a cable --- */

static void send(struct port_end *end)
{
	uint8_t *frame = port_reserve(end);

	CHECK(frame);
	memset(frame, 0, LENGTH);
	port_publish(end, LENGTH);
}

static void meet(struct port_end *a, struct port_end *b)
{
	for (unsigned i = 0; i < 3; i++) {
		port_poll(a);
		port_poll(b);
	}
	CHECK(a->up && b->up);
}

static void ends(void *memory)
{
	struct bell word = { 0 };
	struct port_end a = cable_open(memory, PORT_TO_SWITCH, 2), b = cable_open(memory, PORT_FROM_SWITCH, 4);

	a.bell = &word;
	meet(&a, &b);
	send(&a);
	CHECK(!port_rings(&a));
	bell_arm(&word);
	send(&a);
	send(&a);
	CHECK(port_rings(&a) && !port_rings(&a));

	/* a successor whose word says what its predecessor's said: it has not been signalled yet */
	port_close((struct port_epochs *)((char *)memory + PORT_EPOCHS), PORT_FROM_SWITCH);
	port_poll(&a);
	b = cable_open(memory, PORT_FROM_SWITCH, 6);
	meet(&a, &b);
	send(&a);
	CHECK(port_rings(&a) && !port_rings(&a));

	/* no flag of the ring is looked at, nor set, but where the far end has no word */
	bell_awake(&word);
	ring_arm(&b.receive);
	send(&a);
	CHECK(!port_rings(&a) && atomic_load(&a.transmit.ring->wanted));
	a.bell = NULL;
	CHECK(port_rings(&a) && !port_rings(&a));
	b.bell = &word;
	port_arm(&b);
	CHECK(!atomic_load(&b.receive.ring->wanted));
	b.bell = NULL;
	port_arm(&b);
	CHECK(atomic_load(&b.receive.ring->wanted));
}

int main(void)
{
	static _Alignas(4096) char memory[CABLE_SIZE];

	numbers();
	ends(memory);
	return 0;
}
