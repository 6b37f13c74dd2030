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

static bool in_order(struct worker *const w[], unsigned count)
{
	bool ordered = true;
	for (unsigned i = 0; i < count; i++) {
		until(w[i]->done);
		ordered &= w[i]->out[0] == i + 1;
	}
	return ordered;
}

/* A time slice may end before its worker has taken its turn; the worker then goes behind its equals. Not in each round. */
TEST(first_come, 1, 0, "schedule: equals run in the order in which they became ready")
{
	unsigned ordered = 0;
	for (unsigned round = 0; round < 4; round++) {
		struct worker *w[4];
		turn = 0;
		for (unsigned i = 0; i < 4; i++)
			w[i] = worker_start(note_turn, 50, 0, 0, 0);
		ordered += in_order(w, 4);
	}
	check(ordered > 1);
}

static void note_turn_later(struct worker *self)
{
	struct message m = { 0 };
	check_error(ipc_receive(self->arg[0], 0, &m), DELETED);
	note_turn(self);
}

/* As in first_come, a time slice may end in between. */
TEST(woken_together, 1, 0, "schedule: equals that one system call makes ready run in the order in which they waited")
{
	unsigned ordered = 0;
	for (unsigned round = 0; round < 4; round++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w[4];
		turn = 0;
		for (unsigned i = 0; i < 4; i++) {
			w[i] = worker_start(note_turn_later, 50, 0, endpoint, 0);
			until(waits(w[i]));
		}
		check_ok(cnode_delete(ROOT_SLOT_CNODE, endpoint));
		ordered += in_order(w, 4);
	}
	check(ordered > 1);
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

/* A time slice may end in between, but not each time. */
TEST(not_equal, 1, 0, "schedule: an equal priority that becomes ready waits for its turn")
{
	unsigned waited = 0, ended = 0;
	for (unsigned i = 0; i < 20; i++) {
		struct worker *w = worker_start(note_turn, MAIN_PRIORITY, 0, 0, 0);
		waited += !w->done;
		thread_yield();
		ended += w->done;
		until(w->done);
	}
	check(waited > 2 && ended > 2);
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

TEST(yield, 1, 0, "schedule: YIELD gives each of three equals its turn")
{
	struct worker *w[3];
	turn = 0;
	for (unsigned i = 0; i < 3; i++)
		w[i] = worker_start(yielder, 50, 0, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		until(w[i]->done);
		check(w[i]->out[2] < 30); /* a slice may end in between, on a busy host */
	}
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
	unsigned changes = 0, last = 0;
	uint64_t patience = deadline_ms(20000);
	until(w[0]->count);
	for (unsigned i = 0; i < PREEMPTIONS && !passed(patience);) {
		uint64_t count = w[!last]->count, begin = read_tsc();
		pause_main();
		bool changed = w[!last]->count != count;
		last ^= changed;
		if (read_tsc() - begin > ROOT->tsc_hz / 1000)
			continue; /* a busy host made it last as long as a slice */
		changes += changed;
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
	sleep_ms(5);
	check(STAT[0].idle_cycles - before > ROOT->tsc_hz / 1000);
}
