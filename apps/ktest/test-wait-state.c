/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's state that is not in general registers, over SIGNAL_WAIT. Two threads wake each other and sleep; a
 * third of their priority never enters the kernel. It is interrupted, and is the first of the run queue when one of the
 * two sleeps.
 */
#include <skerry/x86.h>
#include "ktest.h"

enum { PRIORITY = 50, TURNS = 40, BREAKPOINTS = 20 };
#define NO_VECTORS __attribute__((target("general-regs-only")))

static bool has_avx(void)
{
	uint32_t features = cpuid(1, 0).ecx, a, d;
	if ((features >> 27 & 3) != 3)
		return false;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (a & 6) == 6;
}

/* `wide`: the upper halves of two registers, too. */
static NO_VECTORS void load_state(uint64_t value, bool wide)
{
	uint32_t mxcsr = 0x1f80 | (uint32_t)(value & 3) << 13;
	uint16_t control = (uint16_t)(0x37f | (value & 3) << 10);
	const uint64_t words[4] = { value, ~value, value + 1, ~value - 1 };
	__asm__ volatile("ldmxcsr %0; fldcw %1; movq %2, %%xmm0; movq %2, %%xmm15" ::"m"(mxcsr), "m"(control),
	                 "r"(value));
	if (wide)
		__asm__ volatile("vmovdqu %0, %%ymm7; vmovdqu %0, %%ymm12" ::"m"(words));
}

static NO_VECTORS uint64_t state_differs(uint64_t value, bool wide)
{
	uint64_t a, b, seen[4] = { value, ~value, value + 1, ~value - 1 };
	uint32_t mxcsr;
	uint16_t control;
	__asm__ volatile("movq %%xmm0, %0; movq %%xmm15, %1; stmxcsr %2; fnstcw %3" : "=r"(a), "=r"(b), "=m"(mxcsr),
	                 "=m"(control));
	if (wide)
		__asm__ volatile("vmovdqu %%ymm12, %0" : "=m"(seen));
	return (a ^ value) | (b ^ value) | (seen[0] ^ value) | (seen[1] ^ ~value) | (seen[2] ^ (value + 1)) |
	       (seen[3] ^ (~value - 1)) |
	       (mxcsr ^ (0x1f80 | (uint32_t)(value & 3) << 13)) | (control ^ (0x37f | (value & 3) << 10));
}

/* Signals arg[0] and waits for arg[1], for ever. arg[2]: with upper halves. */
static NO_VECTORS void talk(struct worker *self)
{
	load_state(0x7a1ce4 + self->index, self->arg[2]);
	for (;; self->count++) {
		struct message m;
		m.info = m.word[0] = m.word[1] = m.word[2] = m.word[3] = 0;
		self->out[1] |= (uint64_t)system_call(SYS_SIGNAL_WAIT, self->arg[1], self->arg[0], &m);
		self->out[0] |= state_differs(0x7a1ce4 + self->index, self->arg[2]);
	}
}

static NO_VECTORS void stay(struct worker *self)
{
	load_state(0x57a4 + self->index, self->arg[2]);
	for (;; self->count++)
		self->out[0] |= state_differs(0x57a4 + self->index, self->arg[2]);
}

static struct worker *start(void (*run)(struct worker *), unsigned core, uint64_t signalled, uint64_t awaited)
{
	struct worker *w = worker_make(run, PRIORITY, core);
	w->arg[0] = signalled, w->arg[1] = awaited, w->arg[2] = has_avx();
	check_ok(tcb_resume(w->tcb));
	return w;
}

static void keep_vectors(unsigned core)
{
	const uint64_t ours = object(OBJECT_NOTIFICATION, 0), theirs = object(OBJECT_NOTIFICATION, 0);
	struct worker *w[3];
	w[2] = start(stay, core, 0, 0);
	w[0] = start(talk, core, theirs, ours);
	w[1] = start(talk, core, ours, theirs);
	until(w[0]->count > TURNS && w[1]->count > TURNS && w[2]->count > TURNS);
	for (unsigned i = 0; i < 3; i++)
		check_eq(w[i]->out[0] | w[i]->out[1], 0);
	workers_drop();
}

TEST(vectors, 1, 0,
     "wait state: vector registers and rounding of threads that signal and wait, and of one beside them, survive")
{
	for (unsigned core = 0; core < cores(); core++)
		keep_vectors(core);
}

static void break_once(struct worker *self)
{
	program_break();
	self->count++;
}

/*
 * A trap that was not received when its thread was stopped is raised again when that thread runs: also where a talker
 * that sleeps lets it run.
 */
static void raise_again(unsigned core)
{
	const uint64_t ours = object(OBJECT_NOTIFICATION, 0), theirs = object(OBJECT_NOTIFICATION, 0);
	struct worker *a = start(talk, core, theirs, ours), *b = start(talk, core, ours, theirs);
	for (unsigned i = 0; i < BREAKPOINTS; i++) {
		struct trial t = trial_make(break_once, PRIORITY, core);
		check_ok(tcb_resume(t.worker->tcb));
		until(waits(t.worker));
		check_ok(tcb_suspend(t.worker->tcb));
		check_eq(t.worker->count, 0);
		check_ok(tcb_resume(t.worker->tcb));
		struct message m = trial_fault(&t);
		check_eq(m.word[3], 3);
		check_eq(t.worker->count, 0);
		trial_answer(&t, 0);
		until(t.worker->done);
		check_eq(t.worker->count, 1);
	}
	check_eq(a->out[0] | a->out[1] | b->out[0] | b->out[1], 0);
	workers_drop();
}

TEST(raised_again, 1, 0,
     "wait state: a breakpoint is raised again in a thread that runs when another signals and waits")
{
	for (unsigned core = 0; core < cores(); core++)
		raise_again(core);
}
