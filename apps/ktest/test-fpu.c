/* SPDX-License-Identifier: BSD-2-Clause */
/* Floating-point and vector registers belong to their thread. */
#include <skerry/x86.h>

#include "ktest.h"

static inline void load_vectors(uint64_t value)
{
	__asm__ volatile("movq %0, %%xmm0; movq %0, %%xmm5; movq %0, %%xmm10; movq %0, %%xmm15" ::"r"(value));
}

static inline uint64_t difference(uint64_t value)
{
	uint64_t a, b, c, d;
	__asm__ volatile("movq %%xmm0, %0; movq %%xmm5, %1; movq %%xmm10, %2; movq %%xmm15, %3" : "=r"(a), "=r"(b),
	                 "=r"(c), "=r"(d));
	return (a ^ value) | (b ^ value) | (c ^ value) | (d ^ value);
}

/* arg[1]: how it passes its turn on */
enum { BY_YIELD, BY_MOVING, BY_SPINNING };

static __attribute__((target("general-regs-only"))) void holder(struct worker *self)
{
	uint64_t value = self->arg[0] * 0x0101010101010101;
	uint32_t mxcsr = 0x1f80 | (uint32_t)(self->arg[0] & 3) << 13, seen;
	uint16_t control = (uint16_t)(0x37f | (self->arg[0] & 3) << 10), control_seen;
	__asm__ volatile("ldmxcsr %0; fldcw %1" ::"m"(mxcsr), "m"(control));
	load_vectors(value);
	for (unsigned i = 0; i < 200; i++) {
		struct message m = { .info = message_info(TCB_SCHEDULE, 1, 2), .word = { 50, i % cores() } };
		self->ipc->caps[0] = ROOT_SLOT_TCB;
		if (self->arg[1] == BY_YIELD)
			system_call(SYS_YIELD, 0, 0, &m);
		else if (self->arg[1] == BY_MOVING)
			system_call(SYS_CALL, self->tcb, 0, &m);
		else
			for (volatile unsigned j = 0; j < 100000; j++)
				;
		self->out[0] |= difference(value);
		__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(seen), "=m"(control_seen));
		self->out[1] |= seen ^ mxcsr;
		self->out[2] |= control_seen ^ control;
		self->count++;
	}
}

static void hold(unsigned spread, unsigned way)
{
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = worker_start(holder, 50, i % spread, i + 1, way);
	for (unsigned i = 0; i < 4; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], 0);
		check_eq(w[i]->out[1], 0);
		check_eq(w[i]->out[2], 0);
	}
}

TEST(yielding, 1, 0, "fpu: vector registers, MXCSR and control word survive switches") { hold(1, BY_YIELD); }
TEST(sliced, 1, 0, "fpu: they survive the ends of time slices") { hold(1, BY_SPINNING); }
TEST(moving, 2, 0, "fpu: they survive moves between cores") { hold(cores(), BY_MOVING); }

static void look(struct worker *self)
{
	self->out[0] = difference(0);
	uint32_t mxcsr;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	self->out[1] = mxcsr;
}

TEST(fresh, 1, 0, "fpu: a new thread's registers are clean, whatever ran before")
{
	for (unsigned i = 0; i < 3; i++) {
		struct worker *dirty = worker_start(holder, 50, 0, 0x77, BY_YIELD);
		until(dirty->done);
		struct worker *w = worker_start(look, 50, 0, 0, 0);
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 0x1f80);
	}
}

/* Floating-point state that a program has made on purpose: it is its own trouble and nobody else's. */

enum { UD = 6, GP = 13, MF = 16 };
#define AREA WINDOW /* for XRSTOR: 64-byte aligned */

static void nothing(struct worker *self) { self->count++; }

#define CODE(id, text) static __attribute__((naked)) void id(void) { __asm__ volatile(text "\n\tud2"); }

CODE(restore, "xrstor (%rdi)")
CODE(restore_old, "fxrstor (%rdi)")
CODE(save, "xsave (%rdi)")

static struct message run(void (*code)(void), uint64_t area, uint64_t mask)
{
	struct trial t = trial_make(nothing, 50, last_core());
	struct thread_registers r = { .rip = (uint64_t)code, .rsp = WINDOW + 4096 - 64, .rdi = area, .rax = mask };
	struct message m = trial_run(&t, &r);
	check_eq(message_label(m.info), FAULT_EXCEPTION);
	return m;
}

/* A good area, for the bad ones to differ from in one thing. */
static uint64_t *area(void)
{
	uint64_t *words = (uint64_t *)AREA;
	for (unsigned i = 0; i < 448; i++)
		words[i] = 0;
	words[0] = 0x37f;
	words[3] = 0x1f80;
	return words;
}

TEST(good, 1, 0, "fpu state: a good one is restored")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	area();
	check_eq(run(restore, AREA, 3).word[3], UD); /* what comes behind it */
	check_eq(run(save, AREA, ~0ull).word[3], UD);
}

TEST(bad_header, 1, 0, "fpu state: XRSTOR of components that do not exist, or in no format, is exception 13")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	static const struct { unsigned word; uint64_t value; } bad[] = {
		{ 64, ~0ull }, { 64, 1ull << 63 }, { 64, 1ull << 62 }, { 65, 1 }, { 65, 1ull << 62 }, { 66, 1 },
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		area()[bad[i].word] = bad[i].value;
		struct message m = run(restore, AREA, ~0ull);
		check_eq(m.word[3] << 8 | i, GP << 8 | i);
		check_eq(m.word[0], (uint64_t)restore);
	}
}

TEST(unaligned, 1, 0, "fpu state: XRSTOR and XSAVE of an unaligned area are exception 13")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	area();
	check_eq(run(restore, AREA + 8, ~0ull).word[3], GP);
	check_eq(run(save, AREA + 32, ~0ull).word[3], GP);
	check_eq(run(restore_old, AREA + 8, 0).word[3], GP);
}

/* An unmasked division by zero, which waits for the next floating-point instruction. */
static void raise_later(struct worker *self)
{
	uint16_t control = 0x37f & ~4;
	__asm__ volatile("fldcw %0; fld1; fldz; fdivrp" ::"m"(control));
	self->count = 1;
	while (!self->arg[0])
		thread_yield();
	__asm__ volatile("fwait");
	self->out[0] = 1;
}

static void compute(struct worker *self)
{
	for (unsigned i = 0; i < 100; i++) {
		uint16_t status;
		__asm__ volatile("fld1; fld1; faddp; fstp %%st(0); fwait; fnstsw %0" : "=a"(status));
		self->out[0] |= status & 0xbf;
		thread_yield();
		self->count++;
	}
}

TEST(pending, 1, 0, "fpu state: an exception that waits in one thread's x87 is not another's")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(raise_later, 50, core), u = trial_make(compute, 50, core);
		struct message m;
		check_ok(tcb_resume(t.worker->tcb));
		check_ok(tcb_resume(u.worker->tcb));
		until(u.worker->done || !waits(u.worker));
		until(u.worker->done);
		check_eq(u.worker->out[0], 0);
		t.worker->arg[0] = 1;
		m = trial_fault(&t);
		check_eq(message_label(m.info), FAULT_EXCEPTION);
		check_eq(m.word[3], MF);
		check_eq(t.worker->out[0], 0);
	}
}

static void poison(struct worker *self)
{
	uint32_t mxcsr = 0xffbf & ~0x40;
	uint16_t control = 0x0f40;
	__asm__ volatile("ldmxcsr %0; fldcw %1; fld1; fld1; fld1; fld1; fld1; fld1; fld1; fld1" ::"m"(mxcsr),
	                 "m"(control));
	for (unsigned i = 0; i < 50; i++)
		thread_yield();
	self->count++;
}

static void look_all(struct worker *self)
{
	uint32_t mxcsr;
	uint16_t control, status;
	__asm__ volatile("stmxcsr %0; fnstcw %1; fnstsw %2" : "=m"(mxcsr), "=m"(control), "=m"(status));
	self->out[0] = mxcsr;
	self->out[1] = control;
	self->out[2] = status;
	for (unsigned i = 0; i < 20; i++) {
		thread_yield();
		__asm__ volatile("fld1; fstp %st(0)");
	}
}

TEST(poisoned, 1, 0, "fpu state: a full x87 stack and odd rounding of one thread are not seen by a new one")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *p = worker_start(poison, 50, core, 0, 0), *l = worker_start(look_all, 50, core, 0, 0);
		until(p->done && l->done);
		check_eq(l->out[0], 0x1f80);
		check_eq(l->out[1], 0x37f);
		check_eq(l->out[2], 0);
	}
}

static void wide_state(struct worker *self)
{
	static const uint64_t pattern[4] = { 0x1111, 0x2222, 0x3333, 0x4444 };
	uint64_t seen[4];
	__asm__ volatile("vmovdqu %0, %%ymm7; vmovdqu %0, %%ymm12" ::"m"(pattern));
	for (unsigned i = 0; i < 100; i++) {
		if (self->arg[0])
			thread_yield();
		__asm__ volatile("vmovdqu %%ymm12, %0" : "=m"(seen));
		for (unsigned j = 0; j < 4; j++)
			self->out[0] |= seen[j] ^ pattern[j];
	}
}

static void wide_zero(struct worker *self)
{
	uint64_t seen[4];
	for (unsigned i = 0; i < 100; i++) {
		__asm__ volatile("vmovdqu %%ymm12, %0" : "=m"(seen));
		self->out[0] |= seen[0] | seen[1] | seen[2] | seen[3];
		thread_yield();
	}
}

static bool has_avx(void)
{
	uint32_t features = cpuid(1, 0).ecx, a, d;
	if (!(features >> 28 & 1) || !(features >> 27 & 1))
		return false;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (a & 6) == 6;
}

TEST(wide, 1, 0, "fpu state: the upper halves of vector registers are switched, too")
{
	for (unsigned core = 0; has_avx() && core < cores(); core++) {
		struct worker *a = worker_start(wide_state, 50, core, 1, 0),
		              *b = worker_start(wide_zero, 50, core, 0, 0);
		until(a->done && b->done);
		check_eq(a->out[0], 0);
		check_eq(b->out[0], 0);
	}
}
