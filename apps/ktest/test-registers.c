/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads' registers, as others read and write them. */
#include "ktest.h"

static struct thread_registers pattern(void)
{
	return (struct thread_registers){
		.rip = (uint64_t)program_stay, .rsp = 0x7000, .rflags = 0x8d5,
		.rax = 1, .rbx = 2, .rcx = 3, .rdx = 4, .rsi = 5, .rdi = 6, .rbp = 7, .r8 = 8, .r9 = 9, .r10 = 10,
		.r11 = ~11ull, .r12 = 12, .r13 = 13, .r14 = 14, .r15 = 1ull << 63, .fs_base = 0x12340,
		.gs_base = 0x56780,
	};
}

static void check_same(const struct thread_registers *a, const struct thread_registers *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	for (unsigned i = 3; i < THREAD_REGISTER_WORDS; i++)
		check_eq(x[i], y[i]);
	check_eq(a->rsp, b->rsp);
	check_eq(a->rflags & 0xcd5, b->rflags & 0xcd5);
}

static void round_trip(struct worker *w)
{
	struct thread_registers out = pattern(), in;
	check_ok(tcb_write_registers(IPC, w->tcb, 0, &out));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_same(&in, &out);
	check_eq(in.rip, out.rip);
	check_ok(tcb_resume(w->tcb));
	sleep_ms(3);
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_same(&in, &out);
	check(in.rip - out.rip < 8);
}

TEST(kept, 1, 0, "registers: all of them survive running and being interrupted")
{
	round_trip(worker_make(spinner, 50, 0));
}
TEST(kept_remote, 2, 0, "registers: all of them survive running on another core")
{
	round_trip(worker_make(spinner, 50, last_core()));
}

static void waiter(struct worker *self) { check_ok(notification_wait(self->arg[0], 0, 0)); }

/* A system call ends with RIP in RCX and RFLAGS in R11. */
TEST(written_in_a_call, 1, 0,
     "registers: RCX and R11 written into a thread that made a system call are not that call's")
{
	struct worker *w = worker_start(waiter, 50, 0, object(OBJECT_NOTIFICATION, 0), 0);
	until(waits(w));
	check_ok(tcb_suspend(w->tcb));
	round_trip(w);
}

TEST(moved, 2, 0, "registers: all of them survive moves between cores")
{
	struct worker *w = worker_make(spinner, 50, 0);
	struct thread_registers out = pattern(), in;
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &out));
	for (unsigned i = 0; i < 50; i++) {
		check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 50, i % cores()));
		pause_main();
	}
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_same(&in, &out);
}

TEST(flags, 1, 0, "registers: flags that are not a program's cannot be set")
{
	struct worker *w = worker_make(spinner, 50, 0);
	struct thread_registers out = pattern(), in;
	out.rflags = ~0ull;
	check_ok(tcb_write_registers(IPC, w->tcb, 0, &out));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_eq(in.rflags, 0xcd5 | 1 << 21 | 0x202); /* no IOPL, TF, NT, VM, AC; IF stays on */
	out.rflags = 0;
	check_ok(tcb_write_registers(IPC, w->tcb, 0, &out));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_eq(in.rflags, 0x202);
}

TEST(canonical, 1, 0, "registers: BAD_ARGUMENT for addresses that are not a user's")
{
	struct worker *w = worker_make(spinner, 50, 0);
	static const uint64_t bad[] = { 0x800000000000, 0x8000000000000000, 0xffff800000000000, 0xffffffff80000000 };
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned field = 0; field < 4; field++) {
			struct thread_registers r = pattern();
			*(field == 0 ? &r.rip : field == 1 ? &r.rsp : field == 2 ? &r.fs_base : &r.gs_base) = bad[i];
			check_error(tcb_write_registers(IPC, w->tcb, 0, &r), BAD_ARGUMENT);
		}
		check_error(tcb_set_tls(w->tcb, bad[i]), BAD_ARGUMENT);
	}
}

TEST(running, 1, 0, "registers: BUSY while the thread is ready or runs")
{
	struct thread_registers r = pattern();
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_start(spinner, 50, core, 0, 0);
		check_error(tcb_read_registers(IPC, w->tcb, &r), BUSY);
		r = pattern();
		check_error(tcb_write_registers(IPC, w->tcb, 0, &r), BUSY);
	}
	check_error(tcb_read_registers(IPC, ROOT_SLOT_TCB, &r), BUSY);
	r = pattern();
	check_error(tcb_write_registers(IPC, ROOT_SLOT_TCB, 1, &r), BUSY);
}

TEST(short_message, 1, 0, "registers: TRUNCATED for less than all of them")
{
	struct worker *w = worker_make(spinner, 50, 0);
	for (unsigned words = 0; words < 1 + THREAD_REGISTER_WORDS; words++) {
		struct message m = { 0 };
		check_error(invoke(w->tcb, TCB_WRITE_REGISTERS, 0, words, &m), TRUNCATED);
	}
	struct message m = { 0 };
	check_error(invoke(w->tcb, TCB_SET_TLS, 0, 0, &m), TRUNCATED);
}

static uint64_t tls[3][2] = { { 111 }, { 222 }, { 333 } };

static void read_tls(struct worker *self)
{
	uint64_t value;
	__asm__ volatile("mov %%fs:0, %0" : "=r"(value));
	self->out[0] = value;
	for (unsigned i = 0; i < 200; i++) {
		thread_yield();
		__asm__ volatile("mov %%fs:0, %0" : "=r"(value));
		check_eq(value, self->out[0]);
	}
}

TEST(tls, 1, NEEDS_PROCESSOR, "registers: every thread has its own TLS base")
{
	struct worker *w[3];
	for (unsigned i = 0; i < 3; i++) {
		w[i] = worker_make(read_tls, 50, 0);
		check_ok(tcb_set_tls(w[i]->tcb, (uint64_t)tls[i]));
	}
	for (unsigned i = 0; i < 3; i++)
		check_ok(tcb_resume(w[i]->tcb));
	for (unsigned i = 0; i < 3; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], tls[i][0]);
	}
}

static void set_own_tls(struct worker *self)
{
	uint64_t value;
	check_ok(tcb_set_tls(self->tcb, (uint64_t)tls[1]));
	__asm__ volatile("mov %%fs:0, %0" : "=r"(value));
	self->out[0] = value;
}

static void set_and_wait(struct worker *self)
{
	check_ok(tcb_set_tls(self->tcb, 0x6000));
	waiter(self);
}

TEST(own_tls_read, 1, 0, "registers: the TLS base that a thread sets itself is the one that others read")
{
	struct worker *w = worker_start(set_and_wait, 50, last_core(), object(OBJECT_NOTIFICATION, 0), 0);
	struct thread_registers r;
	until(waits(w));
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	check_eq(r.fs_base, 0x6000);
}

TEST(own_tls, 1, NEEDS_PROCESSOR, "registers: a thread sets its own TLS base")
{
	struct worker *w = worker_start(set_own_tls, 50, 0, 0, 0);
	until(w->done);
	check_eq(w->out[0], tls[1][0]);
}

/* It and another wake each other, over two notifications. */
static void converse(struct worker *self)
{
	for (;; self->count++)
		check_ok(notification_signal_wait(self->arg[0], self->arg[1], 0, 0));
}

/* It is interrupted at the end of its slice. The two others then sleep one after the other, and it is the next to
 * run. */
static void survive_conversations(unsigned core)
{
	const uint64_t ours = object(OBJECT_NOTIFICATION, 0), theirs = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = worker_make(spinner, 50, core);
	struct thread_registers out = pattern(), in;
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &out));
	struct worker *a = worker_start(converse, 50, core, ours, theirs),
	              *b = worker_start(converse, 50, core, theirs, ours);
	until(a->count > 20 && b->count > 20);
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_read_registers(IPC, w->tcb, &in));
	check_same(&in, &out);
	check(in.rip - out.rip < 8);
}

TEST(kept_beside, 1, 0, "registers: all of them survive equals that signal and wait in turn")
{
	survive_conversations(0);
}
TEST(kept_beside_remote, 2, 0, "registers: all of them survive equals that signal and wait in turn on another core")
{
	survive_conversations(last_core());
}
