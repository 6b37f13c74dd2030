/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's forwarding: where frames go, that full rings lose nothing and
 * keep the order, that lying ports harm nobody, and that no wake is lost with
 * a switch and stacks that sleep, each in a thread of its own.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../ethernet.h"
#include "../switch/forward.h"
#include "test.h"

enum { PORTS = 4, UPLINK = 0, PATIENCE = 1000000000 };

static struct forward forward;
static struct process_port table[PORTS];
static char *memory;
static struct port_end stack[PORTS];
static unsigned wakes[PORTS];
static uint64_t now = 1;

static void set_up(void)
{
	if (memory)
		munmap(memory, PORTS * PORT_SIZE);
	memory = mmap(NULL, PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (unsigned i = 0; i < PORTS; i++) {
		table[i] = (struct process_port){ .mac = { 2, 0x53, 0x4b, 0, 0, (uint8_t)i }, .uplink = i == UPLINK };
		table[i].ipv4 = i == UPLINK ? 0 : 0x0a00000a + (i << 24);
		stack[i] = port_end(memory + i * PORT_SIZE, PORT_TO_SWITCH);
	}
	memset(wakes, 0, sizeof(wakes));
	forward_init(&forward, table, PORTS, memory, PATIENCE);
}

static void count_wake(void *context, unsigned port)
{
	(void)context;
	wakes[port]++;
}

/* `mark` is written behind the header, to tell frames apart. */
static bool send_to(unsigned from, const uint8_t *mac, uint64_t mark, uint32_t length)
{
	uint8_t *frame = port_reserve(&stack[from]);

	if (!frame)
		return false;
	memcpy(frame, mac, 6);
	memcpy(frame + 6, table[from].mac, 6);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	memcpy(frame + 14, &mark, 8);
	for (uint32_t i = 22; i < length; i++)
		frame[i] = (uint8_t)(mark * 31 + i);
	port_publish(&stack[from], length);
	return true;
}

/* The next frame's mark; -1 without one, -2 for one that is not as it was sent. */
static int64_t take(unsigned at, uint32_t *length)
{
	uint32_t size;
	uint8_t *frame = port_peek(&stack[at], &size);
	int64_t mark;

	if (!frame)
		return -1;
	memcpy(&mark, frame + 14, 8);
	for (uint32_t i = 22; i < size; i++)
		if (frame[i] != (uint8_t)((uint64_t)mark * 31 + i))
			mark = -2;
	if (length)
		*length = size;
	port_release(&stack[at]);
	return mark;
}

static void pass_until_quiet(void)
{
	while (forward_pass(&forward, now))
		;
}

static void send_arp(unsigned from, uint32_t target, uint16_t operation)
{
	uint8_t *frame = port_reserve(&stack[from]);

	CHECK(frame);
	memset(frame, 0, ARP_FRAME);
	memset(frame, 0xff, 6);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_ARP);
	store_be16(frame + ARP_OPERATION_OFFSET, operation);
	memcpy(frame + ARP_TARGET_IP_OFFSET, &target, 4);
	port_publish(&stack[from], ARP_FRAME);
}

static unsigned received_anything(void)
{
	unsigned who = 0;
	uint32_t length;

	for (unsigned i = 0; i < PORTS; i++)
		while (port_peek(&stack[i], &length)) {
			port_release(&stack[i]);
			who |= 1u << i;
		}
	return who;
}

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

/* A dead stack's ring stays full: its senders wait for patience to end, once, and then no more. */
static void patience(void)
{
	uint64_t start = now;

	set_up();
	for (unsigned i = 0; i < PORT_SLOTS; i++) {
		CHECK(send_to(1, table[2].mac, i, 64));
		pass_until_quiet();
	}
	CHECK(send_to(1, table[2].mac, PORT_SLOTS, 64) && send_to(1, table[3].mac, 77, 64));
	CHECK(!forward_last_pass(&forward, now) && forward.deadline == start + PATIENCE);
	now = start + PATIENCE - 1;
	CHECK(!forward_last_pass(&forward, now) && forward.deadline == start + PATIENCE);
	CHECK(take(3, NULL) == -1);
	now = start + PATIENCE;
	CHECK(forward_last_pass(&forward, now));
	CHECK(take(3, NULL) == 77 && forward.port[2].given_up == 1);
	CHECK(!forward_last_pass(&forward, now) && !forward.deadline); /* nothing waits: no reason to wake up */
	now += PATIENCE;
	CHECK(send_to(1, table[2].mac, 5, 64) && forward_pass(&forward, now) && forward.port[2].given_up == 2);

	for (unsigned i = 0; i < 3; i++) /* it lives after all: patience begins anew */
		CHECK(take(2, NULL) == i);
	for (unsigned i = 0; i < 4; i++)
		CHECK(send_to(1, table[2].mac, 1000 + i, 64));
	pass_until_quiet();
	CHECK(!forward_last_pass(&forward, now) && forward.deadline == now + PATIENCE && forward.port[2].given_up == 2);
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
		if ((published && ring_wanted(&stack[self].transmit)) | (released && ring_room_wanted(&stack[self].receive)))
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
	alarm(100);
	forwarding();
	back_pressure();
	patience();
	signals();
	lies();
	sleeping();
	return 0;
}
