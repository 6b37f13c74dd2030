/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's forwarding: where frames go, that full rings lose nothing and
 * keep the order, that lying ports harm nobody, and that no wake is lost with
 * a switch and stacks that sleep, each in a thread of its own.
 */
#include <pthread.h>
#include <semaphore.h>
#include "switch-ports.h"

static void forwarding(void)
{
	static const uint8_t unknown[6] = { 2, 9, 9, 9, 9, 9 }, all[6] = { 255, 255, 255, 255, 255, 255 },
			     group[6] = { 1, 0, 0x5e, 0, 0, 1 };
	uint32_t length;

	set_up();
	for (uint32_t size = 22; size <= PORT_FRAME_MAX; size += 7) {
		CHECK(send_to(1, table[2].mac, size, size));
		pass_until_quiet();
		CHECK(take(2, &length) == size && length == size);
	}
	CHECK(!received_anything());
	send_to(1, unknown, 1, 60);
	pass_until_quiet();
	CHECK(received_anything() == 1 << UPLINK);
	send_to(UPLINK, unknown, 1, 60); /* never back to where it came from */
	send_to(1, table[1].mac, 1, 60);
	pass_until_quiet();
	CHECK(!received_anything() && forward.port[UPLINK].strays == 1 && forward.port[1].strays == 1);
	send_to(1, table[UPLINK].mac, 1, 60); /* the driver's own address is outside */
	pass_until_quiet();
	CHECK(received_anything() == 1 << UPLINK);
	send_to(2, all, 1, 60);
	pass_until_quiet();
	CHECK(received_anything() == 0xb);
	send_to(UPLINK, group, 1, 60);
	pass_until_quiet();
	CHECK(received_anything() == 0xe);

	send_arp(1, table[3].ipv4, ARP_REQUEST);
	pass_until_quiet();
	CHECK(received_anything() == 1 << 3);
	send_arp(1, 0x0100000a, ARP_REQUEST + 1);
	pass_until_quiet();
	CHECK(received_anything() == 0xd);
	send_arp(1, 0x6300000a, ARP_REQUEST);
	pass_until_quiet();
	CHECK(received_anything() == 1 << UPLINK);
	send_arp(UPLINK, 0x6300000a, ARP_REQUEST);
	pass_until_quiet();
	CHECK(!received_anything());
	send_arp(1, table[1].ipv4, ARP_REQUEST); /* announcement */
	pass_until_quiet();
	CHECK(received_anything() == 0xd);
}

static void back_pressure(void)
{
	uint64_t sent = 0, got = 0;

	set_up();
	while (sent < 3 * PORT_SLOTS) { /* the receiver sleeps: its ring fills, then the sender's */
		if (!send_to(1, table[2].mac, sent, 100))
			break;
		sent++;
		forward_pass(&forward, now);
	}
	CHECK(sent == 2 * PORT_SLOTS);
	CHECK(!forward_last_pass(&forward, now)); /* blocked: this arms for room */
	CHECK(send_to(3, table[UPLINK].mac, 7, 64)); /* others go on */
	pass_until_quiet();
	CHECK(take(UPLINK, NULL) == 7);
	CHECK(take(2, NULL) == (int64_t)got++);
	CHECK(ring_room_wanted(&stack[2].receive) && !ring_room_wanted(&stack[2].receive));
	pass_until_quiet();
	while (got < sent) {
		CHECK(take(2, NULL) == (int64_t)got++);
		pass_until_quiet();
	}
	CHECK(take(2, NULL) == -1);

	/* broadcasts do not wait for a full ring, and do not make others wait */
	for (unsigned i = 0; i < PORT_SLOTS + 3; i++) {
		CHECK(send_to(1, (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, i, 64));
		pass_until_quiet();
		CHECK(take(3, NULL) == i);
	}
	CHECK(forward.port[2].missed == 3);
}

static void signals(void)
{
	set_up();
	ring_arm(&stack[2].receive);
	for (unsigned i = 0; i < 10; i++)
		send_to(1, table[2].mac, i, 64);
	ring_arm_room(&stack[1].transmit);
	pass_until_quiet();
	forward_signal(&forward, count_wake, NULL);
	forward_signal(&forward, count_wake, NULL);
	CHECK(wakes[1] == 1 && wakes[2] == 1 && !wakes[0] && !wakes[3]); /* once for a batch */
	CHECK(!forward_last_pass(&forward, now));
	CHECK(ring_wanted(&stack[1].transmit) && ring_wanted(&stack[3].transmit));
}

static void lies(void)
{
	static const uint32_t lengths[] = { 0, 1, 13, PORT_FRAME_MAX + 1, 2048, 4096, 0x7fffffff, 0xffffffff };

	set_up();
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(port_reserve(&stack[1]));
		port_publish(&stack[1], lengths[i]);
	}
	send_to(1, table[2].mac, 5, 64);
	pass_until_quiet();
	CHECK(take(2, NULL) == 5 && take(2, NULL) == -1 && forward.port[1].bad == sizeof(lengths) / sizeof(lengths[0]));

	/* noise all over a port's rings: the switch neither hangs nor leaves its memory, and the others work on */
	srand(20261121);
	for (unsigned round = 0; round < 300; round++) {
		uint32_t *word = (uint32_t *)(memory + 3 * PORT_SIZE);

		for (unsigned i = 0; i < 2000; i++)
			word[(unsigned)rand() % (PORT_BUFFERS / 4)] = (uint32_t)rand() % (i % 2 ? 600 : 0xffffffffu);
		for (unsigned i = 0; i < 50; i++)
			forward_pass(&forward, now);
		received_anything();
		CHECK(send_to(1, table[2].mac, round, 64));
		pass_until_quiet();
		CHECK(take(2, NULL) == round || received_anything());
		received_anything();
	}
}

/* --- sleeping switch and stacks --- */

enum { STREAM = 400000 };
static sem_t switch_wake, stack_wake[PORTS];
static _Atomic bool done;

static void post(void *context, unsigned port)
{
	(void)context;
	sem_post(&stack_wake[port]);
}

static void *run_switch(void *unused)
{
	(void)unused;
	while (!done) {
		while (forward_pass(&forward, now))
			forward_signal(&forward, post, NULL);
		if (forward_last_pass(&forward, now))
			forward_signal(&forward, post, NULL);
		else
			sem_wait(&switch_wake);
	}
	return NULL;
}

/* Sends STREAM frames to the next stack and takes as many from the one before, in order. */
static void *run_stack(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument, next = self % (PORTS - 1) + 1;
	uint64_t sent = 0, got = 0;

	while (sent < STREAM || got < STREAM) {
		bool moved = false, released = false, published = false;

		for (int i = 0; i < 40 && sent < STREAM && send_to(self, table[next].mac, sent, 64); i++, sent++)
			published = moved = true;
		for (int64_t mark; (mark = take(self, NULL)) != -1; got++) {
			CHECK(mark == (int64_t)got);
			released = moved = true;
		}
		if ((published && ring_wanted(&stack[self].transmit)) |
		    (released && ring_room_wanted(&stack[self].receive)))
			sem_post(&switch_wake);
		if (moved)
			continue;
		ring_arm(&stack[self].receive);
		if (sent < STREAM)
			ring_arm_room(&stack[self].transmit);
		uint32_t length;
		if (!port_peek(&stack[self], &length) && (sent == STREAM || !port_reserve(&stack[self])))
			sem_wait(&stack_wake[self]);
	}
	return NULL;
}

static void sleeping(void)
{
	pthread_t switch_thread, thread[PORTS];

	set_up();
	sem_init(&switch_wake, 0, 0);
	for (unsigned i = 0; i < PORTS; i++)
		sem_init(&stack_wake[i], 0, 0);
	pthread_create(&switch_thread, NULL, run_switch, NULL);
	for (unsigned i = 1; i < PORTS; i++)
		pthread_create(&thread[i], NULL, run_stack, (void *)(uintptr_t)i);
	for (unsigned i = 1; i < PORTS; i++)
		pthread_join(thread[i], NULL);
	done = true;
	sem_post(&switch_wake);
	pthread_join(switch_thread, NULL);
}

int main(void)
{
	forwarding();
	back_pressure();
	signals();
	lies();
	sleeping();
	return 0;
}
