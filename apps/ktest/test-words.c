/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers after a system call: a message's words within its length arrive, nothing else of the sender does, and the
 * rest stays as it was.
 */
#include "ktest.h"

enum { FLAGS = 0x8d5 | 1 << 10 }; /* arithmetic flags and DF */

struct call {
	struct registers before, after;
};

static struct call calls[4];

static void make_call(struct worker *self)
{
	struct call *c = &calls[self->arg[0]];
	c->after = c->before;
	system_call_raw(&c->after);
	self->count++;
}

static void prepare(unsigned index, uint64_t number, uint64_t cap, uint64_t info, uint64_t reply)
{
	uint64_t tag = (index + 1) * 0x1010000000000000;
	calls[index].before = (struct registers){
		.rax = number, .rbx = tag | 1, .rdx = tag | 2, .rsi = info, .rdi = cap, .rbp = tag | 3, .r8 = tag | 4,
		.r9 = tag | 5, .r10 = tag | 6, .r12 = reply, .r13 = tag | 7, .r14 = tag | 8, .r15 = tag | 9,
		.rflags = FLAGS,
	};
}

static uint64_t word(const struct registers *r, unsigned i)
{
	return i == 0 ? r->rdx : i == 1 ? r->r10 : i == 2 ? r->r8 : r->r9;
}

/* Nothing but RAX, RDI, RSI and words below `length` may differ. */
static void check_kept(unsigned index, unsigned length)
{
	const struct registers *a = &calls[index].before, *b = &calls[index].after;
	check_eq(b->rbx, a->rbx);
	check_eq(b->rbp, a->rbp);
	check_eq(b->r12, a->r12);
	check_eq(b->r13, a->r13);
	check_eq(b->r14, a->r14);
	check_eq(b->r15, a->r15);
	check_eq(b->rflags & 0xcd5, FLAGS);
	for (unsigned i = length; i < MESSAGE_REGISTERS; i++)
		check_eq(word(b, i), word(a, i));
}

/* `index` received what `from` sent. */
static void check_received(unsigned index, unsigned from, unsigned length, uint64_t badge)
{
	const struct registers *r = &calls[index].after;
	check_eq(r->rax, 0);
	check_eq(r->rdi, badge);
	check_eq(message_words(r->rsi), length);
	check_kept(index, length);
	for (unsigned i = 0; i < length && i < MESSAGE_REGISTERS; i++)
		check_eq(word(r, i), word(&calls[from].before, i));
}

static const unsigned lengths[] = { 0, 1, 2, 3, 4, 5, 120 };
#define FOR_LENGTHS(l) for (const unsigned *l = lengths; l < lengths + sizeof(lengths) / sizeof(lengths[0]); l++)

static struct worker *start(unsigned index, unsigned priority, unsigned core)
{
	return worker_start(make_call, priority, core, index, 0);
}

/* The system calls, which side comes first, and the receiver's priority and core; the sender has 50 on core 0. */
struct way {
	uint64_t send, receive;
	bool receiver_first;
	unsigned priority;
};

static void one_way(const struct way *way, unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), sender_cap = badged(endpoint, 0xbad6e, RIGHT_ALL);
	FOR_LENGTHS(length) {
		uint64_t reply = object(OBJECT_REPLY, 0);
		struct worker *sender, *receiver;
		prepare(0, way->send, sender_cap, message_info(7, 0, *length), 0);
		prepare(1, way->receive, endpoint, 0, reply);
		if (way->receiver_first) {
			receiver = start(1, way->priority, core);
			until(waits(receiver));
			sender = start(0, 50, 0);
		} else {
			sender = start(0, 50, 0);
			until(waits(sender));
			receiver = start(1, way->priority, core);
		}
		until(receiver->done);
		check_received(1, 0, *length, 0xbad6e);
		check_eq(message_label(calls[1].after.rsi), 7);
		if (way->send == SYS_CALL) {
			struct message m = { 0 };
			check_ok(ipc_reply(reply, &m));
			until(sender->done);
			check_eq(calls[0].after.rsi, 0);
		}
		until(sender->done);
		check_eq(calls[0].after.rax, 0);
		check_kept(0, 0);
		workers_drop();
	}
}

static void all_ways(uint64_t send, unsigned core)
{
	static const unsigned priority[] = { 60, 50, 40 };
	for (unsigned i = 0; i < 3; i++) {
		one_way(&(struct way){ send, SYS_RECV, true, priority[i] }, core);
		if (send != SYS_NB_SEND) {
			one_way(&(struct way){ send, SYS_RECV, false, priority[i] }, core);
			one_way(&(struct way){ send, SYS_NB_RECV, false, priority[i] }, core);
		}
	}
}

TEST(send, 1, 0, "words: Send changes the receiver's registers within its length and no other")
{
	all_ways(SYS_SEND, 0);
}
TEST(nb_send, 1, 0, "words: NBSend changes the receiver's registers within its length and no other")
{
	all_ways(SYS_NB_SEND, 0);
}
TEST(call, 1, 0, "words: Call changes the receiver's registers within its length and no other")
{
	all_ways(SYS_CALL, 0);
}
TEST(remote, 2, 0, "words: the same for messages to another core")
{
	all_ways(SYS_SEND, last_core());
	all_ways(SYS_CALL, last_core());
}

/* Receives, then makes the call that was prepared as number 2. */
static void serve(struct worker *self)
{
	self->arg[0] = 1;
	make_call(self);
	self->arg[0] = 2;
	make_call(self);
}

static void answered(uint64_t number, unsigned priority, unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	FOR_LENGTHS(length) {
		uint64_t reply = object(OBJECT_REPLY, 0);
		prepare(0, SYS_CALL, endpoint, message_info(1, 0, 0), 0);
		prepare(1, SYS_RECV, endpoint, 0, reply);
		prepare(2, number, endpoint, message_info(9, 0, *length), reply);
		struct worker *server = worker_start(serve, priority, core, 0, 0);
		until(waits(server));
		struct worker *client = start(0, 50, 0);
		until(client->done);
		check_received(0, 2, *length, 0);
		check_eq(message_label(calls[0].after.rsi), 9);
		if (number == SYS_REPLY_RECV) { /* it receives again: a message of two words */
			until(waits(server));
			prepare(3, SYS_SEND, endpoint, message_info(3, 0, 2), 0);
			client = start(3, 50, 0);
			until(client->done && server->done);
			check_received(2, 3, 2, 0);
		} else {
			until(server->done);
			check_eq(calls[2].after.rax, 0);
			check_kept(2, 0);
		}
		workers_drop();
	}
}

static void all_answers(uint64_t number, unsigned core)
{
	answered(number, 60, core);
	answered(number, 50, core);
	answered(number, 40, core);
}

TEST(reply, 1, 0, "words: Reply changes the caller's registers within its length and no other")
{
	all_answers(SYS_REPLY, 0);
}
TEST(reply_receive, 1, 0, "words: ReplyRecv changes the caller's, and then its own, and no other")
{
	all_answers(SYS_REPLY_RECV, 0);
}
TEST(remote_reply, 2, 0, "words: the same for answers from another core")
{
	all_answers(SYS_REPLY, last_core());
	all_answers(SYS_REPLY_RECV, last_core());
}

static void check_notified(unsigned index, uint64_t value)
{
	check_eq(calls[index].after.rax, 0);
	check_eq(calls[index].after.rdi, value);
	check_kept(index, 0);
}

TEST(notification, 1, 0, "words: Wait and Poll change no word, whoever comes first")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0), signal = badged(notification, 0x77, RIGHT_ALL);
		for (unsigned i = 0; i < 2; i++) {
			static const uint64_t number[] = { SYS_POLL, SYS_WAIT };
			prepare(0, number[i], notification, message_info(5, 0, 4), 0x1234);
			check_ok(notification_signal(signal));
			struct worker *w = start(0, 60, core);
			until(w->done);
			check_notified(0, 0x77);
		}
		prepare(0, SYS_WAIT, notification, message_info(5, 0, 4), 0x1234);
		calls[0].before.rdx = 0;
		struct worker *w = start(0, 60, core);
		until(waits(w));
		prepare(1, SYS_SIGNAL, signal, message_info(5, 0, 4), 0x1234);
		struct worker *s = start(1, 50, 0);
		until(w->done && s->done);
		check_notified(0, 0x77);
		check_eq(calls[1].after.rax, 0);
		check_kept(1, 0);
	}
}

TEST(timed_out, 1, 0, "words: a wait whose deadline passes changes no word")
{
	for (unsigned i = 0; i < 2; i++) {
		prepare(0, SYS_WAIT, object(OBJECT_NOTIFICATION, 0), 0, 0x99);
		calls[0].before.rdx = i ? deadline_ms(2) : 1;
		struct worker *w = start(0, 60, last_core());
		until(w->done);
		check_eq(calls[0].after.rax, SKERRY_TIMED_OUT);
		check_kept(0, 0);
	}
}

TEST(bound, 1, 0, "words: a bound notification that ends a receive changes no word")
{
	for (unsigned first = 0; first < 2; first++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0);
		prepare(0, SYS_RECV, object(OBJECT_ENDPOINT, 0), message_info(5, 0, 4), object(OBJECT_REPLY, 0));
		struct worker *w = worker_make(make_call, 60, last_core());
		check_ok(tcb_bind(IPC, w->tcb, notification));
		if (first)
			check_ok(notification_signal(notification));
		check_ok(tcb_resume(w->tcb));
		if (!first) {
			until(waits(w));
			check_ok(notification_signal(notification));
		}
		until(w->done);
		check_notified(0, 1);
		check_eq(message_label(calls[0].after.rsi), RECV_NOTIFICATION);
		check_eq(message_words(calls[0].after.rsi), 0);
	}
}

static void page(struct worker *self) { program_load(NO_TABLES); }
static void undefined(struct worker *self) { program_undefined(); }
static void unknown(struct worker *self) { system_call_raw(&(struct registers){ .rax = 99 }); }

TEST(fault, 1, 0, "words: a fault's message changes its handler's registers within its length and no other")
{
	static void (*const run[])(struct worker *) = { unknown, page, undefined };
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned first = 0; first < 2; first++) {
			uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
			struct worker *w = worker_make(run[i], 50, 0);
			worker_fault_to(w, badged(endpoint, 4, RIGHT_WRITE));
			prepare(0, SYS_RECV, endpoint, 0, object(OBJECT_REPLY, 0));
			struct worker *handler = worker_make(make_call, 60, last_core());
			if (first) {
				check_ok(tcb_resume(handler->tcb));
				until(waits(handler));
			}
			check_ok(tcb_resume(w->tcb));
			until(waits(w));
			check_ok(tcb_resume(handler->tcb));
			until(handler->done);
			check_eq(calls[0].after.rax, 0);
			check_eq(calls[0].after.rdi, 4);
			check_eq(message_words(calls[0].after.rsi), i + 3);
			check_kept(0, i + 3);
		}
	}
}

TEST(refused, 1, 0, "words: a system call that is refused changes RAX alone")
{
	for (uint64_t number = SYS_CALL; number <= SYS_POLL; number++) {
		prepare(0, number, slot(), message_info(5, 3, 127), slot());
		calls[0].after = calls[0].before;
		system_call_raw(&calls[0].after);
		check_eq(calls[0].after.rax, SKERRY_BAD_CAP);
		check_eq(calls[0].after.rdi, calls[0].before.rdi);
		check_eq(calls[0].after.rsi, calls[0].before.rsi);
		check_kept(0, 0);
	}
}

TEST(invocation, 1, 0, "words: an invocation without an answer keeps all words, one with an answer all others")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), address;
	check_ok(frame_address(frame, &address));
	prepare(0, SYS_CALL, frame, message_info(FRAME_UNMAP, 0, 0), 7);
	calls[0].after = calls[0].before;
	system_call_raw(&calls[0].after);
	check_eq(calls[0].after.rax, SKERRY_NOT_MAPPED);
	check_kept(0, 0);
	prepare(0, SYS_CALL, frame, message_info(FRAME_ADDRESS, 0, 0), 7);
	calls[0].after = calls[0].before;
	system_call_raw(&calls[0].after);
	check_eq(calls[0].after.rax, 0);
	check_eq(calls[0].after.rdx, address);
	check_kept(0, 1);
}

TEST(yield, 1, 0, "words: Yield changes RAX alone")
{
	prepare(0, SYS_YIELD, 1, 2, 3);
	calls[0].after = calls[0].before;
	system_call_raw(&calls[0].after);
	check_eq(calls[0].after.rax, 0);
	check_eq(calls[0].after.rdi, 1);
	check_eq(calls[0].after.rsi, 2);
	check_kept(0, 0);
}
