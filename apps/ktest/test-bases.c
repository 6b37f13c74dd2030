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

static void set_and_sleep(struct worker *self)
{
	for (;; self->count++) {
		__asm__ volatile("wrfsbase %0; wrgsbase %0" ::"r"(0x10000ull));
		check_ok(notification_signal_wait(self->arg[0], self->arg[1], 0, 0));
	}
}

static void look_and_sleep(struct worker *self)
{
	for (;; self->count++) {
		self->out[0] |= bases();
		check_ok(notification_signal_wait(self->arg[0], self->arg[1], 0, 0));
	}
}

static void look_always(struct worker *self)
{
	for (;; self->count++) {
		self->out[0] |= bases();
		program_turn();
	}
}

TEST(unseen_beside, 1, 0,
     "bases: what a program set itself is not seen by those that it wakes, nor by those that it lets run")
{
	if (!has_base_instructions())
		return;
	const uint64_t ours = object(OBJECT_NOTIFICATION, 0), theirs = object(OBJECT_NOTIFICATION, 0);
	struct worker *a = worker_start(set_and_sleep, 50, 0, ours, theirs),
	              *b = worker_start(look_and_sleep, 50, 0, theirs, ours);
	struct worker *c = worker_start(look_always, 50, 0, 0, 0);
	until(a->count > 20 && b->count > 20 && c->count > 20);
	check_eq(b->out[0] | c->out[0], 0);
}

enum { CALLS = 1000 };

/* Another thread may run in between, which takes them away. */
static void set_and_go_on(struct worker *self)
{
	uint64_t base;
	for (unsigned i = 0; i < CALLS; i++) {
		__asm__ volatile("wrgsbase %0" ::"r"(0x10000ull));
		check_error(notification_signal_wait(self->arg[0], self->arg[1], 1, 0), TIMED_OUT);
		__asm__ volatile("rdgsbase %0" : "=r"(base));
		self->out[0] += base == 0x10000;
	}
}

TEST(kept, 1, NEEDS_PROCESSOR, "bases: a program that need not wait keeps its own")
{
	if (!has_base_instructions())
		return;
	struct worker *w = worker_start(set_and_go_on, 50, 0, object(OBJECT_NOTIFICATION, 0),
	                                object(OBJECT_NOTIFICATION, 0));
	until(w->done);
	check(w->out[0] > CALLS / 2);
}

/* After reset the local descriptor table is at address 0, which a program may map: the kernel must take it away. */

enum { GP = 13 };

static void nothing(struct worker *self) { self->count++; }
static __attribute__((naked)) void to_ds(void) { __asm__ volatile("mov %ax, %ds; ud2"); }
static __attribute__((naked)) void to_ss(void) { __asm__ volatile("mov %ax, %ss; ud2"); }
static __attribute__((naked)) void far_call(void) { __asm__ volatile("rex.w lcall *(%rdi); ud2"); }

static void check_none(void)
{
	static void (*const code[])(void) = { to_ds, to_ss, far_call };
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	uint64_t *pointer = (uint64_t *)WINDOW;
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(nothing, 50, core);
		for (unsigned selector = 4; selector < 24; selector += 8) {
			pointer[0] = (uint64_t)nothing, pointer[1] = selector;
			for (unsigned i = 0; i < 3; i++) {
				struct thread_registers r = { .rip = (uint64_t)code[i], .rsp = WINDOW + 2048,
				                              .rdi = WINDOW, .rax = selector };
				struct message m = trial_run(&t, &r);
				check_eq(message_label(m.info), FAULT_EXCEPTION);
				check_eq(m.word[3], GP);
				check_eq(IPC->words[4], selector);
				check_eq(m.word[0], r.rip);
			}
		}
	}
}

TEST(none, 1, 0, "local table: selectors of one are exception 13") { check_none(); }

TEST(own, 1, 0, "local table: none is at address 0, whatever a program maps there")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), here = copy_of(frame, RIGHT_ALL),
	         table = objects(OBJECT_PAGE_TABLE, 0, 3);
	check_ok(frame_map(IPC, here, ROOT_SLOT_VSPACE, WINDOW + 4096, RIGHT_READ | RIGHT_WRITE, 0));
	for (unsigned i = 0; i < 3; i++)
		page_table_map(IPC, table + i, ROOT_SLOT_VSPACE, 0); /* those that are missing */
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, 0, RIGHT_READ | RIGHT_WRITE, 0));
	uint64_t *descriptor = (uint64_t *)(WINDOW + 4096);
	for (unsigned i = 0; i < 32; i++)
		descriptor[i] = 0x00cff3000000ffff; /* a user's data */
	check_none();
}
