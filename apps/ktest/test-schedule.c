/* SPDX-License-Identifier: BSD-2-Clause */
/* Which thread runs on one core. */
#include "ktest.h"

static _Atomic uint64_t turn;

static void note_turn(struct worker *self) { self->out[0] = ++turn; }

static bool runs(struct worker *worker, unsigned ms)
{
	uint64_t before = worker->count;
	sleep_ms(ms);
	return worker->count != before;
}

TEST(by_priority, 1, 0, "schedule: ready threads run from the highest priority to the lowest")
{
	static const uint8_t priority[] = { 3, 90, 17, 64, 63, 65, 1, 99, 0, 50 };
	enum { COUNT = sizeof(priority) };
	struct worker *w[COUNT];
	turn = 0;
	for (unsigned i = 0; i < COUNT; i++)
		w[i] = worker_start(note_turn, priority[i], 0, 0, 0);
	for (unsigned i = 0; i < COUNT; i++)
		until(w[i]->done);
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned higher = 0;
		for (unsigned j = 0; j < COUNT; j++)
			higher += priority[j] > priority[i];
		check_eq(w[i]->out[0], higher + 1);
	}
}

/* Whole time slices, of 5 ms (core/boot.c), that can have ended since then. */
static uint64_t slices_since(uint64_t begin) { return (read_tsc() - begin) / (ROOT->tsc_hz / 1000 * 5); }

enum { EQUALS = 4, ROUNDS = 4, TIMEOUT = 20000 /* milliseconds for rounds that the host does not disturb */ };

/*
 * Returns whether the workers, equals that became ready after `begin`, took their turns in order. They must where no
 * slice has ended since: one that ends before its worker has taken its turn sends the worker behind its equals.
 */
static bool in_order(struct worker *const w[], uint64_t begin)
{
	bool ordered = true;
	for (unsigned i = 0; i < EQUALS; i++) {
		until(w[i]->done);
		ordered &= w[i]->out[0] == i + 1;
	}
	check(ordered || slices_since(begin));
	workers_drop();
	return ordered;
}

TEST(first_come, 1, 0, "schedule: equals run in the order in which they became ready")
{
	uint64_t timeout = deadline_ms(TIMEOUT);
	for (unsigned ordered = 0; ordered < ROUNDS && !passed(timeout);) {
		struct worker *w[EQUALS];
		uint64_t begin = read_tsc();
		turn = 0;
		for (unsigned i = 0; i < EQUALS; i++)
			w[i] = worker_start(note_turn, 50, 0, 0, 0);
		ordered += in_order(w, begin);
	}
}

static void note_turn_later(struct worker *self)
{
	struct message m = { 0 };
	check_error(ipc_receive(self->arg[0], 0, &m), DELETED);
	note_turn(self);
}

TEST(woken_together, 1, 0, "schedule: equals that one system call makes ready run in the order in which they waited")
{
	uint64_t timeout = deadline_ms(TIMEOUT);
	for (unsigned ordered = 0; ordered < ROUNDS && !passed(timeout);) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w[EQUALS];
		turn = 0;
		for (unsigned i = 0; i < EQUALS; i++) {
			w[i] = worker_start(note_turn_later, 50, 0, endpoint, 0);
			until(waits(w[i]));
		}
		uint64_t begin = read_tsc();
		check_ok(cnode_delete(ROOT_SLOT_CNODE, endpoint));
		ordered += in_order(w, begin);
	}
}

TEST(at_once, 1, 0, "schedule: a higher priority that becomes ready runs at once")
{
	struct worker *w = worker_start(note_turn, MAIN_PRIORITY + 1, 0, 0, 0);
	check(w->done);
}

TEST(not_lower, 1, 0, "schedule: a lower priority waits until all higher ones do")
{
	struct worker *high = worker_start(spinner, 60, 0, 0, 0), *low = worker_start(spinner, 59, 0, 0, 0);
	sleep_ms(20);
	until(runs(high, 1));
	check_eq(low->count, 0);
	check_ok(tcb_suspend(high->tcb));
	until(low->count);
}

/* Unless a time slice ends in between. */
TEST(not_equal, 1, 0, "schedule: an equal priority that becomes ready waits for its turn")
{
	for (unsigned i = 0; i < 20; i++) {
		uint64_t begin = read_tsc();
		struct worker *w = worker_start(note_turn, MAIN_PRIORITY, 0, 0, 0);
		check(!w->done || slices_since(begin));
		begin = read_tsc();
		thread_yield();
		check(w->done || slices_since(begin));
		until(w->done);
	}
}

/* Has each of them had a twentieth of their time at least? */
static bool shared(struct worker **w, unsigned count)
{
	uint64_t time[4], total = 0;
	for (unsigned i = 0; i < count; i++) {
		check_ok(tcb_time(w[i]->tcb, &time[i]));
		total += time[i];
	}
	for (unsigned i = 0; i < count; i++)
		if (time[i] <= total / 20)
			return false;
	return true;
}

TEST(round_robin, 1, 0, "schedule: equals share the core by time slices")
{
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = worker_start(spinner, 50, 0, 0, 0);
	sleep_ms(100);
	until(shared(w, 4)); /* sooner or later: a busy host takes whole slices away */
}

static void yielder(struct worker *self)
{
	for (unsigned i = 0; i < 300; i++) {
		self->out[0] = ++turn;
		self->out[2] += self->count && self->out[0] != self->out[1] + 3;
		self->out[1] = self->out[0];
		self->count++;
		thread_yield();
	}
}

/* A slice that ends in between changes the order of the next turns; a host that is busy makes slices end. */
TEST(yield, 1, 0, "schedule: YIELD gives each of three equals its turn")
{
	uint64_t allowed, timeout = deadline_ms(TIMEOUT);
	do {
		struct worker *w[3];
		uint64_t begin = read_tsc(), most = 0;
		turn = 0;
		for (unsigned i = 0; i < 3; i++)
			w[i] = worker_start(yielder, 50, 0, 0, 0);
		for (unsigned i = 0; i < 3; i++) {
			until(w[i]->done);
			most = w[i]->out[2] > most ? w[i]->out[2] : most;
		}
		allowed = 29 + 3 * slices_since(begin);
		check(most <= allowed);
		workers_drop();
	} while (allowed > 100 && !passed(timeout)); /* of 300 turns */
}

TEST(yield_alone, 1, 0, "schedule: YIELD runs no lower priority")
{
	struct worker *low = worker_start(spinner, MAIN_PRIORITY - 1, 0, 0, 0);
	for (unsigned i = 0; i < 1000; i++)
		thread_yield();
	check_eq(low->count, 0);
}

TEST(raised, 1, 0, "schedule: a thread whose priority is raised runs at once")
{
	struct worker *w = worker_start(note_turn, 50, 0, 0, 0);
	check(!w->done);
	check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, MAIN_PRIORITY + 1, 0));
	check(w->done);
}

TEST(lowered, 1, 0, "schedule: a thread whose priority is lowered makes way")
{
	struct worker *a = worker_start(spinner, 60, 0, 0, 0), *b = worker_start(spinner, 50, 0, 0, 0);
	until(a->count);
	check_ok(tcb_schedule(IPC, a->tcb, ROOT_SLOT_TCB, 40, 0));
	until(b->count);
	check(!runs(a, 10));
}

TEST(own_priority, 1, 0, "schedule: a thread that lowers its own priority makes way")
{
	struct worker *w = worker_start(note_turn, 50, 0, 0, 0);
	check_ok(tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, 40, 0));
	bool done = w->done;
	check_ok(tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0));
	check(done);
}

static void high_waiter(struct worker *self)
{
	check_ok(notification_wait(self->arg[0], 0, 0));
	self->out[0] = ++turn;
}

TEST(wake_preempts, 1, 0, "schedule: a signal to a higher priority switches to it, to a lower one does not")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *high = worker_start(high_waiter, MAIN_PRIORITY + 1, 0, notification, 0);
	struct worker *low = worker_start(high_waiter, MAIN_PRIORITY - 1, 0, notification, 0);
	until(waits(low));
	check_ok(notification_signal(notification));
	check(high->done);
	check_ok(notification_signal(notification));
	check(!low->done);
	until(low->done);
}

/* A preempted thread goes to the front of its queue: the other's turn comes only when a whole slice is over. */
TEST(after_preemption, 1, 0, "schedule: a preempted thread goes on before its equals")
{
	enum { PREEMPTIONS = 60 };
	struct worker *w[2] = { worker_start(spinner, 50, 0, 0, 0), worker_start(spinner, 50, 0, 0, 0) };
	enum { NOBODY = 2 }; /* of two counters that have both moved, none is known to be the last that did */
	unsigned changes = 0, last = NOBODY;
	uint64_t timeout = deadline_ms(TIMEOUT);
	until(w[0]->count);
	for (unsigned i = 0; i < PREEMPTIONS && !passed(timeout);) {
		uint64_t count[2] = { w[0]->count, w[1]->count }, begin = read_tsc();
		pause_main();
		bool moved[2] = { w[0]->count != count[0], w[1]->count != count[1] };
		unsigned before = last;
		if (moved[0] || moved[1])
			last = moved[0] && moved[1] ? NOBODY : moved[1];
		if (read_tsc() - begin > ROOT->tsc_hz / 1000 || before == NOBODY)
			continue; /* a busy host made it, or the one before, last as long as a slice */
		changes += last != before;
		i++;
	}
	check(changes < PREEMPTIONS / 2);
}

TEST(no_starving, 1, 0, "schedule: equals share the core however often a higher priority interrupts them")
{
	struct worker *w[3];
	for (unsigned i = 0; i < 3; i++)
		w[i] = worker_start(spinner, 50, 0, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		until(w[i]->count);
}

TEST(idle, 1, NEEDS_PROCESSOR, "schedule: a core with nothing to run counts idle time")
{
	uint64_t before = STAT[0].idle_cycles;
	until(STAT[0].idle_cycles - before > ROOT->tsc_hz / 1000);
}
