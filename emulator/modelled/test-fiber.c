/* SPDX-License-Identifier: BSD-2-Clause */
/* Fibers hand over to each other, and to and from a thread that is none; each keeps its registers, stack and
 * storage. */
#define _GNU_SOURCE
#include "fiber.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "test-common.h"

enum { FIBERS = 5, TURNS = 20000, OUT_EACH = 7, LEFT_AHEAD = 50, GO_EACH = 11 };

static _Atomic unsigned turn; /* the fiber in turn */
static _Atomic unsigned turns, joined, main_turns, direct, carried;
static _Atomic bool main_turn;
static pthread_t thread[FIBERS];
static __thread unsigned mine, my_turns;

static unsigned random_next(unsigned *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

/* The fiber has gone on: with everything that it had, and nobody else does. */
static void check_own(unsigned party, const unsigned *on_stack, unsigned done)
{
	EXPECT(mine, party);
	EXPECT(my_turns, done);
	EXPECT(*on_stack, ~party);
	EXPECT(pthread_equal(pthread_self(), thread[party]) != 0, 1);
	EXPECT(errno, (int)party + 1000);
	carried += fiber_thread(party) == (pid_t)syscall(SYS_gettid);
}

/* It may have been let go although it is another's turn: then it does nothing but wait again. */
static void await_turn(unsigned party)
{
	fiber_await(party);
	while (main_turn || turn != party) {
		fiber_stop(party);
		if (!main_turn && turn == party) { /* it came just now */
			fiber_go(party);
			continue;
		}
		fiber_await(party);
	}
}

static void *play(void *number)
{
	unsigned party = (unsigned)(uintptr_t)number, state = party, on_stack = ~party, done = 0;
	double on_fpu = party * 1.5;
	mine = party;
	fiber_join(party);
	joined++;
	for (;;) {
		errno = (int)party + 1000;
		await_turn(party);
		check_own(party, &on_stack, done);
		EXPECT(on_fpu == party * 1.5 + done, 1);
		my_turns = ++done;
		on_fpu += 1;
		if (++turns % GO_EACH == 0)
			fiber_go(party); /* it runs: nobody else may */
		unsigned next = random_next(&state) % FIBERS;
		if (turns % OUT_EACH == 0) { /* to main(), which decides which fiber is next */
			fiber_stop(party);
			main_turn = true;
			continue;
		}
		if (next == party)
			continue;
		direct++;
		fiber_stop(party);
		turn = next;
		fiber_go_after(party, next);
	}
	return NULL;
}

int main(void)
{
	unsigned state = 99;
	main_turn = true;
	for (unsigned i = 0; i < FIBERS; i++) {
		EXPECT(pthread_create(&thread[i], NULL, play, (void *)(uintptr_t)i), 0);
		while (joined <= i)
			sched_yield();
	}
	for (;;) {
		while (!main_turn) /* before it is our turn, `turns` may still be counted up */
			sched_yield();
		if (turns >= TURNS)
			break;
		unsigned next = random_next(&state) % FIBERS;
		turn = next;
		main_turn = false;
		fiber_go(next);
		if (++main_turns % LEFT_AHEAD == 0)
			fiber_go((next + 1) % FIBERS); /* not in turn */
	}
	EXPECT(turns, TURNS / OUT_EACH * OUT_EACH + OUT_EACH);
	EXPECT(carried, turns);
	EXPECT(direct > TURNS / 2, 1);
	EXPECT(main_turns, turns / OUT_EACH);
	fflush(NULL);
	_exit(0); /* fibers do not end */
}
