/* SPDX-License-Identifier: BSD-2-Clause */
/* After reset the local descriptor table is at address 0, which a program may map: the kernel must take it away. */
#include "ktest.h"

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
