/* SPDX-License-Identifier: BSD-2-Clause */
/* The words, badges and capabilities of a message. */
#include "ktest.h"

static uint64_t pattern(unsigned length, unsigned index) { return (uint64_t)length << 32 | (index * 0x9e37u + 1); }

static uint64_t get(const struct message *m, const struct ipc_buffer *ipc, unsigned i)
{
	return i < MESSAGE_REGISTERS ? m->word[i] : ipc->words[i];
}

static void set(struct message *m, struct ipc_buffer *ipc, unsigned i, uint64_t value)
{
	*(i < MESSAGE_REGISTERS ? &m->word[i] : &ipc->words[i]) = value;
}

/* Answers every message with its words' complement. */
static void echo(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		unsigned length = message_words(m.info);
		for (unsigned i = 0; i < length; i++) {
			check_eq(get(&m, self->ipc, i), pattern(length, i));
			set(&m, self->ipc, i, ~pattern(length, i));
		}
		self->count++;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

static void all_lengths(unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *server = worker_start(echo, 200, core, endpoint, reply);
	for (unsigned length = 0; length <= MESSAGE_WORDS_MAX; length++) {
		struct message m = { .info = message_info(length * 3, 0, length) };
		for (unsigned i = 0; i < length; i++)
			set(&m, IPC, i, pattern(length, i));
		check_ok(ipc_call(endpoint, &m));
		check_eq(message_words(m.info), length);
		for (unsigned i = 0; i < length; i++)
			check_eq(get(&m, IPC, i), ~pattern(length, i));
	}
	check_eq(server->count, MESSAGE_WORDS_MAX + 1);
}

TEST(lengths, 1, 0, "message: every length from 0 to 120 words, there and back") { all_lengths(0); }
TEST(remote_lengths, 2, 0, "message: every length from 0 to 120 words, to another core and back")
{
	all_lengths(last_core());
}

/* Sends one message and keeps its buffer as it is. */
static void send_once(struct worker *self)
{
	for (unsigned i = 0; i < MESSAGE_WORDS_MAX; i++)
		self->ipc->words[i] = 0x1000 + i;
	struct message m = { .info = self->arg[1], .word = { 1, 2, 3, 4 } };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_send(self->arg[0], &m);
}

static struct message received(uint64_t info)
{
	struct message m = { 0 };
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = worker_start(send_once, 50, 0, endpoint, info);
	until(waits(worker));
	for (unsigned i = 0; i < MESSAGE_WORDS_MAX; i++)
		IPC->words[i] = 0xaaaa;
	check_ok(ipc_nb_receive(endpoint, 0, &m));
	return m;
}

TEST(too_long, 1, 0, "message: a length above 120 is 120")
{
	struct message m = received(127);
	check_eq(message_words(m.info), MESSAGE_WORDS_MAX);
	check_eq(IPC->words[119], 0x1000 + 119);
	check_eq(IPC->caps[0] >> 16, 0); /* and nothing behind the words was written */
}

TEST(no_more, 1, 0, "message: words beyond the length do not travel")
{
	struct message m = received(message_info(0, 0, 7));
	check_eq(message_words(m.info), 7);
	check_eq(IPC->words[6], 0x1006);
	check_eq(IPC->words[7], 0xaaaa);
}

TEST(label_bits, 1, 0, "message: all 52 bits of a label travel")
{
	struct message m = received(message_info(0xfedcba9876543, 0, 1));
	check_eq(message_label(m.info), 0xfedcba9876543);
}

TEST(caps_claimed, 1, 0, "message: capabilities that did not travel are not announced")
{
	struct message m = received(message_info(1, 3, 1));
	check_eq(message_caps(m.info), 0);
}

static void send_many(struct worker *self)
{
	struct message m = { .info = message_info(0, 0, 50), .word = { 11, 12, 13, 14 } };
	self->out[0] = (uint64_t)(int64_t)ipc_send(self->arg[0], &m);
	self->count = 1;
}

static struct worker *without_buffer(void (*run)(struct worker *), uint64_t endpoint)
{
	struct worker *worker = worker_make(run, 50, 0);
	check_ok(tcb_configure(IPC, worker->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	worker->arg[0] = endpoint;
	check_ok(tcb_resume(worker->tcb));
	until(waits(worker));
	return worker;
}

TEST(sender_without_buffer, 1, 0, "message: a sender without IPC buffer sends four words")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	without_buffer(send_many, endpoint);
	struct message m = { 0 };
	check_ok(ipc_nb_receive(endpoint, 0, &m));
	check_eq(message_words(m.info), 4);
	check_eq(m.word[3], 14);
}

static uint64_t registers_of;

static void invoke_without_buffer(struct worker *self)
{
	struct thread_registers r = { .rip = 0x1234 };
	check_error(cnode_copy(self->ipc, ROOT_SLOT_CNODE, self->arg[1], ROOT_SLOT_CNODE, self->arg[0], RIGHT_ALL),
	            BAD_CAP);
	check_ok(tcb_write_registers(self->ipc, registers_of, 0, &r));
	r = (struct thread_registers){ 0 };
	check_ok(tcb_read_registers(self->ipc, registers_of, &r));
	check_eq(r.rip, 0x1234); /* the first four words are in registers */
	self->count = 1;
	struct message m = { 0 };
	ipc_receive(self->arg[0], 0, &m);
}

TEST(invocation_without_buffer, 1, 0, "message: an invocation without IPC buffer has four words and no capabilities")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), to = slot();
	registers_of = worker_make(send_once, 50, 0)->tcb;
	struct worker *worker = worker_make(invoke_without_buffer, 50, 0);
	check_ok(tcb_configure(IPC, worker->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	worker->arg[0] = endpoint, worker->arg[1] = to;
	check_ok(tcb_resume(worker->tcb));
	until(waits(worker));
	check_eq(worker->count, 1);
	check(is_empty(to));
}

static void receive_many(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], 0, &m));
	self->out[0] = m.info;
	self->out[1] = m.word[3];
}

TEST(receiver_without_buffer, 1, 0, "message: a receiver without IPC buffer gets four words")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = without_buffer(receive_many, endpoint);
	struct message m = { .info = message_info(3, 0, 100), .word = { 1, 2, 3, 4 } };
	check_ok(ipc_send(endpoint, &m));
	until(worker->done);
	check_eq(worker->out[0], message_info(3, 0, 4));
	check_eq(worker->out[1], 4);
}

TEST(buffer_gone, 1, 0, "message: a sender whose buffer is taken away while it waits sends four words")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = worker_start(send_many, 50, 0, endpoint, 0);
	until(waits(worker));
	check(!worker->count);
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, worker->frame));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, worker->frame));
	struct message m = { 0 };
	check_ok(ipc_nb_receive(endpoint, 0, &m));
	check_eq(message_words(m.info), 4);
	check_eq(m.word[0], 11);
}

TEST(registers_kept, 1, NEEDS_PROCESSOR, "message: a system call changes no register but those that it names")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), bad = 0;
	__asm__ volatile("push %%rbp\n\t"
			 "mov $0x1111, %%rbx; mov $0x2222, %%rbp; mov $0x3333, %%r12; mov $0x4444, %%r13\n\t"
			 "mov $0x5555, %%r14; mov $0x6666, %%r15; mov $0x77, %%rdx; mov $0x88, %%r10; mov $0x99, %%r8; "
			 "mov $0xaa, %%r9\n\t"
			 "mov $8, %%eax\n\t" /* SYS_SIGNAL */
			 "syscall\n\t"
			 "sub $0x1111, %%rbx; sub $0x2222, %%rbp; sub $0x3333, %%r12; sub $0x4444, %%r13\n\t"
			 "sub $0x5555, %%r14; sub $0x6666, %%r15; sub $0x77, %%rdx; sub $0x88, %%r10; sub $0x99, %%r8; "
			 "sub $0xaa, %%r9\n\t"
			 "or %%rbx, %%rax; or %%rbp, %%rax; or %%r12, %%rax; or %%r13, %%rax; or %%r14, %%rax; or "
			 "%%r15, %%rax\n\t"
			 "or %%rdx, %%rax; or %%r10, %%rax; or %%r8, %%rax; or %%r9, %%rax\n\t"
			 "pop %%rbp"
			 : "=a"(bad)
			 : "D"(notification), "S"(0)
			 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory");
	check_eq(bad, 0);
}
