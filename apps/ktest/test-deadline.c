/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits that end in time. */
#include "ktest.h"

TEST(past, 1, 0, "deadline: one that has passed is TIMED_OUT at once")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_error(notification_wait(notification, 1, &word), TIMED_OUT);
	check_error(notification_wait(notification, read_tsc(), &word), TIMED_OUT);
}

TEST(past_signalled, 1, 0, "deadline: a pending signal counts even after it")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(notification));
	check_ok(notification_wait(notification, 1, &word));
	check_eq(word, 1);
}

TEST(not_early, 1, 0, "deadline: never early")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned ms = 1; ms < 10; ms += 2) {
		uint64_t deadline = deadline_ms(ms);
		check_error(notification_wait(notification, deadline, 0), TIMED_OUT);
		check(read_tsc() >= deadline);
	}
}

struct order {
	_Atomic uint64_t sequence;
};
static struct order order;

static void timed(struct worker *self)
{
	self->out[0] = (uint64_t)(int64_t)notification_wait(self->arg[0], self->arg[1], 0);
	self->out[1] = read_tsc();
	self->out[2] = ++order.sequence;
	self->out[3] = read_tsc();
}

TEST(in_order, 1, 0, "deadline: many on one core end in their order, not that of their beginning")
{
	/* milliseconds; SLICE: of time slices (core/boot.c) */
	enum { COUNT = 8, STEP = 2, SLICE = 5, TIMEOUT = 20000 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), cycles = ROOT->tsc_hz / 1000,
	         timeout = deadline_ms(TIMEOUT);
	struct worker *w[COUNT];
	bool ordered = false;
	/* again where deadlines passed before all waited, as in waiter(), or a slice may have ended between wake-up and
	 * turn */
	for (unsigned ms = 40; !ordered && !passed(timeout); ms *= 2) {
		workers_drop();
		uint64_t base = deadline_ms(ms);
		order.sequence = 0;
		for (unsigned i = 0; i < COUNT; i++)
			w[i] = worker_start(timed, 200, 0, notification, base + (i * 3 % COUNT) * STEP * cycles);
		for (unsigned i = 0; i < COUNT; i++)
			until(waits(w[i]) || w[i]->done);
		bool late = passed(base);
		ordered = !late;
		for (unsigned i = 0; i < COUNT; i++) {
			until(w[i]->done);
			check_eq(w[i]->out[0], -SKERRY_TIMED_OUT);
			check(w[i]->out[1] >= w[i]->arg[1]);
			late |= w[i]->out[3] - w[i]->arg[1] >= SLICE * cycles;
			ordered &= w[i]->out[2] == i * 3 % COUNT + 1;
		}
		check(late || ordered);
	}
}

TEST(idle_core, 2, 0, "deadline: on a core that idles")
{
	struct worker *w = worker_start(timed, 50, last_core(), object(OBJECT_NOTIFICATION, 0), deadline_ms(5));
	until(w->done);
	check_eq(w->out[0], -SKERRY_TIMED_OUT);
}

TEST(preempts, 1, 0, "deadline: its end preempts a lower priority")
{
	struct worker *low = worker_start(spinner, 10, 0, 0, 0);
	until(low->count);
	/* or the watchdog comes */
	check_error(notification_wait(object(OBJECT_NOTIFICATION, 0), deadline_ms(3), 0), TIMED_OUT);
}

/* A waiter with a deadline a while away, which ends or moves before that. Where the host makes it late: again. */
static struct worker *waiter(unsigned core, void (*end)(struct worker *))
{
	for (unsigned ms = 60;; ms *= 2) {
		struct worker *w = worker_start(timed, 200, core, object(OBJECT_NOTIFICATION, 0), deadline_ms(ms));
		until(waits(w));
		end(w);
		if (!passed(w->arg[1]))
			return w;
		workers_drop();
	}
}

static void sleep_past(const struct worker *w)
{
	while (!passed(w->arg[1]))
		pause_main();
	sleep_ms(3);
}

static void by_signal(struct worker *w) { check_ok(notification_signal(w->arg[0])); }
static void by_suspend(struct worker *w) { check_ok(tcb_suspend(w->tcb)); }
static void by_delete(struct worker *w) { check_ok(cnode_delete(ROOT_SLOT_CNODE, w->tcb)); }
static void by_move(struct worker *w) { check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 200, last_core())); }

TEST(signalled, 1, 0, "deadline: a signal before it ends the wait, and it never comes later")
{
	struct worker *w = waiter(0, by_signal), *again;
	until(w->done);
	check_eq(w->out[0], 0);
	again = worker_start(timed, 200, 0, w->arg[0], 0); /* another that waits for ever */
	sleep_past(w);
	check(!again->done);
}

TEST(suspended, 1, 0, "deadline: a suspended waiter's is forgotten")
{
	struct worker *w = waiter(last_core(), by_suspend);
	sleep_past(w);
	check(!w->done);
	check_eq(w->out[1], 0);
}

TEST(deleted, 1, 0, "deadline: a deleted waiter's is forgotten")
{
	for (unsigned i = 0; i < cores(); i++) {
		struct worker *w = waiter(i, by_delete);
		sleep_past(w);
		check(!w->done);
	}
}

TEST(moved, 2, 0, "deadline: a waiter that is told to move wakes up on its new core")
{
	struct worker *w = waiter(0, by_move);
	until(w->done);
	check_eq(w->out[0], -SKERRY_TIMED_OUT);
	check(w->out[1] >= w->arg[1]);
}

static void signaller(struct worker *self)
{
	for (;;) {
		notification_signal(self->arg[0]);
		self->count++;
		for (volatile unsigned i = 0; i < self->count % 400; i++)
			;
	}
}

static void hurried(struct worker *self)
{
	for (unsigned i = 0; i < 1000; i++) {
		int error = notification_wait(self->arg[0], read_tsc() + i % 64 * 512, 0);
		check(error == 0 || error == -SKERRY_TIMED_OUT);
		self->count++;
	}
}

TEST(race, 2, 0, "deadline: a thousand races of a signal against it")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	worker_start(signaller, 50, 0, notification, 0);
	struct worker *w = worker_start(hurried, 50, last_core(), notification, 0);
	until(w->done);
}

static void sleeper(struct worker *self)
{
	for (;;) {
		notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 10000, 0);
		self->count++;
	}
}

/* The main thread does not sleep meanwhile: it fails the test where the deadlines stop. */
void check_deadlines_met(unsigned core, void (*interrupt)(void))
{
	enum { ENOUGH = 6 };
	struct worker *w = worker_start(sleeper, 200, core, object(OBJECT_NOTIFICATION, 0), 0);
	until(w->count);
	struct timeout timeout = timeout_begin();
	uint64_t goal = w->count + ENOUGH;
	while (w->count < goal) {
		interrupt();
		check(!("deadlines are met in time" && timeout_over(&timeout)));
	}
	check_ok(tcb_suspend(w->tcb));
}

static struct worker *moved_worker;

/* Its core must look again whenever the priority of one that waits there changes. */
static void tell(void)
{
	moved_worker->count++;
	check_ok(tcb_schedule(IPC, moved_worker->tcb, ROOT_SLOT_TCB, 60 + moved_worker->count % 2, last_core()));
}

TEST(under_reschedules, 2, 0, "deadline: met on a core that another one interrupts without a pause")
{
	moved_worker = worker_start(timed, 60, last_core(), object(OBJECT_NOTIFICATION, 0), deadline_ms(100000));
	until(waits(moved_worker));
	check_deadlines_met(last_core(), tell);
}
