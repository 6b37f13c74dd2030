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
}

TEST(in_order, 1, 0, "deadline: many on one core end in their order, not that of their beginning")
{
	enum { COUNT = 8 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), step = ROOT->tsc_hz / 500;
	struct worker *w[COUNT];
	bool late;
	unsigned ms = 20;
	do { /* again where deadlines passed before all waited, as in waiter() */
		ms *= 2;
		uint64_t base = deadline_ms(ms);
		order.sequence = 0;
		for (unsigned i = 0; i < COUNT; i++)
			w[i] = worker_start(timed, 200, 0, notification, base + (i * 3 % COUNT) * step);
		for (unsigned i = 0; i < COUNT; i++)
			until(waits(w[i]) || w[i]->done);
		late = passed(base);
		for (unsigned i = 0; i < COUNT; i++)
			until(w[i]->done);
	} while (late);
	for (unsigned i = 0; i < COUNT; i++) {
		check_eq(w[i]->out[0], -SKERRY_TIMED_OUT);
		check(w[i]->out[1] >= w[i]->arg[1]);
		check_eq(w[i]->out[2], i * 3 % COUNT + 1);
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
	uint64_t deadline = deadline_ms(3);
	check_error(notification_wait(object(OBJECT_NOTIFICATION, 0), deadline, 0), TIMED_OUT);
	check(!passed(deadline + ROOT->tsc_hz * 5));
}

/* A waiter with a deadline a while away. The host may take the processor away for so long that it passes: again then. */
static struct worker *waiter(uint64_t notification, unsigned core)
{
	struct worker *w;
	uint64_t deadline;
	do {
		deadline = deadline_ms(60);
		w = worker_start(timed, 200, core, notification, deadline);
		until(waits(w));
	} while (passed(deadline - ROOT->tsc_hz / 30));
	return w;
}

static void sleep_past(const struct worker *w)
{
	while (!passed(w->arg[1]))
		pause_main();
	sleep_ms(3);
}

TEST(signalled, 1, 0, "deadline: a signal before it ends the wait, and it never comes later")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = waiter(notification, 0), *again;
	check_ok(notification_signal(notification));
	until(w->done);
	check_eq(w->out[0], 0);
	again = worker_start(timed, 200, 0, notification, 0); /* another that waits for ever */
	sleep_past(w);
	check(!again->done);
}

TEST(suspended, 1, 0, "deadline: a suspended waiter's is forgotten")
{
	struct worker *w = waiter(object(OBJECT_NOTIFICATION, 0), last_core());
	check_ok(tcb_suspend(w->tcb));
	sleep_past(w);
	check(!w->done);
	check_eq(w->out[1], 0);
}

TEST(deleted, 1, 0, "deadline: a deleted waiter's is forgotten")
{
	for (unsigned i = 0; i < cores(); i++) {
		struct worker *w = waiter(object(OBJECT_NOTIFICATION, 0), i);
		check_ok(cnode_delete(ROOT_SLOT_CNODE, w->tcb));
		sleep_past(w);
		check(!w->done);
	}
}

TEST(moved, 2, 0, "deadline: a waiter that is told to move wakes up on its new core")
{
	struct worker *w = waiter(object(OBJECT_NOTIFICATION, 0), 0);
	check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 200, last_core()));
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
	uint64_t patience = deadline_ms(20000), goal = w->count + ENOUGH;
	while (w->count < goal) {
		interrupt();
		check(!("deadlines are met in time" && passed(patience)));
	}
	check_ok(tcb_suspend(w->tcb));
}

static struct worker *told;

/* Its core must look again whenever the priority of one that waits there changes. */
static void tell(void)
{
	told->count++;
	check_ok(tcb_schedule(IPC, told->tcb, ROOT_SLOT_TCB, 60 + told->count % 2, last_core()));
}

TEST(under_reschedules, 2, 0, "deadline: met on a core that another one interrupts without a pause")
{
	told = worker_start(timed, 60, last_core(), object(OBJECT_NOTIFICATION, 0), deadline_ms(100000));
	until(waits(told));
	check_deadlines_met(last_core(), tell);
}
