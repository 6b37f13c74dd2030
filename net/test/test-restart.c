/* SPDX-License-Identifier: BSD-2-Clause */
/* A port is used again: by a stack's successor, by the switch's; whatever the one before has left there. */
#include "switch-ports.h"

enum { PORT = 2, PEER = 1 };

static uint64_t life = 2;

static char *port_memory(unsigned port) { return memory + port * PORT_SIZE; }
static struct port_epochs *epochs(unsigned port) { return (struct port_epochs *)(port_memory(port) + PORT_EPOCHS); }
static void start(unsigned port) { stack[port] = port_open(port_memory(port), PORT_TO_SWITCH, life += 2); }

/* As all of them do when they are woken. */
static void all_look(void)
{
	for (unsigned turn = 0; turn < 4; turn++) {
		pass_until_quiet();
		for (unsigned i = 0; i < PORTS; i++)
			port_poll(&stack[i]);
	}
}

/* Both ways, and around both rings. */
static void check_traffic(unsigned port)
{
	for (unsigned i = 0; i < 3 * PORT_SLOTS; i++) {
		CHECK(send_to(port, table[PEER].mac, i, 60) && send_to(PEER, table[port].mac, i, 60));
		pass_until_quiet();
		CHECK(take(PEER, NULL) == i && take(port, NULL) == i);
	}
	CHECK(!received_anything());
}

/* The successor has none of the frames for the one before, and its peers none that it had not sent when it ended. */
static void a_stack_again(void)
{
	int64_t taken;

	set_up();
	for (unsigned n = 0; n < 2 * PORT_SLOTS; n++) {
		CHECK(send_to(PEER, table[PORT].mac, 7, 60)); /* is never taken */
		pass_until_quiet();
		CHECK(send_to(PORT, table[PEER].mac, n, 60)); /* was sent */
		end(PORT);
		CHECK(send_to(PEER, table[PORT].mac, 8, 60));
		pass_until_quiet();
		CHECK(take(PEER, NULL) == n);
		CHECK(send_to(PEER, table[PORT].mac, 9, 60));
		pass_until_quiet();
		CHECK(!forward.behind && !forward.deadline);
		start(PORT);
		CHECK(!port_reserve(&stack[PORT])); /* before the switch knows it */
		CHECK(send_to(PEER, table[PORT].mac, 10, 60));
		all_look();
		CHECK(stack[PORT].up);
		taken = take(PORT, NULL); /* sent when the port was open again, or not */
		CHECK((taken == 10 || taken == -1) && !received_anything());
		CHECK(send_to(PORT, table[PEER].mac, 11, 60) && send_to(PEER, table[PORT].mac, 12, 60));
		pass_until_quiet();
		CHECK(take(PEER, NULL) == 11 && take(PORT, NULL) == 12);
	}
	check_traffic(PORT);
}

/* Its end and its successor are one piece of news for a switch that was busy: it is told of all the same. */
static void again_at_once(void)
{
	set_up();
	CHECK(send_to(PEER, table[PORT].mac, 7, 60));
	pass_until_quiet();
	end(PORT);
	start(PORT);
	wakes[PORT] = 0;
	pass_until_quiet();
	forward_signal(&forward, count_wake, NULL);
	CHECK(wakes[PORT] == 1 && forward.port[PORT].end.seen == life);
	all_look();
	CHECK(!received_anything());
	check_traffic(PORT);
}

/* Its peers are reset first, also where the first of them has no room. */
static void a_peer_without_room(void)
{
	set_up();
	CHECK(send_to(PEER, table[PORT].mac, 7, 60));
	pass_until_quiet();
	end(PORT);
	forward.reset_queue.count = 1; /* a reset waits for room */
	forward.reset_queue.port = PORT;
	forward.reset_queue.since = now;
	forward.port[PORT].ended = forward.port[PORT].resets_sent = true;
	memset(forward.reset_queue.reset[0], 0, RESET_FRAME);
	memcpy(forward.reset_queue.reset[0], table[PEER].mac, 6);
	memcpy(forward.reset_queue.reset[0] + 6, table[PORT].mac, 6);
	while (port_reserve(&forward.port[PEER].end))
		port_publish(&forward.port[PEER].end, 60);
	forward.backlog.free = 0;
	start(PORT);
	all_look();
	CHECK(!stack[PORT].up);
	now += TIMEOUT;
	all_look();
	CHECK(stack[PORT].up);
}

/* The switch starts again: what was in the rings is lost, nobody is reset, and everybody goes on. */
static void a_switch_again(void)
{
	set_up();
	for (unsigned n = 0; n < 8; n++) {
		for (unsigned i = 1; i < PORTS; i++)
			CHECK(send_to(i, table[UPLINK].mac, n, 60));
		for (unsigned i = 0; i < PORTS; i++)
			port_close(epochs(i), PORT_FROM_SWITCH);
		if (n % 2) /* they have seen it end, or have not */
			for (unsigned i = 0; i < PORTS; i++)
				CHECK(port_poll(&stack[i]) && !stack[i].up && !port_reserve(&stack[i]));
		forward_init(&forward, table, PORTS, memory, TIMEOUT, life += 2);
		memset(wakes, 0, sizeof(wakes));
		CHECK(forward_pass(&forward, now));
		forward_signal(&forward, count_wake, NULL);
		for (unsigned i = 0; i < PORTS; i++)
			CHECK(wakes[i] == 1);
		all_look();
		CHECK(!received_anything() && !forward.reset_queue.waiting);
		check_traffic(PORT);
	}
	/* one that finds a port closed answers for it, and lets a successor in */
	end(PORT);
	forward_init(&forward, table, PORTS, memory, TIMEOUT, life += 2);
	pass_until_quiet();
	CHECK(forward.port[PORT].ended && !forward.port[PEER].ended);
	start(PORT);
	all_look();
	check_traffic(PORT);
}

/* Frames for a program that has not started yet wait for it. */
static void before_the_first_life(void)
{
	set_up();
	memset(memory + PORT * PORT_SIZE, 0, PORT_SIZE);
	forward_init(&forward, table, PORTS, memory, TIMEOUT, life += 2);
	for (unsigned turn = 0; turn < 3; turn++) {
		pass_until_quiet();
		for (unsigned i = 0; i < PORTS; i++)
			if (i != PORT)
				port_poll(&stack[i]);
	}
	for (unsigned n = 0; n < PORT_SLOTS; n++) {
		CHECK(send_to(PEER, table[PORT].mac, n, 60));
		pass_until_quiet();
	}
	start(PORT);
	all_look();
	for (unsigned n = 0; n < PORT_SLOTS; n++)
		CHECK(take(PORT, NULL) == n);
	check_traffic(PORT);
}

/* Every word of the port with every value that means something somewhere, from either side: as if its author had
 * started again. */
static void wild_words(void)
{
	set_up();
	for (unsigned word = 0; word < 4; word++) {
		struct port_side *side = &epochs(PORT)->side[word / 2];
		const uint64_t values[] = { 0, 1, 2, 3, life, life + 1, life + 2, ~0ull, ~1ull, stack[PORT].own,
		                            forward.port[PORT].end.own };

		for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			CHECK(send_to(PEER, table[PORT].mac, 7, 60));
			atomic_store(word % 2 ? &side->acknowledged : &side->epoch, values[i]);
			CHECK(send_to(3, table[PEER].mac, 8, 60)); /* others are not concerned */
			pass_until_quiet();
			CHECK(take(PEER, NULL) == 8);
			all_look();
			all_look();
			CHECK(stack[PORT].up);
			received_anything();
			check_traffic(PORT);
			CHECK(!forward.port[PEER].ended && !forward.dropped);
		}
	}
}

/* Frames that a former life may leave in the rings for the next one. */
static void forged_frames(void)
{
	set_up();
	for (unsigned n = 0; n < 4; n++) {
		uint64_t at = port_position(life + 2, forward.port[PORT].end.own);

		for (unsigned i = 0; i < PORT_SLOTS; i++)
			for (unsigned d = 0; d < 2; d++) {
				struct ring_slot *slot = &port_ring(port_memory(PORT), d)->slot[i];

				((struct port_descriptor *)slot->payload)->length = 60;
				memcpy(port_buffer(port_memory(PORT), d, PORT_SLOTS, i), table[PEER].mac, 6);
				atomic_store(&slot->sequence, at + i + 1);
			}
		atomic_store(&port_ring(port_memory(PORT), n % 2)->taken, n < 2 ? at + 5 : ~0ull);
		end(PORT);
		start(PORT);
		all_look();
		CHECK(stack[PORT].up && !received_anything());
		check_traffic(PORT);
	}
}

int main(void)
{
	a_stack_again();
	again_at_once();
	a_peer_without_room();
	a_switch_again();
	before_the_first_life();
	wild_words();
	forged_frames();
	return 0;
}
