/* SPDX-License-Identifier: BSD-2-Clause */
/* Ended ports: which peers the switch tells, what it tells them, in which order, and when it lets a successor in. */
#include "switch-ports.h"

/* A successor that the switch lets in when it is woken. */
static void start(unsigned port)
{
	static uint64_t life = 2;

	stack[port] = port_open(memory + port * PORT_SIZE, PORT_TO_SWITCH, life += 2);
	CHECK(forward_last_pass(&forward, now)); /* the stack is to be woken, too */
	for (unsigned turn = 0; turn < 2; turn++) {
		port_poll(&stack[port]);
		pass_until_quiet();
	}
	CHECK(stack[port].up);
}

static void fill(unsigned from, unsigned to)
{
	for (unsigned i = 0; i < PORT_SLOTS; i++)
		CHECK(send_to(from, table[to].mac, i, 60));
	pass_until_quiet();
}

/* A port that was late and had a backlog ends: its successor keeps up. */
static void ended_while_late(void)
{
	set_up();
	fill(3, 2);
	CHECK(send_to(3, table[2].mac, 0, 60) && send_to(3, table[UPLINK].mac, 0, 60));
	pass_until_quiet();
	now += TIMEOUT;
	CHECK(send_to(3, table[2].mac, 0, 60));
	pass_until_quiet();
	CHECK(forward.port[2].late && forward.behind == 1);
	end(2);
	pass_until_quiet();
	CHECK(!forward.port[2].late && !forward.behind);
	now += 10;
	start(2);
	fill(3, 2);
	CHECK(send_to(3, table[2].mac, 0, 60));
	CHECK(!forward_last_pass(&forward, now) && forward.deadline == now + TIMEOUT && forward.behind == 1);
}

/* Resets leave as far as there is room; the others stay, in their order. No other port's resets are collected
 * meanwhile. */
static void resets_that_wait(void)
{
	set_up();
	end(3);
	pass_until_quiet(); /* had no connections */
	start(3);
	for (uint16_t i = 0; i < 5; i++)
		send_segment(i % 2 ? 3 : 1, 2, 1000 + i, 6379, 100, 500 + i, 0x18, 20);
	send_segment(1, 3, 3000, 6379, 100, 900, 0x18, 20);
	pass_until_quiet();
	received_anything();
	fill(3, 1);
	forward.backlog.free = 0; /* others have all of the pool */
	end(2);
	CHECK(forward_last_pass(&forward, now) && forward.reset_queue.count == 3 && !forward.reset_queue.waiting);
	take_reset(3, 2, 1003, 503);
	take_reset(3, 2, 1001, 501);
	ring_room_wanted(&stack[1].receive);
	CHECK(!forward_pass(&forward, now) && !ring_room_wanted(&stack[1].receive));
	CHECK(!forward_last_pass(&forward, now) && ring_room_wanted(&stack[1].receive));
	end(3);
	/* a successor waits until all of it is told */
	stack[3] = port_open(memory + 3 * PORT_SIZE, PORT_TO_SWITCH, 100);
	for (unsigned i = 0; i < 2; i++) {
		CHECK(!forward_last_pass(&forward, now));
		CHECK(forward.reset_queue.port == 2 && forward.reset_queue.waiting == 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		CHECK(forward.reset_queue.count == 3 - i && take(1, NULL) == i);
		CHECK(forward_pass(&forward, now));
	}
	for (unsigned i = 3; i < PORT_SLOTS; i++)
		CHECK(take(1, NULL) == i);
	take_reset(1, 2, 1004, 504);
	take_reset(1, 2, 1002, 502);
	take_reset(1, 2, 1000, 500);
	pass_until_quiet();
	take_reset(1, 3, 3000, 900);
	CHECK(!received_anything() && !forward.reset_queue.count && !forward.reset_queue.waiting);
}

/* A peer that takes nothing for `timeout` is not waited for, and another ended port has its turn. */
static void ended_peer_is_dead(void)
{
	set_up();
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
	pass_until_quiet();
	received_anything();
	for (unsigned i = 0; i < PORT_SLOTS; i++) {
		CHECK(send_to(3, table[1].mac, i, 60));
		pass_until_quiet();
	}
	forward.backlog.free = 0; /* others have all of the pool */
	end(2);
	pass_until_quiet();
	CHECK(forward.reset_queue.count == 1);
	now += 5;
	/* it is woken by room, or then */
	CHECK(!forward_last_pass(&forward, now) && forward.deadline == now - 5 + TIMEOUT);
	now += TIMEOUT - 5;
	CHECK(forward_last_pass(&forward, now)); /* it may be another port's turn */
	CHECK(!forward_last_pass(&forward, now));
	CHECK(!forward.reset_queue.count && !forward.deadline);
}

/* A successor is let in while another port's resets wait for room. */
static void a_successor_beside(void)
{
	set_up();
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
	end(3);
	pass_until_quiet();
	received_anything();
	fill(UPLINK, 1);
	forward.backlog.free = 0;
	end(2);
	pass_until_quiet();
	CHECK(forward.reset_queue.count == 1 && forward.reset_queue.port == 2);
	start(3);
}

/* One of two ports that end at once has its turn before the other. `second` 0: it ends alone. */
static void turn(unsigned first, unsigned second)
{
	const unsigned ports[] = { first, second };

	table[UPLINK].ipv4 = 0x08080808; /* a host outside */
	for (unsigned i = 0; i < (second ? 2 : 1); i++) {
		if (forward.port[ports[i]].ended)
			start(ports[i]);
		send_segment(UPLINK, ports[i], 3000, 6379, 100, 900, 0x18, 20);
	}
	pass_until_quiet();
	received_anything();
	end(first);
	if (second)
		end(second);
	CHECK(forward_last_pass(&forward, now) && forward.reset_queue.waiting == (second != 0));
	pass_until_quiet();
	take_reset(UPLINK, first, 3000, 900);
	if (second)
		take_reset(UPLINK, second, 3000, 900);
	CHECK(!received_anything() && !forward.reset_queue.waiting);
}

/* All ended ports have their turns, one after the other and around, whichever end again. */
static void turns(void)
{
	set_up();
	turn(1, 0);
	turn(1, 0);
	turn(2, 3);
	turn(1, 0);
	turn(3, 1);
	start(2);
	start(3);
	send_segment(UPLINK, 3, 3000, 6379, 100, 900, 0x18, 20);
	pass_until_quiet();
	received_anything();
	end(2); /* it has its turn, and nobody to tell; the switch may sleep after this pass */
	end(3);
	CHECK(forward_last_pass(&forward, now));
	take_reset(UPLINK, 3, 3000, 900);
}

/* As many connections as a ring has slots, each with the longest frame. */
static void ended_with_many(void)
{
	set_up();
	for (uint16_t i = 0; i < PORT_SLOTS; i++)
		send_segment(1, 2, 1000 + i, 6379, 100, 500 + i, 0x18, PORT_FRAME_MAX - 54);
	pass_until_quiet();
	end(2);
	pass_until_quiet();
	for (uint16_t i = PORT_SLOTS; i; i--)
		take_reset(1, 2, 1000 + i - 1, 500 + i - 1);
}

static void nothing_to_tell(void)
{
	uint64_t position;
	uint8_t *frame;

	set_up();
	position = stack[2].transmit.position;
	send_segment(2, 1, 6379, 1000, 700, 120, 0x18, 30); /* with a length that cannot be */
	((struct port_descriptor *)stack[2].transmit.ring->slot[position & stack[2].transmit.mask].payload)->length =
		PORT_FRAME_MAX + 1;
	frame = port_reserve(&stack[1]);
	send_arp(1, table[2].ipv4, ARP_REQUEST); /* whole, but no connection's */
	memcpy(frame + 14, (const uint8_t[]){ 0, 1, 8, 0, 6, 4 }, 6);
	memcpy(frame + 22, table[1].mac, 6);
	memset(table[UPLINK].mac, 0, 6);
	send_segment(1, UPLINK, 1000, 6379, 100, 500, 0x18, 20); /* for address 0, which nobody has */
	pass_until_quiet();
	CHECK(received_anything() == (1u << 2 | 1u << UPLINK));
	end(2);
	end(UPLINK);
	pass_until_quiet();
	send_segment(1, UPLINK, 1000, 6379, 100, 500, 0x18, 20);
	pass_until_quiet();
	CHECK(!received_anything());
}

/* Each life's connections are reset when it ends, not those of the one before. */
static void two_lives(void)
{
	set_up();
	for (uint16_t life = 0; life < 2; life++) {
		send_segment(1, 2, 1000 + life, 6379, 100, 500, 0x18, 20);
		pass_until_quiet();
		received_anything();
		end(2);
		pass_until_quiet();
		take_reset(1, 2, 1000 + life, 500);
		CHECK(!received_anything());
		start(2);
	}
	end(2);
	pass_until_quiet();
	CHECK(!received_anything());
}

/* Segments that wait for a program's first life are no connections of one that has ended. */
static void first_life(void)
{
	set_up();
	memset(memory + 2 * PORT_SIZE, 0, PORT_SIZE);
	forward_init(&forward, table, PORTS, memory, TIMEOUT, 4);
	for (unsigned i = 0; i < 3; i++) {
		pass_until_quiet();
		for (unsigned k = 0; k < PORTS; k++)
			if (k != 2)
				port_poll(&stack[k]);
	}
	send_segment(1, 2, 1000, 6379, 100, 0, 2, 0);
	pass_until_quiet();
	stack[2] = port_open(memory + 2 * PORT_SIZE, PORT_TO_SWITCH, 6);
	forward.reset_queue.polled = 3;
	send_segment(1, 2, 1001, 6379, 100, 0, 2, 0);
	CHECK(forward_pass(&forward, now)); /* has not looked at it yet */
	for (unsigned i = 0; i < 2; i++) {
		pass_until_quiet();
		port_poll(&stack[2]);
	}
	CHECK(take(2, NULL) != -1 && take(2, NULL) != -1 && !received_anything());
}

/* Between its end and the switch's next look at it a port is given nothing, nor is one that counts as ended by
 * mistake. */
static void ended_unseen(void)
{
	_Atomic uint64_t *own;
	uint64_t epoch;

	set_up();
	pass_until_quiet();
	forward.reset_queue.polled = 3;
	end(2);
	send_segment(1, 2, 1000, 6379, 100, 500, 0x10, 0);
	CHECK(forward_pass(&forward, now) && !forward.port[2].ended);
	take_reset(1, 2, 1000, 500);

	set_up();
	own = &port_mine(&forward.port[2].end)->epoch;
	epoch = atomic_load(own);
	atomic_store(own, 77); /* a wild write */
	send_segment(1, 2, 1000, 6379, 100, 500, 0x10, 0);
	CHECK(forward_last_pass(&forward, now) && forward.port[2].ended);
	take_reset(1, 2, 1000, 500);
	atomic_store(own, epoch);
	forward.reset_queue.polled = 3;
	send_segment(1, 2, 1001, 6379, 100, 500, 0x10, 0);
	CHECK(forward_pass(&forward, now) && forward.port[2].ended);
	take_reset(1, 2, 1001, 500);
	pass_until_quiet();
	port_poll(&stack[2]);
	pass_until_quiet();
	CHECK(send_to(1, table[2].mac, 7, 60));
	pass_until_quiet();
	CHECK(take(2, NULL) == 7);
}

/* Somebody writes the switch's own word at a port: its cluster counts as lost there, which ends nobody, or anything
 * else. */
static void words_of_its_own(bool lost)
{
	_Atomic uint64_t *own;

	set_up();
	fill(3, 1);
	CHECK(send_to(3, table[1].mac, 0, 60));
	pass_until_quiet(); /* no frame takes the short way while a port is behind */
	own = &port_mine(&forward.port[2].end)->epoch;
	atomic_store(own, lost ? atomic_load(own) | 1 : 77);
	forward.reset_queue.polled = 3;
	table[UPLINK].ipv4 = 0x08080808;
	send_segment(UPLINK, 2, 1000, 6379, 100, 500, 0x10, 0);
	CHECK(forward_pass(&forward, now));
	if (!lost)
		take_reset(UPLINK, 2, 1000, 500);
	received_anything_at(1);
	pass_until_quiet();
	CHECK(!(received_anything() & 1u << UPLINK));
}

int main(void)
{
	ended_while_late();
	resets_that_wait();
	ended_peer_is_dead();
	a_successor_beside();
	turns();
	ended_with_many();
	nothing_to_tell();
	two_lives();
	first_life();
	ended_unseen();
	words_of_its_own(true);
	words_of_its_own(false);
	return 0;
}
