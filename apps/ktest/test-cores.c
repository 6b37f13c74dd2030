/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads on several cores. */
#include "ktest.h"

static void tell_core(struct worker *self)
{
	for (;;) {
		self->out[0] = program_core();
		self->count++;
		program_turn();
	}
}

static uint64_t core_of(struct worker *w)
{
	uint64_t count = w->count;
	until(w->count > count + 2);
	return w->out[0];
}

TEST(placed, 2, 0, "cores: a thread runs on the core that it was given")
{
	uint64_t id[64];
	for (unsigned i = 0; i < cores(); i++) {
		id[i] = core_of(worker_start(tell_core, 50, i, 0, 0));
		for (unsigned j = 0; j < i; j++)
			check(id[i] != id[j]);
	}
	check_eq(id[0], program_core());
}

TEST(moved, 2, 0, "cores: a running thread moves when it is told to")
{
	struct worker *still = worker_start(tell_core, 50, last_core(), 0, 0),
	              *w = worker_start(tell_core, 50, 0, 0, 0);
	uint64_t first = program_core(), last = core_of(still);
	check_ok(tcb_suspend(still->tcb));
	for (unsigned i = 0; i < 20; i++) {
		check_eq(core_of(w), i % 2 ? last : first);
		check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 50, i % 2 ? 0 : last_core()));
	}
}

static void wait_and_tell(struct worker *self)
{
	check_ok(notification_wait(self->arg[0], 0, 0));
	self->out[0] = program_core();
}

TEST(moved_waiting, 2, 0, "cores: a waiting thread wakes up on its new core")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = worker_start(wait_and_tell, 200, 0, notification, 0);
	check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 200, last_core()));
	check_ok(notification_signal(notification));
	until(w->done);
	check(w->out[0] != program_core());
}

static void waiter(struct worker *self)
{
	for (;;) {
		check_ok(notification_wait(self->arg[0], 0, 0));
		self->count++;
	}
}

TEST(preempted, 2, 0, "cores: a wake-up from another core preempts a lower priority")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *low = worker_start(spinner, 40, last_core(), 0, 0),
	              *high = worker_start(waiter, 60, last_core(), notification, 0);
	until(low->count);
	for (unsigned i = 1; i <= 50; i++) {
		check_ok(notification_signal(notification));
		until(high->count == i);
	}
	uint64_t count = low->count;
	until(low->count > count);
}

TEST(not_preempted, 2, 0, "cores: a wake-up from another core waits for a higher priority")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *low = worker_start(waiter, 40, last_core(), notification, 0);
	until(waits(low));
	struct worker *high = worker_start(spinner, 60, last_core(), 0, 0);
	until(high->count);
	check_ok(notification_signal(notification));
	sleep_ms(20);
	check_eq(low->count, 0);
	check_ok(tcb_suspend(high->tcb));
	until(low->count);
}

TEST(equal_slice, 2, 0, "cores: a wake-up of an equal from another core gets its time slice")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = worker_start(waiter, 50, last_core(), notification, 0);
	until(waits(w));
	worker_start(spinner, 50, last_core(), 0, 0);
	check_ok(notification_signal(notification));
	until(w->count);
}

TEST(raised, 2, 0, "cores: priorities that change on another core count at once")
{
	struct worker *a = worker_start(spinner, 50, last_core(), 0, 0),
	              *b = worker_start(spinner, 40, last_core(), 0, 0);
	until(a->count);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t count = b->count;
		check_ok(tcb_schedule(IPC, b->tcb, ROOT_SLOT_TCB, 60, last_core()));
		until(b->count > count);
		count = a->count;
		check_ok(tcb_schedule(IPC, b->tcb, ROOT_SLOT_TCB, 40, last_core()));
		until(a->count > count);
	}
}

static void signaller(struct worker *self)
{
	for (;;) {
		check_ok(notification_signal(self->arg[0]));
		self->count++;
	}
}

/* Stopped anywhere, also on its way into the kernel, each call is made once and returns 0. */
TEST(stopped_anywhere, 2, 0, "cores: a thread that is suspended and resumed at random loses no system call")
{
	struct worker *w = worker_start(signaller, 50, last_core(), object(OBJECT_NOTIFICATION, 0), 0);
	for (unsigned i = 0; i < 3000; i++) {
		check_ok(tcb_suspend(w->tcb));
		uint64_t count = w->count;
		for (volatile unsigned j = 0; j < i % 100; j++)
			;
		check_eq(w->count, count);
		check_ok(tcb_resume(w->tcb));
		for (volatile unsigned j = 0; j < i % 300; j++)
			;
	}
	uint64_t count = w->count;
	until(w->count > count);
}

/* Retypes and revokes memory of its own without end. */
static void churn(struct worker *self)
{
	uint64_t first = self->arg[1];
	for (;;) {
		check_ok(untyped_retype(self->ipc, self->arg[0], OBJECT_ENDPOINT, 0, ROOT_SLOT_CNODE, first, 4));
		check_ok(cnode_copy(self->ipc, ROOT_SLOT_CNODE, first + 4, ROOT_SLOT_CNODE, first + 1, RIGHT_ALL));
		check_ok(untyped_retype(self->ipc, self->arg[0], OBJECT_VSPACE, 0, ROOT_SLOT_CNODE, first + 5, 1));
		check_ok(untyped_retype(self->ipc, self->arg[0], OBJECT_TCB, 0, ROOT_SLOT_CNODE, first + 6, 1));
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, self->arg[0]));
		self->count++;
	}
}

TEST(churn_everywhere, 1, 0, "cores: retype and revoke in tight loops on all cores")
{
	struct worker *w[8];
	unsigned count = cores() < 8 ? cores() : 8;
	for (unsigned i = 0; i < count; i++)
		w[i] = worker_start(churn, 50, i, object(OBJECT_UNTYPED, 16), slots(8));
	for (unsigned i = 0; i < count; i++)
		until(w[i]->count > 100);
}

static void mover(struct worker *self)
{
	for (uint64_t i = 0; i < 500; i++) {
		check_ok(tcb_schedule(self->ipc, self->tcb, ROOT_SLOT_TCB, 50, i % cores()));
		self->count++;
	}
}

TEST(moving_itself, 2, 0, "cores: threads that move themselves from core to core all arrive")
{
	struct worker *w[6];
	for (unsigned i = 0; i < 6; i++)
		w[i] = worker_start(mover, 50, i % cores(), 0, 0);
	for (unsigned i = 0; i < 6; i++)
		until(w[i]->done);
}
