/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment bases that a program sets itself, with WRFSBASE and WRGSBASE: not for long, and for nobody else. */
#include <skerry/x86.h>
#include "ktest.h"

static bool has_base_instructions(void) { return cpuid(7, 0).ebx & 1; }

static uint64_t bases(void)
{
	uint64_t a, b;
	__asm__ volatile("rdfsbase %0; rdgsbase %1" : "=r"(a), "=r"(b));
	return a | b;
}

static void set(struct worker *self)
{
	for (unsigned i = 0; i < 100; i++) {
		__asm__ volatile("wrfsbase %0; wrgsbase %0" ::"r"(0x10000ull));
		thread_yield();
	}
}

static void look(struct worker *self)
{
	for (unsigned i = 0; i < 100; i++) {
		self->out[0] |= bases();
		thread_yield();
	}
}

TEST(unseen, 1, 0, "bases: what a program set itself is seen by nobody else")
{
	if (!has_base_instructions())
		return;
	struct worker *a = worker_start(set, 50, 0, 0, 0), *b = worker_start(look, 50, 0, 0, 0);
	until(a->done);
	until(b->done);
	check_eq(b->out[0], 0);
}
