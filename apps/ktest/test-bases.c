/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment bases that a program sets itself, with WRFSBASE and WRGSBASE, are its own like any other register. */
#include "ktest.h"

static bool has_base_instructions(void)
{
	uint32_t a = 7, b, c = 0, d;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b & 1;
}

/* arg[0]: its bases; arg[1]: an endpoint to call, or 0: it yields */
static void keeper(struct worker *self)
{
	uint64_t fs = self->arg[0], gs = self->arg[0] + 0x1000, a, b;
	__asm__ volatile("wrfsbase %0; wrgsbase %1" ::"r"(fs), "r"(gs));
	for (unsigned i = 0; i < 200; i++) {
		struct message m = { 0 };
		if (self->arg[1])
			check_ok(ipc_call(self->arg[1], &m));
		else if (i % 2)
			thread_yield();
		else
			spin_ms(i % 50 ? 0 : 3);
		__asm__ volatile("rdfsbase %0; rdgsbase %1" : "=r"(a), "=r"(b));
		self->out[0] |= (a ^ fs) | (b ^ gs);
	}
}

TEST(switched, 1, 0, "bases: what a program set itself survives switches and interrupts")
{
	struct worker *w[3];
	for (unsigned i = 0; has_base_instructions() && i < 3; i++)
		w[i] = worker_start(keeper, 50, 0, 0x10000 * (i + 1), 0);
	for (unsigned i = 0; has_base_instructions() && i < 3; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], 0);
	}
}

static void server(struct worker *self)
{
	struct message m = { 0 };
	uint64_t base = 0x770000, a;
	__asm__ volatile("wrfsbase %0" ::"r"(base));
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		__asm__ volatile("rdfsbase %0" : "=r"(a));
		self->out[0] |= a ^ base;
		m.info = 0;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

TEST(called, 1, 0, "bases: what a program set itself survives calls and answers, fast and slow")
{
	for (unsigned priority = 40; has_base_instructions() && priority <= 60; priority += 10) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *s = worker_start(server, priority, 0, endpoint, object(OBJECT_REPLY, 0));
		until(waits(s));
		struct worker *c = worker_start(keeper, 50, 0, 0x40000, endpoint);
		until(c->done);
		check_eq(c->out[0], 0);
		check_eq(s->out[0], 0);
	}
}

static void look(struct worker *self)
{
	uint64_t a, b;
	__asm__ volatile("rdfsbase %0; rdgsbase %1" : "=r"(a), "=r"(b));
	self->out[0] = a | b;
}

TEST(unseen, 1, 0, "bases: what a program set itself is seen by nobody else")
{
	if (!has_base_instructions())
		return;
	struct worker *a = worker_start(keeper, 50, 0, 0x10000, 0);
	until(a->done);
	struct worker *b = worker_start(look, 50, 0, 0, 0);
	until(b->done);
	check_eq(b->out[0], 0);
}

static void set_and_fault(struct worker *self)
{
	uint64_t base = 0x990000, a;
	__asm__ volatile("wrfsbase %1; int3; rdfsbase %0" : "=r"(a) : "r"(base));
	self->out[0] = a ^ base;
}

TEST(read, 1, 0, "bases: READ_REGISTERS tells what a program set itself, and a fault leaves it")
{
	if (!has_base_instructions())
		return;
	struct trial t = trial_make(set_and_fault, 50, last_core());
	struct thread_registers r;
	check_ok(tcb_resume(t.worker->tcb));
	trial_fault(&t);
	check_ok(tcb_read_registers(IPC, t.worker->tcb, &r));
	check_eq(r.fs_base, 0x990000);
	trial_answer(&t, 0);
	until(t.worker->done);
	check_eq(t.worker->out[0], 0);
}
