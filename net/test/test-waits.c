/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the switch waits for a port, to the tick; how many frames a port must take not to be late; what is behind a
 * frame that waits; and which side wakes the other, though a reader makes room between two looks of the switch
 * (between-looks.h).
 */
#include "switch-ports.h"

enum { LIMIT = TIMEOUT / 8 };

void (*before_arming)(void), (*before_comparing)(void);
static unsigned later, room; /* room for so many frames is made at port 2, after so many calls */

static void make_room(void)
{
	if (later) {
		later--;
		return;
	}
	for (; room; room--)
		CHECK(take(2, NULL) != -1);
}

static void send(unsigned from, unsigned to) { CHECK(send_to(from, table[to].mac, 7, 60)); }
static bool pass(void) { return forward_pass(&forward, now); }
static bool last_pass(void) { return forward_last_pass(&forward, now); }
static unsigned held(unsigned to) { return backlog_count(&forward.backlog, to); }

/* Returns whether the switch has asked for room at the port, since the last call. */
static bool asks(unsigned port) { return ring_room_wanted(&stack[port].receive); }

static void fill(unsigned from, unsigned to)
{
	for (unsigned i = 0; i < PORT_SLOTS; i++)
		send(from, to);
	pass_until_quiet();
	CHECK(!asks(to));
}

/* The ring of port 2 is full, and a frame is in its backlog. */
static void begin_with_a_backlog(void)
{
	set_up();
	fill(1, 2);
	send(1, 2);
	CHECK(!pass() && !asks(2)); /* it waits, and the switch does not sleep yet */
	CHECK(!last_pass() && asks(2));
	send(1, 3);
	CHECK(pass() && held(2) == 1 && forward.backlog.held[1][2] == 1 && take(3, NULL) == 7);
}

static void asks_for_room(void)
{
	begin_with_a_backlog();
	CHECK(!pass() && !asks(2));
	CHECK(!last_pass() && asks(2));
	take(2, NULL);
	CHECK(pass() && !held(2));
	CHECK(!last_pass() && !asks(2) && forward.behind == 1); /* nothing waits for it */

	set_up();
	fill(1, 2);
	send(1, 2);
	CHECK(!last_pass() && asks(2));
	now += TIMEOUT;
	CHECK(last_pass() && !asks(2) && forward.port[2].dropped == 1); /* nothing is waited for */
}

static void room_between_looks(void)
{
	set_up();
	fill(1, 2);
	send(1, 2);
	CHECK(!pass());
	before_arming = make_room;
	room = 1;
	CHECK(last_pass() && forward.port[1].frames == PORT_SLOTS + 1);

	begin_with_a_backlog();
	room = 1;
	CHECK(last_pass() && !room && !held(2));
	before_arming = NULL;
}

/* Room for what is behind a backlog is no room: neither a frame nor a broadcast overtakes. */
static void room_behind_a_backlog(void)
{
	begin_with_a_backlog();
	CHECK(send_to(1, table[2].mac, 8, 60));
	send(1, 3);
	CHECK(send_to(3, (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, 9, 60));
	before_arming = make_room;
	later = 1; /* the backlog finds none */
	forward.first = 1;
	room = 3;
	CHECK(last_pass() && !room && held(2) == 2 && forward.port[2].missed == 1);
	before_arming = NULL;
	CHECK(pass() && !held(2));
	for (unsigned i = 0; i < PORT_SLOTS - 3 + 1; i++)
		CHECK(take(2, NULL) == 7);
	CHECK(take(2, NULL) == 8 && take(2, NULL) == -1);

	begin_with_a_backlog(); /* and a port with a backlog is behind, however empty its ring has become */
	before_comparing = make_room;
	room = PORT_SLOTS;
	CHECK(!pass() && forward.behind == 1);
	before_comparing = NULL;
	room = 0;
}

/* The switch's own frames: 1 in the ring, 2 in the backlog, 0 nowhere; `last`: it sleeps then. */
static int makes(unsigned to, bool last)
{
	uint8_t frame[60] = { 0 };
	const uint64_t delivered = forward.port[to].delivered;
	const unsigned before = held(to);

	memcpy(frame, table[to].mac, 6);
	if (!forward_make(&forward, 1, frame, sizeof(frame), now, last))
		return 0;
	return forward.port[to].delivered > delivered ? 1 : held(to) > before ? 2 : -1;
}

static void made_frames(void)
{
	set_up();
	/* none goes back to where it comes from */
	CHECK(makes(2, false) == 1 && makes(1, false) == -1 && !forward.behind);
	received_anything();
	fill(1, 2);
	CHECK(makes(2, false) == 2 && forward.behind == 1 && forward.backlog.held[1][2] == 1 && !asks(2));
	CHECK(makes(2, true) == 2 && asks(2));
	forward.backlog.free = 0;
	CHECK(makes(2, false) == 0);

	set_up();
	fill(1, 2);
	before_arming = make_room;
	room = 1;
	CHECK(makes(2, true) == 1 && !held(2));
	before_arming = NULL;

	begin_with_a_backlog();
	now += TIMEOUT;
	CHECK(makes(2, true) == 0 && held(2) == 1); /* it has taken nothing */
	take(2, NULL);
	CHECK(pass() && !held(2));
	now += TIMEOUT;
	CHECK(makes(2, false) == 2); /* it has taken something */

	end(3);
	CHECK(makes(3, true) == -1 && !asks(3)); /* done with */
	pass_until_quiet();
	CHECK(makes(3, true) == -1 && !held(3));
}

/* Port 2 takes so many frames, one at a time, and the timeout ends. */
static void takes_in_a_period(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		CHECK(take(2, NULL) == 7);
		send(1, 2);
		pass_until_quiet();
	}
	now += TIMEOUT;
	send(1, 2);
	pass_until_quiet();
}

static void keeps_up(void)
{
	const struct forward_port *port = &forward.port[2];

	set_up();
	fill(1, 2);
	send(1, 2);
	pass_until_quiet();
	CHECK(forward.deadline == now + TIMEOUT);
	takes_in_a_period(FORWARD_KEEPS_UP);
	CHECK(!port->late && forward.deadline == now + TIMEOUT);
	takes_in_a_period(FORWARD_KEEPS_UP - 1);
	/* the first one's, and one of each period: nobody waits for them */
	CHECK(port->late && held(2) == 3 && !forward.deadline);
	takes_in_a_period(FORWARD_KEEPS_UP);
	CHECK(port->late && !port->dropped && held(2) == 4); /* until its ring is half empty */
	takes_in_a_period(1);
	CHECK(port->late && !port->dropped && held(2) == 5);
	takes_in_a_period(0);
	CHECK(port->dropped == 6 && !held(2));

	for (unsigned i = 0; i < PORT_SLOTS / 2 - 1; i++)
		CHECK(take(2, NULL) == 7);
	CHECK(!pass() && port->late && forward.behind == 1);
	take(2, NULL);
	CHECK(!pass() && !port->late && !forward.behind);
}

/* The pool is used up by others. Port `to` is full, and a frame for it is before one for another. */
static void begin_without_a_pool(unsigned from, unsigned last)
{
	set_up();
	for (unsigned i = 1; i <= last; i++)
		if (i != from)
			fill(from, i);
	forward.backlog.free = 0;
}

/* One source waits for three ports, one after the other: LIMIT for each, and twice that in all, in each period of
 * TIMEOUT. */
static void limits(uint64_t start)
{
	now = start;
	begin_without_a_pool(UPLINK, 3);
	for (unsigned i = 0; i < 4; i++)
		send(UPLINK, i % 3 + 1);
	CHECK(!last_pass() && forward.deadline == start + LIMIT);
	now = start + LIMIT - 1;
	CHECK(!last_pass() && forward.deadline == start + LIMIT && !forward.port[1].late);
	now = start + LIMIT;
	pass_until_quiet();
	CHECK(forward.port[1].late && forward.dropped == 1 && forward.deadline == start + 2 * LIMIT);
	now = start + 2 * LIMIT;
	pass_until_quiet();
	CHECK(forward.port[2].late && !forward.port[3].late && forward.dropped == 4 && !forward.deadline);
	now = start + TIMEOUT - 1;
	send(UPLINK, 3);
	send(UPLINK, 1);
	pass_until_quiet();
	CHECK(!forward.port[3].late && forward.dropped == 6 && !forward.deadline);
	now = start + TIMEOUT;
	send(UPLINK, 3);
	send(UPLINK, 1);
	CHECK(!last_pass() && forward.deadline == now + LIMIT);
}

/* Time that is waited in one period adds up, and other time does not. */
static void limits_of_several_waits(void)
{
	const uint64_t start = now;

	begin_without_a_pool(1, 2);
	for (unsigned i = 0; i < 2; i++, now += LIMIT / 4) {
		send(1, 2);
		send(1, 3);
		CHECK(!last_pass() && forward.deadline == now + LIMIT - i * LIMIT / 2);
		now += LIMIT / 2;
		take(2, NULL);
		pass_until_quiet();
		CHECK(forward.behind == 1 && !forward.deadline && take(3, NULL) == 7);
	}
	CHECK(now == start + 3 * LIMIT / 2 && !forward.dropped);
	send(1, 2);
	send(1, 3);
	pass_until_quiet();
	CHECK(forward.dropped == 1 && forward.port[2].late && !forward.deadline); /* nothing is left */

	begin_without_a_pool(1, 2);
	send(1, 2);
	send(1, 3);
	CHECK(!last_pass());
	now += LIMIT + 5; /* a switch that comes late */
	pass_until_quiet();
	CHECK(forward.dropped == 1 && forward.port[2].late);
}

/* The first of several waits that ends counts, whichever begins first. */
static void earliest_deadline(unsigned first)
{
	begin_without_a_pool(1, 2);
	send(1, 2);
	send(3, 2);
	send(3, UPLINK);
	forward.first = first;
	CHECK(!last_pass() && forward.deadline == now + LIMIT);
}

/* Frames behind the head of a ring are examined once each. */
static void looks_ahead(void)
{
	uint8_t *second;

	set_up();
	fill(1, 2);
	send(1, 2);
	second = port_reserve(&stack[1]);
	for (unsigned i = 1; i < PORT_SLOTS - 1; i++)
		send(1, 2);
	CHECK(!pass());
	memcpy(second, table[3].mac, 6); /* a liar */
	CHECK(!pass() && !held(2));
	send(1, 2);
	CHECK(!pass() && !pass() && !held(2)); /* nor if the ring is full */

	set_up();
	fill(1, 2);
	for (unsigned i = 0; i < PORT_SLOTS - 1; i++)
		send(1, 2);
	send(1, 3); /* the last one that the ring can hold */
	CHECK(pass() && held(2));

	set_up();
	fill(UPLINK, 2);
	for (unsigned i = 0; i < PORT_SLOTS - 1; i++)
		send(UPLINK, 2);
	CHECK(!pass() && !held(2));
	send(UPLINK, 2); /* now it is full: frames for others may have found no room */
	CHECK(pass() && held(2) == 1);

	set_up();
	table[1].lower = true; /* it brings the frames of many, too */
	forward_init(&forward, table, PORTS, memory, TIMEOUT, 4);
	forward_meet(&forward, stack, PORTS, now);
	fill(1, 2);
	for (unsigned i = 0; i < PORT_SLOTS; i++)
		send(1, 2);
	CHECK(pass() && held(2) == 1);

	set_up();
	fill(1, 2);
	send(1, 2);
	memcpy(port_reserve(&stack[1]), table[3].mac, 6);
	port_publish(&stack[1], 0);
	send(1, 1);
	CHECK(!pass() && !held(2)); /* frames for nobody wait for nobody */
	CHECK(send_to(1, (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, 9, 60));
	CHECK(pass() && held(2) == 1 && forward.port[1].bad == 1 && forward.port[1].strays == 1);
}

static void signal_all(void) { forward_signal(&forward, count_wake, NULL); }

/* A stack that sleeps is woken once, by what it waits for, and by nothing else. */
static void wakes_stacks(void)
{
	set_up();
	for (unsigned turn = 0; turn < 3; turn++) { /* the first time there is nothing, nor the third */
		for (unsigned i = 0; i < PORTS; i++) {
			ring_arm(&stack[i].receive);
			ring_arm_room(&stack[i].transmit);
		}
		if (turn == 1)
			send(1, 2);
		pass();
		signal_all();
		CHECK(wakes[1] == (turn > 0) && wakes[2] == (turn > 0) && !wakes[3] && !wakes[UPLINK]);
	}
	CHECK(port_reserve(&stack[3]));
	port_publish(&stack[3], 0); /* no frame, but room for one */
	CHECK(pass());
	signal_all();
	CHECK(wakes[3] == 1);
}

int main(void)
{
	asks_for_room();
	room_between_looks();
	room_behind_a_backlog();
	made_frames();
	keeps_up();
	limits(5 * (uint64_t)TIMEOUT);
	limits(TIMEOUT / 2); /* no period began at 0 */
	limits_of_several_waits();
	earliest_deadline(1);
	earliest_deadline(3);
	looks_ahead();
	wakes_stacks();
	return 0;
}
