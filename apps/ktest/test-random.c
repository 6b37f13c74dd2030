/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls with words at random, seeded. What they answer does not matter;
 * after each thousand the kernel must still do what it should.
 */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

/* A conversation, a signal, a retype and a revoke: works or not. */
static void partner(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	m.word[0] += 1;
	check_ok(ipc_reply(self->arg[1], &m));
}

static void check_sane(void)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0), word;
	uint64_t memory = object(OBJECT_UNTYPED, 13), frame = slots(2);
	struct worker *w = worker_start(partner, 50, last_core(), endpoint, object(OBJECT_REPLY, 0));
	struct message m = { .info = message_info(0, 0, 1), .word = { 41 } };
	check_ok(ipc_call(endpoint, &m));
	check_eq(m.word[0], 42);
	until(w->done);
	check_ok(notification_signal(notification));
	check_ok(notification_wait(notification, 0, &word));
	check_eq(word, 1);
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, frame, 2));
	check_ok(cnode_revoke(NODE, memory));
	check(is_empty(frame) && is_empty(frame + 1));
}

/* RDI .. R9, R12 of the wildest kinds. */
static uint64_t wild(uint64_t *seed)
{
	uint64_t r = random_next(seed);
	switch (r >> 60) {
	case 0: return r;
	case 1: return -(r & 0xffff);
	case 2: return 1ull << (r & 63);
	case 3: return (1ull << (r & 63)) - 1;
	case 4: return 0xffff800000000000 | (r & 0xfffffff);
	case 5: return WINDOW + (r & 0x3fff);
	default: return r & 0x3f;
	}
}

/* A thread that can do no harm but to what is in its CSpace: nothing, or one CNode of its own. */
static void wild_calls(struct worker *self)
{
	uint64_t seed = self->arg[0];
	for (;;) {
		struct registers r = {
			.rax = self->arg[1] ? self->arg[1] : 1 + wild(&seed) % SYS_POLL, .rdi = wild(&seed),
			.rsi = wild(&seed), .rdx = wild(&seed), .r10 = wild(&seed), .r8 = wild(&seed),
			.r9 = wild(&seed), .r12 = wild(&seed),
			.rbx = 0xb0b0, .rbp = 0xb1b1, .r13 = 0xd0d0, .r14 = 0xe0e0, .r15 = 0xf0f0,
			.rflags = wild(&seed) & 0xcd5,
		};
		for (unsigned i = 0; i < MESSAGE_WORDS_MAX + 5; i++) /* words, capabilities, where to receive */
			((uint64_t *)self->ipc)[i] = wild(&seed);
		system_call_raw(&r);
		if (r.rbx != 0xb0b0 || r.rbp != 0xb1b1 || r.r13 != 0xd0d0 || r.r14 != 0xe0e0 || r.r15 != 0xf0f0)
			self->out[0] = 1;
		self->count++;
	}
}

static uint64_t prison(uint64_t memory)
{
	static const enum skerry_object kind[] = { OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY,
	                                           OBJECT_VSPACE,
		                                   OBJECT_PAGE_TABLE, OBJECT_FRAME_4K };
	uint64_t node = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 6, NODE, node, 1));
	check_ok(cnode_copy(IPC, node, 1, NODE, node, RIGHT_ALL));
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		check_ok(untyped_retype(IPC, memory, kind[i], 0, node, 2 + i, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 15, node, 20, 1));
	return node;
}

static uint64_t calls_of(struct worker *const w[], unsigned count)
{
	uint64_t calls = 0;
	for (unsigned i = 0; i < count; i++)
		calls += w[i]->count;
	return calls;
}

static void unleash(uint64_t number, unsigned ms)
{
	uint64_t memory = object(OBJECT_UNTYPED, 18), node = prison(memory);
	struct timeout timeout = timeout_begin();
	struct worker *w[4];
	unsigned count = cores() < 4 ? cores() : 4;
	for (unsigned i = 0; i < count; i++) {
		w[i] = worker_make(wild_calls, 40, i);
		check_ok(tcb_configure(IPC, w[i]->tcb, node, ROOT_SLOT_VSPACE, w[i]->frame, (uint64_t)w[i]->ipc, 0));
		w[i]->arg[0] = 0x1234567 * (number + 1) + i + ROOT->cluster * 99;
		w[i]->arg[1] = number;
		check_ok(tcb_resume(w[i]->tcb));
	}
	/* a busy host may let none of them run */
	for (unsigned turn = 0; turn < ms || calls_of(w, count) <= 50; turn++) {
		check(!("random calls are made in time" && timeout_over(&timeout)));
		sleep_ms(1);
		for (unsigned i = 0; i < count; i++) {
			struct thread_registers r;
			if (!waits(w[i]))
				continue;
			check_ok(tcb_suspend(w[i]->tcb));
			check_ok(tcb_read_registers(IPC, w[i]->tcb, &r));
			if (r.rip == (uint64_t)system_call_raw_site) /* else another one has just ended its wait */
				r.rip += 2;
			check_ok(tcb_write_registers(IPC, w[i]->tcb, 1, &r));
		}
	}
	for (unsigned i = 0; i < count; i++) {
		check_ok(tcb_suspend(w[i]->tcb));
		check_eq(w[i]->out[0], 0);
	}
	check_sane();
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 18, NODE, slot(), 1));
	workers_drop();
}

TEST(every_call, 1, 0, "random: every system call with random registers and a random IPC buffer, on all cores")
{
	for (uint64_t number = SYS_CALL; number <= SYS_YIELD; number++)
		unleash(number, 8);
}

TEST(mixed_calls, 1, 0, "random: all system calls mixed, on all cores") { unleash(0, 60); }

static void any_number(struct worker *self)
{
	uint64_t seed = self->arg[0];
	struct registers r = { .rax = 13 + wild(&seed) % ~13ull, .rdi = wild(&seed), .rsi = wild(&seed), .rflags = 2 };
	self->out[0] = r.rax;
	system_call_raw(&r);
	self->out[1] = r.rax;
}

TEST(every_number, 1, 0, "random: every other number is a fault with that number, whatever its words")
{
	for (unsigned turn = 0; turn < 10; turn++) {
		struct trial t[12];
		for (unsigned i = 0; i < 12; i++) {
			t[i] = trial_make(any_number, 50, i % cores());
			t[i].worker->arg[0] = turn * 1000 + i + 1;
			check_ok(tcb_resume(t[i].worker->tcb));
			struct message m = trial_fault(&t[i]);
			check_eq(m.info, message_info(FAULT_SYSCALL, 0, 3));
			check_eq(m.word[2], t[i].worker->out[0]);
			trial_answer(&t[i], 0);
			until(t[i].worker->done);
			check_eq(t[i].worker->out[1], t[i].worker->out[0]); /* and it went on behind it, unchanged */
		}
		workers_drop();
	}
}

/* One of every kind, in consecutive slots. */
static unsigned zoo(uint64_t *first)
{
	static const struct { enum skerry_object type; unsigned bits; } kind[] = {
		{ OBJECT_TCB, 0 }, { OBJECT_NOTIFICATION, 0 }, { OBJECT_REPLY, 0 }, { OBJECT_CNODE, 5 },
		{ OBJECT_VSPACE, 0 },
		{ OBJECT_PAGE_TABLE, 0 }, { OBJECT_FRAME_4K, 0 }, { OBJECT_FRAME_2M, 0 }, { OBJECT_UNTYPED, 13 },
	};
	enum { COUNT = sizeof(kind) / sizeof(kind[0]) };
	*first = slots(COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		check_ok(untyped_retype(IPC, test_memory(), kind[i].type, kind[i].bits, NODE, *first + i, 1));
	return COUNT;
}

TEST(every_label, 1, 0, "random: every kind of capability, every label, a hundred random messages each")
{
	uint64_t seed = 4711, first;
	for (uint64_t label = 0; label < 100; label++) {
		unsigned count = zoo(&first);
		for (uint64_t cap = first; cap < first + count; cap++) {
			for (unsigned turn = 0; turn < 100; turn++) {
				struct message m;
				for (unsigned i = 0; i < MESSAGE_WORDS_MAX; i++)
					IPC->words[i] = i < 8 ? wild(&seed) : 0;
				for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
					IPC->caps[i] = first + random_next(&seed) % (count + 1);
				for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
					m.word[i] = wild(&seed);
				m.info = message_info(label, random_next(&seed) % 4, random_next(&seed) % 128);
				system_call(SYS_CALL, cap, 0, &m);
			}
		}
		check_ok(cnode_revoke(NODE, test_memory()));
	}
	check_sane();
}

/* Ports are only read, and none of them where reading does anything. */
TEST(devices, 1, NEEDS_DEVICES, "random: interrupt control, handlers, ports and channels, every label, random messages")
{
	enum { CMOS = 0x70, SCRATCH = 0x77 };
	uint64_t seed = 815, ports = badged(ROOT_SLOT_IO_PORT, CMOS | SCRATCH << 16, RIGHT_READ), address, first;
	uint64_t irq = slot(), cap[] = { ROOT_SLOT_IRQ_CONTROL, ports, irq, has_peer() ? ROOT_SLOT_CHANNEL : ports };
	uint32_t data;
	check_ok(irq_get_msi(IPC, ROOT_SLOT_IRQ_CONTROL, NODE, irq, 0, &address, &data));
	unsigned count = zoo(&first);
	for (uint64_t label = 0; label < 100; label++) {
		for (unsigned i = 0; i < 4; i++) {
			for (unsigned turn = 0; turn < 50; turn++) {
				struct message m = { .info = message_info(label, random_next(&seed) % 4,
				                                          random_next(&seed) % 128) };
				for (unsigned j = 0; j < MESSAGE_CAPS_MAX; j++)
					IPC->caps[j] = first + random_next(&seed) % count;
				for (unsigned j = 0; j < MESSAGE_REGISTERS; j++)
					m.word[j] = wild(&seed);
				system_call(SYS_CALL, cap[i], 0, &m);
			}
		}
	}
	check_ok(cnode_revoke(NODE, ROOT_SLOT_IRQ_CONTROL));
	check(is_empty(irq));
	check_sane();
}

static void listen(struct worker *self)
{
	for (;;) {
		struct message m = { 0 };
		check_ok(ipc_receive(self->arg[0], 0, &m));
		check(message_words(m.info) <= MESSAGE_WORDS_MAX);
		check_eq(message_caps(m.info), 0);
		self->out[0] = m.info;
		self->count++;
	}
}

TEST(every_info, 1, 0, "random: message infos with every length, three capabilities and any label")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), seed = 5, sent = 0;
		struct worker *w = worker_start(listen, 200, core, copy_of(endpoint, RIGHT_READ), 0);
		for (unsigned length = 0; length < 128; length++) {
			for (unsigned caps = 0; caps < 4; caps++) {
				uint64_t label = random_next(&seed) >> 12;
				struct message m = { .info = message_info(label, caps, length) |
				                     (random_next(&seed) & 0xe00) };
				for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
					IPC->caps[i] = wild(&seed);
				check_ok(ipc_send(copy_of(endpoint, RIGHT_WRITE), &m));
				sent++;
				until(w->count == sent);
				check_eq(w->out[0],
				         message_info(label, 0,
				                      length < MESSAGE_WORDS_MAX ? length : MESSAGE_WORDS_MAX));
			}
		}
	}
}

static void echo_once(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	self->out[0] = self->ipc->words[119];
	self->ipc->words[119] = 0xeeee;
	m.info = message_info(0, 0, MESSAGE_WORDS_MAX);
	check_ok(ipc_reply(self->arg[1], &m));
}

/* The kernel reaches a buffer by its frame: where it is mapped, or whether, is the program's affair. */
TEST(buffers, 1, 0, "random: IPC buffers at every place of a frame, mapped or not")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	for (unsigned i = 0; i < 8; i++) {
		bool large = i & 4;
		uint64_t frame = object(large ? OBJECT_FRAME_2M : OBJECT_FRAME_4K, 0), here = copy_of(frame, RIGHT_ALL);
		uint64_t base = large ? LARGE_WINDOW : WINDOW, size = large ? 2 << 20 : 4096;
		uint64_t offset = i % 4 == 3 ? size - 1024 : i % 4 * 1024;
		check_ok(frame_map(IPC, here, ROOT_SLOT_VSPACE, base, RIGHT_READ | RIGHT_WRITE, 0));
		struct worker *w = worker_make(echo_once, 50, last_core());
		w->ipc = (struct ipc_buffer *)(base + offset);
		w->arg[0] = endpoint;
		w->arg[1] = reply;
		check_ok(tcb_configure(IPC, w->tcb, NODE, ROOT_SLOT_VSPACE, frame, base + offset, 0));
		check_ok(tcb_resume(w->tcb));
		until(waits(w));
		IPC->words[119] = 0x1000 + i;
		struct message m = { .info = message_info(0, 0, MESSAGE_WORDS_MAX) };
		check_ok(ipc_call(endpoint, &m));
		check_eq(IPC->words[119], 0xeeee);
		until(w->done);
		check_eq(w->out[0], 0x1000 + i);
		check_ok(frame_unmap(here));
	}
}

TEST(buffer_unmapped, 1, 0, "random: a message into a buffer that is mapped nowhere arrives in its frame")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), frame = object(OBJECT_FRAME_4K, 0);
	struct worker *w = worker_make(listen, 200, last_core());
	check_ok(tcb_configure(IPC, w->tcb, NODE, ROOT_SLOT_VSPACE, frame, NO_TABLES, 0));
	w->arg[0] = endpoint;
	check_ok(tcb_resume(w->tcb));
	until(waits(w));
	IPC->words[100] = 0xfade;
	struct message m = { .info = message_info(0, 0, 101) };
	check_ok(ipc_send(endpoint, &m));
	until(w->count);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
	check_eq(((volatile uint64_t *)WINDOW)[100], 0xfade);
}
