/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bell words (skerry/bell.h) at work: the switch wakes a stack once for each of its sleeps, and none that is awake; one
 * in another cluster is woken by its ring's flag. Then threads: many producers that can only read the word, and a
 * consumer that sleeps. A lost wake-up shows as a hang, which the runner ends.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../switch/switch.h"
#include "../test.h"

enum { PORTS = 3, PRODUCERS = 3, SLOTS = 16, LENGTH = 60 };

/* --- the switch --- */

static struct bell own;
static unsigned wakes[PORTS];
static bool about_to_sleep;

static void look(void) { CHECK((own.sleeps & 1) == about_to_sleep); }
/* looks.h: the switch says that it sleeps before its last look at each ring, and at no other */
void (*before_look)(void) = look;

static void count_wake(void *unused, unsigned port)
{
	(void)unused;
	wakes[port]++;
}

static void send_to(struct port_end *from, unsigned to)
{
	uint8_t *frame = port_reserve(from);

	CHECK(frame);
	memset(frame, 0, LENGTH);
	frame[5] = (uint8_t)to;
	frame[0] = frame[6] = 2;
	port_publish(from, LENGTH);
}

/* Passes until there is nothing to do, as the switch's process makes them. */
static void work(struct forward *forward)
{
	memset(wakes, 0, sizeof(wakes));
	do {
		about_to_sleep = false;
		while (forward_pass(forward, 1))
			forward_signal(forward, count_wake, NULL);
		about_to_sleep = true;
	} while (forward_last_pass(forward, 1) && (forward_signal(forward, count_wake, NULL), true));
}

/* Ports 0 and 1 are in this cluster, port 2 is not. */
static void switching(char *memory)
{
	static struct forward forward;
	static _Alignas(BELL_SIZE) char words[PORTS][BELL_SIZE];
	struct bell *of_1 = (struct bell *)words[1];
	struct process_port table[PORTS];
	struct port_end stack[PORTS];
	uint64_t rung = 0;

	for (unsigned i = 0; i < PORTS; i++)
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .ipv4 = i + 1,
		                                  .remote = i == 2 };
	forward_init(&forward, table, PORTS, memory, 1000, 2);
	forward_bells(&forward, table, &own, words);
	for (unsigned i = 0; i < PORTS; i++)
		stack[i] = port_open(memory + i * PORT_SIZE, PORT_TO_SWITCH, 4);
	for (unsigned k = 0; k < 3; k++) {
		work(&forward);
		for (unsigned i = 0; i < PORTS; i++)
			port_poll(&stack[i]);
	}
	work(&forward);
	CHECK((own.sleeps & 1) && bell_rings(&own, &rung) && !bell_rings(&own, &rung));
	CHECK(!atomic_load(&stack[1].transmit.ring->wanted) && ring_wanted(&stack[2].transmit));

	bell_arm(of_1);
	for (unsigned turn = 0; turn < 2; turn++) { /* the second time it has been signalled already */
		send_to(&stack[0], 1);
		work(&forward);
		CHECK(wakes[1] == !turn && !wakes[0] && !wakes[2]);
	}
	CHECK(bell_rings(&own, &rung)); /* it has slept anew */
	bell_awake(of_1);
	send_to(&stack[0], 1);
	about_to_sleep = false;
	CHECK(forward_pass(&forward, 1) && !(own.sleeps & 1));
	work(&forward);
	CHECK(!wakes[1]);

	send_to(&stack[0], 2);
	work(&forward);
	CHECK(!wakes[2]);
	ring_arm(&stack[2].receive);
	send_to(&stack[0], 2);
	work(&forward);
	CHECK(wakes[2] == 1);
}

/* --- threads --- */

static struct {
	_Alignas(64) uint8_t memory[PRODUCERS][sizeof(struct ring) + SLOTS * RING_SLOT];
	struct bell *word;         /* the consumer's */
	const struct bell *seen;   /* the same word, read-only */
	sem_t wake;
	unsigned signals[PRODUCERS];
	uint64_t messages;         /* of each producer */
} threads;

static void *produce(void *number)
{
	const unsigned self = (unsigned)(uintptr_t)number;
	struct ring_end end = ring_producer(threads.memory[self], SLOTS);
	uint64_t rung = 0;

	for (uint64_t n = 0; n < threads.messages; n++) {
		uint64_t *payload;

		while (!(payload = ring_reserve(&end)))
			sched_yield();
		*payload = n;
		ring_publish(&end);
		if (bell_rings(threads.seen, &rung)) {
			threads.signals[self]++;
			sem_post(&threads.wake);
		}
	}
	return NULL;
}

static uint64_t take_all(struct ring_end *end)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < PRODUCERS; i++) {
		const uint64_t *payload;

		for (; (payload = ring_peek(&end[i])); taken++) {
			CHECK(*payload == end[i].position);
			ring_release(&end[i]);
		}
	}
	return taken;
}

static void sleeping(void)
{
	pthread_t thread[PRODUCERS];
	struct ring_end end[PRODUCERS];
	uint64_t left = PRODUCERS * threads.messages, sleeps = 0;

	sem_init(&threads.wake, 0, 0);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		end[i] = ring_consumer(threads.memory[i], SLOTS);
		pthread_create(&thread[i], NULL, produce, (void *)(uintptr_t)i);
	}
	while (left) {
		bell_awake(threads.word);
		left -= take_all(end);
		bell_arm(threads.word);
		sleeps++;
		uint64_t more = take_all(end);
		left -= more;
		if (!more && left)
			sem_wait(&threads.wake);
	}
	for (unsigned i = 0; i < PRODUCERS; i++) {
		pthread_join(thread[i], NULL);
		CHECK(threads.signals[i] <= sleeps);
	}
	printf("%lu messages, armed %lu times; signals %u, %u, %u\n", PRODUCERS * threads.messages, sleeps,
	       threads.signals[0], threads.signals[1], threads.signals[2]);
}

int main(void)
{
	static _Alignas(4096) char memory[PORTS * PORT_SIZE];
	int file = memfd_create("bell", 0);

	CHECK(file >= 0 && !ftruncate(file, BELL_SIZE));
	threads.word = mmap(NULL, BELL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	threads.seen = mmap(NULL, BELL_SIZE, PROT_READ, MAP_SHARED, file, 0);
	CHECK(threads.word != MAP_FAILED && threads.seen != MAP_FAILED);
	threads.messages = 100000;
	switching(memory);
	sleeping();
	return 0;
}
