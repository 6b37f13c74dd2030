/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that mean harm. What they get back does not matter; the kernel must stay whole. */
#include "ktest.h"

/* Mostly capability pointers, small numbers and edges: what gets past the first check. */
static uint64_t word(uint64_t *seed, uint64_t slots_end)
{
	static const uint64_t edge[] = { 0, 1, ~0ull, 1ull << 63, 1ull << 47, 1ull << 32, 0xfff, 0x1000, 64, 65536,
		                         WINDOW, 0x7ffffffff000, 0xffffffff80000000, 127, 128, 255, 256 };
	uint64_t r = random_next(seed);
	switch (r % 5) {
	case 0: return random_next(seed);
	case 1: return edge[random_next(seed) % (sizeof(edge) / sizeof(edge[0]))];
	case 2: return random_next(seed) % slots_end;
	default: return random_next(seed) % 40;
	}
}

static void invoke_at_random(struct worker *self)
{
	uint64_t seed = self->arg[0] * 0x9e3779b97f4a7c15 + 1, end = self->arg[1];
	for (;;) {
		uint64_t number = 1 + random_next(&seed) % SYS_YIELD, cap = word(&seed, end);
		struct message m = { .info = message_info(word(&seed, 100), random_next(&seed) % 4,
		                                          random_next(&seed) % 128) };
		if (random_next(&seed) % 2)
			number = SYS_CALL;
		for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
			m.word[i] = word(&seed, end);
		for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
			self->ipc->caps[i] = word(&seed, end);
		for (unsigned i = MESSAGE_REGISTERS; i < 24; i++)
			self->ipc->words[i] = word(&seed, end);
		system_call((enum skerry_syscall)number, cap, word(&seed, end), &m);
		self->count++;
	}
}

enum { ENDPOINT_A = 4, ENDPOINT_B = 5 }; /* their slots there */

/* A CSpace with one of every kind, all of it the prey's own. */
static uint64_t playground(uint64_t memory)
{
	static const enum skerry_object kind[] = { OBJECT_TCB, OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_ENDPOINT,
	                                           OBJECT_NOTIFICATION,
		                                   OBJECT_NOTIFICATION, OBJECT_REPLY, OBJECT_REPLY, OBJECT_VSPACE,
		                                   OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE, OBJECT_FRAME_4K,
		                                   OBJECT_FRAME_4K };
	uint64_t node = slot(), s = 2;
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 6, ROOT_SLOT_CNODE, node, 1));
	check_ok(cnode_copy(IPC, node, 1, ROOT_SLOT_CNODE, node, RIGHT_ALL));
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		check_ok(untyped_retype(IPC, memory, kind[i], 0, node, s++, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 16, node, s++, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 2, node, s++, 1));
	return node;
}

/* For a millisecond, in which a busy host may let none of them run: until each has made some calls, or waits. */
static void let_run(struct worker *const w[], unsigned count)
{
	uint64_t before[4];
	for (unsigned i = 0; i < count; i++)
		before[i] = w[i]->count;
	sleep_ms(1);
	for (unsigned i = 0; i < count; i++)
		until(w[i]->count >= before[i] + 10 || waits(w[i]));
}

static void attack(unsigned together, bool shared)
{
	uint64_t memory = object(OBJECT_UNTYPED, 20), node = playground(memory), calls = 0;
	for (unsigned turn = 0; turn < 3; turn++) {
		struct worker *w[4];
		for (unsigned i = 0; i < together; i++) {
			w[i] = worker_make(invoke_at_random, 50, i % cores());
			check_ok(tcb_configure(IPC, w[i]->tcb, node, ROOT_SLOT_VSPACE, w[i]->frame, (uint64_t)w[i]->ipc,
			                       0));
			w[i]->arg[0] = turn * 16 + i + ROOT->cluster * 7777;
			w[i]->arg[1] = 24;
			check_ok(tcb_resume(w[i]->tcb));
		}
		for (unsigned i = 0; i < 40; i++) {
			let_run(w, together);
			for (unsigned j = 0; j < together; j++) { /* out of whatever it waits for */
				check_ok(tcb_suspend(w[j]->tcb));
				check_ok(tcb_resume(w[j]->tcb));
			}
		}
		for (unsigned i = 0; i < together; i++) {
			check_ok(tcb_suspend(w[i]->tcb));
			calls += w[i]->count;
		}
		if (!shared) {
			check_ok(cnode_revoke(ROOT_SLOT_CNODE, memory));
			node = playground(memory);
		}
	}
	check(calls > 100);
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 20, ROOT_SLOT_CNODE, slot(), 1)); /* nothing has leaked */
}

TEST(random_calls, 1, 0, "hostile: random system calls on objects of its own") { attack(1, false); }
TEST(random_calls_together, 1, 0, "hostile: random system calls of four threads on the same objects")
{
	attack(4, true);
}

TEST(every_label, 1, 0, "hostile: every label on every kind of capability, with words at random")
{
	uint64_t node = playground(object(OBJECT_UNTYPED, 20)), seed = 99;
	for (uint64_t label = 0; label < 100; label++) {
		for (uint64_t s = 2; s < 17; s++) {
			uint64_t cap = slot();
			if (s == ENDPOINT_A || s == ENDPOINT_B ||
			    cnode_copy(IPC, ROOT_SLOT_CNODE, cap, node, s, RIGHT_ALL))
				continue; /* a Call that nobody answers; or it cannot be copied */
			for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
				IPC->caps[i] = random_next(&seed) % 200;
			struct message m = { .info = message_info(label, 3, 30) };
			for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
				m.word[i] = random_next(&seed);
			system_call(SYS_CALL, cap, 0, &m);
			check_ok(cnode_delete(ROOT_SLOT_CNODE, cap));
		}
	}
}

static void bad_stack(struct worker *self)
{
	uint64_t number = SYS_SIGNAL, cap = self->arg[0], info = 0;
	__asm__ volatile("mov %%rsp, %%rbx; mov %3, %%rsp; syscall; mov %%rbx, %%rsp"
			 : "+a"(number), "+D"(cap), "+S"(info)
			 : "r"(self->arg[1])
			 : "rbx", "rcx", "r11", "memory");
	self->out[0] = number;
}

TEST(stack_pointer, 1, NEEDS_PROCESSOR, "hostile: the kernel does not care where the stack pointer points")
{
	static const uint64_t stack[] = { 0, 8, 0xffffffff80000000, 0xffff800000000000, 0x8000000000000000, ~0ull,
	                                  0x7ffffffffff8 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), w_count;
	for (unsigned i = 0; i < sizeof(stack) / sizeof(stack[0]); i++) {
		struct worker *w = worker_start(bad_stack, 50, last_core(), notification, stack[i]);
		until(w->done);
		check_eq(w->out[0], 0);
		check_ok(notification_poll(notification, &w_count));
		check_eq(w_count, 1);
	}
}

static void hostile_flags(struct worker *self)
{
	uint64_t number = SYS_SIGNAL, cap = self->arg[0], info = 0, flags;
	__asm__ volatile("pushfq; orq %3, (%%rsp); popfq; syscall; pushfq; popq %%rbx; cld; pushq $2; popfq"
			 : "+a"(number), "+D"(cap), "+S"(info)
			 : "r"(self->arg[1])
			 : "rbx", "rcx", "r11", "memory");
	__asm__ volatile("mov %%rbx, %0" : "=r"(flags));
	self->out[0] = number;
}

TEST(flags, 1, NEEDS_PROCESSOR, "hostile: SYSCALL with direction, alignment check and nested task set")
{
	static const uint64_t flag[] = { 1 << 10, 1 << 18, 1 << 14, 1 << 21, 0x44cd5 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	for (unsigned i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
		struct worker *w = worker_start(hostile_flags, 50, last_core(), notification, flag[i]);
		until(w->done);
		check_eq(w->out[0], 0);
		check_ok(notification_poll(notification, &word));
		check_eq(word, 1);
	}
}

TEST(debug_put, 1, 0,
     "hostile: DEBUG_PUT takes the kernel's control object alone, and no byte comes by another capability")
{
	for (uint64_t cap = 0; cap < 4096; cap++)
		if (cap != ROOT_SLOT_CONTROL)
			check_error(debug_put(cap, '!'), BAD_CAP);
	check_ok(debug_put(ROOT_SLOT_CONTROL, '\n'));
}
