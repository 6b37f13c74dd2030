/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's backlog against a model: frames held and released at random, in memory that was in use before. Each
 * queue is in order, each frame as it was, and each pair of source and destination gets its share of the pool: neither
 * less nor more.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../switch/switch.h"
#include "test.h"

enum { STEPS = 200000, PORTS = 5 }; /* ports that take part: the last ones of all, and the first */

struct frame {
	uint8_t source;
	uint16_t length, mark;
};

static struct {
	struct backlog backlog;
	uint8_t behind[64];
} memory;
static struct backlog *const backlog = &memory.backlog;
static struct frame queue[PORTS][BACKLOG_FRAMES]; /* the model: of each destination, oldest first */
static unsigned count[PORTS], pairs[PORTS][PORTS], all;
static uint16_t marks;

static unsigned port(unsigned i) { return i ? PROCESS_MAX_PORTS - i : 0; }

static uint8_t byte_of(uint16_t mark, uint32_t at) { return (uint8_t)(mark * 31u + at + (at >> 7)); }

static void set_up(void)
{
	memset(&memory, 0x11, sizeof(memory));
	backlog_init(backlog);
	memset(count, 0, sizeof(count));
	memset(pairs, 0, sizeof(pairs));
	all = 0;
	for (unsigned i = 0; i < sizeof(memory.behind); i++)
		CHECK(memory.behind[i] == 0x11);
}

static bool hold(unsigned source, unsigned destination, uint32_t length)
{
	uint8_t frame[PORT_FRAME_MAX];
	const bool room = pairs[source][destination] < (BACKLOG_FRAMES - all) / 2;
	const uint16_t mark = marks++;

	for (uint32_t i = 0; i < length; i++)
		frame[i] = byte_of(mark, i);
	CHECK(backlog_hold(backlog, port(source), port(destination), frame, length) == room);
	if (!room)
		return false;
	queue[destination][count[destination]++] = (struct frame){ (uint8_t)source, (uint16_t)length, mark };
	pairs[source][destination]++;
	all++;
	return true;
}

static void release(unsigned destination)
{
	const struct frame *first = &queue[destination][0];
	uint32_t length = 0;
	const uint8_t *frame = backlog_first(backlog, port(destination), &length);

	CHECK(length == first->length);
	for (uint32_t i = 0; i < length; i++)
		CHECK(frame[i] == byte_of(first->mark, i));
	backlog_release(backlog, port(destination));
	pairs[first->source][destination]--;
	memmove(queue[destination], queue[destination] + 1, --count[destination] * sizeof(*first));
	all--;
}

static void check_counts(void)
{
	CHECK(backlog->free == BACKLOG_FRAMES - all);
	for (unsigned i = 0; i < PORTS; i++)
		CHECK(backlog_count(backlog, port(i)) == count[i]);
}

/* Now more is held than released, now less: the pool is full again and again, and empty. */
static void at_random(void)
{
	set_up();
	for (unsigned step = 0; step < STEPS; step++) {
		const bool fills = step / 3000 % 2 == 0;
		const unsigned source = (unsigned)rand() % PORTS, destination = (unsigned)rand() % PORTS;

		if ((unsigned)rand() % 8 < (fills ? 7 : 1))
			hold(source, destination,
			     rand() % 50 ? (uint32_t)rand() % 80 : PORT_FRAME_MAX - (uint32_t)rand() % 3);
		else if (count[destination])
			release(destination);
		check_counts();
	}
	for (unsigned i = 0; i < PORTS; i++)
		while (count[i])
			release(i);
	check_counts();
}

/* One pair after the other takes all that it gets, which is a third of what is free. */
static void shares(void)
{
	set_up();
	for (unsigned i = 0; i < PORTS; i++) {
		const unsigned free = BACKLOG_FRAMES - all;

		while (hold(i, 0, 60))
			;
		check_counts();
		CHECK(pairs[i][0] >= free / 3 && pairs[i][0] <= free / 3 + 1);
	}
	CHECK(!hold(0, 0, 60) && hold(0, 1, 60)); /* there is room, for another pair */
	check_counts();
}

/* Returns whether this ends the process, as a broken precondition must. */
static bool ends(void (*what)(void))
{
	int status = 0;
	const pid_t child = fork();

	if (!child) {
		fclose(stderr);
		what();
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status);
}

static uint8_t too_long[PORT_FRAME_MAX + 1];
static void hold_too_long(void) { backlog_hold(backlog, 0, 1, too_long, sizeof(too_long)); }
static void hold_longest(void) { backlog_hold(backlog, 0, 1, too_long, PORT_FRAME_MAX); }
static void first_of_none(void) { backlog_first(backlog, 1, &(uint32_t){ 0 }); }
static void release_none(void) { backlog_release(backlog, 1); }

static void preconditions(void)
{
	set_up();
	CHECK(hold(0, 2, 60)); /* for another port */
	CHECK(ends(hold_too_long) && ends(first_of_none) && ends(release_none) && !ends(hold_longest));
}

int main(void)
{
	srand(20261127);
	at_random();
	shares();
	preconditions();
	return 0;
}
