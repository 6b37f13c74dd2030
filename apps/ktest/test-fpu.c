/* SPDX-License-Identifier: BSD-2-Clause */
/* Floating-point and vector registers belong to their thread. */
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
