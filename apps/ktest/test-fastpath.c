/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls and answers on the fast path and beside it: where the two threads are
 * and how important they are decides the way, and must not decide the outcome.
 */
#include "ktest.h"

enum { ROUNDS = 300, CLIENT = 50, LABELS = 1 << 20 };

static uint64_t mix(uint64_t x) { return (x ^ x >> 29) * 0xbf58476d1ce4e5b9; }

/* Answers message n with its words mixed, one word more or none, and its badge as label. */
static void server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		unsigned words = message_words(m.info);
		for (unsigned i = 0; i < words; i++)
			m.word[i] = mix(m.word[i]);
		for (unsigned i = words; i < MESSAGE_REGISTERS; i++)
			m.word[i] = 0xdead;
		m.info = message_info(message_label(m.info) + m.badge, 0, (words + 1) % 5);
		self->count++;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

static void client(struct worker *self)
{
	uint64_t seed = 0x5eed + self->index;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned words = round % 5, label = random_next(&seed) % LABELS;
		struct message m = { .info = message_info(label, 0, words) };
		uint64_t sent[MESSAGE_REGISTERS];
		for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
			sent[i] = m.word[i] = random_next(&seed);
		check_ok(ipc_call(self->arg[0], &m));
		check_eq(m.info, message_info(label + self->arg[1], 0, (words + 1) % 5));
		check_eq(m.badge, 0);
		unsigned back = (words + 1) % 5;
		for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
			check_eq(m.word[i], i < words && i < back ? mix(sent[i]) : i < back ? 0xdead : sent[i]);
		self->count++;
	}
}

static struct worker *serve(uint64_t endpoint, unsigned priority, unsigned core)
{
	struct worker *w = worker_start(server, priority, core, endpoint, object(OBJECT_REPLY, 0));
	until(waits(w));
	return w;
}

static void converse(unsigned priority, unsigned core, unsigned clients)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *s = serve(endpoint, priority, core), *c[4];
	for (unsigned i = 0; i < clients; i++) {
		uint64_t badge = 0x100 * (i + 1);
		c[i] = worker_start(client, CLIENT, clients > 1 ? i % cores() : 0, badged(endpoint, badge, RIGHT_WRITE),
		                    badge);
	}
	for (unsigned i = 0; i < clients; i++)
		until(c[i]->done);
	check_eq(s->count, ROUNDS * clients);
	workers_drop();
}

TEST(higher, 1, 0, "fast path: a server of higher priority") { converse(CLIENT + 10, 0, 1); }
TEST(equal, 1, 0, "fast path: a server of equal priority") { converse(CLIENT, 0, 1); }
TEST(lower, 1, 0, "fast path: a server of lower priority") { converse(CLIENT - 10, 0, 1); }
TEST(remote, 2, 0, "fast path: a server on another core, of every priority")
{
	for (unsigned priority = CLIENT - 10; priority <= CLIENT + 10; priority += 10)
		converse(priority, last_core(), 1);
}
TEST(queue, 1, 0, "fast path: four clients at once, on all cores")
{
	converse(CLIENT, 0, 4);
	converse(CLIENT + 10, last_core(), 4);
	converse(CLIENT - 10, 0, 4);
}

/* Passes on what it gets to arg[2] and the answer back. */
static void relay(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		check_ok(ipc_call(self->arg[2], &m));
		self->count++;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

TEST(chain, 1, 0, "fast path: a chain of eight servers, each the client of the next")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	serve(endpoint, CLIENT, 0);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t front = object(OBJECT_ENDPOINT, 0);
		struct worker *w = worker_make(relay, CLIENT + i % 3, i % 4 == 3 ? last_core() : 0);
		w->arg[0] = front, w->arg[1] = object(OBJECT_REPLY, 0), w->arg[2] = endpoint;
		check_ok(tcb_resume(w->tcb));
		until(waits(w));
		endpoint = front;
	}
	struct worker *c = worker_start(client, CLIENT, 0, endpoint, 0);
	until(c->done);
}

/* Code and data of the two are at the same addresses: a core that stays in a space counts in the wrong memory. */
static void between_spaces(unsigned server_priority, unsigned client_priority)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct space s = space_make(foreign_reply, server_priority, 0, endpoint, object(OBJECT_REPLY, 0));
	struct space c = space_make(foreign_call, client_priority, 0, endpoint, 0);
	check_ok(tcb_resume(s.tcb));
	check_ok(tcb_resume(c.tcb));
	until(c.data[0] >= 3000);
	check_eq(c.data[1], 0);
	check_ok(tcb_suspend(c.tcb));
	check_ok(tcb_suspend(s.tcb));
	check(s.data[0] - c.data[0] <= 1);
}

TEST(spaces, 1, NEEDS_PROCESSOR, "fast path: thousands of calls between address spaces, of every order of priorities")
{
	between_spaces(50, 50);
	between_spaces(60, 50);
	between_spaces(50, 60);
}

static void receive_only(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-(int64_t)ipc_receive(self->arg[0], 0, &m);
	self->out[1] = m.word[0];
	self->out[2] = m.info;
}

TEST(no_reply, 1, 0, "fast path: a receiver without a reply object gets the call, and the caller stops for good")
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *r = worker_start(receive_only, CLIENT - 10 + 10 * i, 0, endpoint, 0);
		until(waits(r));
		struct worker *c = worker_start(client, CLIENT, 0, endpoint, 0);
		until(r->done && waits(c));
		check_eq(r->out[0], 0);
		check_eq(message_words(r->out[2]), 0);
		check(!c->count && !c->done);
		check_ok(tcb_suspend(c->tcb));
	}
}

static void call_once(struct worker *self)
{
	struct message m = { .info = message_info(0, 0, 1), .word = { self->arg[1] } };
	self->out[0] = (uint64_t)-(int64_t)ipc_call(self->arg[0], &m);
	self->out[1] = m.word[0];
}

static void receive_and_keep(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
	self->count++;
	m.info = message_info(0, 0, 1);
	m.word[0] = 5;
	self->out[1] = (uint64_t)-(int64_t)ipc_reply_receive(self->arg[2], self->arg[1], &m);
	self->out[2] = (uint64_t)-(int64_t)ipc_reply(self->arg[1], &m);
}

TEST(rights, 1, 0, "fast path: a Call without WRITE and a ReplyRecv without READ are refused where all else is right")
{
	for (unsigned priority = CLIENT - 10; priority <= CLIENT + 10; priority += 10) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *s = worker_make(receive_and_keep, priority, 0);
		s->arg[0] = endpoint, s->arg[1] = object(OBJECT_REPLY, 0);
		s->arg[2] = copy_of(endpoint, RIGHT_WRITE | RIGHT_GRANT | RIGHT_EXECUTE);
		check_ok(tcb_resume(s->tcb));
		until(waits(s));
		uint64_t weak = copy_of(endpoint, RIGHT_READ | RIGHT_GRANT | RIGHT_EXECUTE);
		struct worker *c = worker_start(call_once, CLIENT, 0, weak, 1);
		until(c->done);
		check_eq(c->out[0], SKERRY_NO_RIGHTS);
		check(!s->count);
		c = worker_start(call_once, CLIENT, 0, copy_of(endpoint, RIGHT_WRITE), 1);
		until(c->done && s->done);
		check_eq(s->out[0], 0);
		check_eq(s->out[1], SKERRY_NO_RIGHTS);
		check_eq(s->out[2], 0); /* the caller was still there */
		check_eq(c->out[0], 0);
		check_eq(c->out[1], 5);
	}
}

TEST(types, 1, 0,
     "fast path: ReplyRecv through what is no reply object, or no endpoint, is BAD_CAP with the caller still held")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	uint64_t bad[] = { object(OBJECT_NOTIFICATION, 0), object(OBJECT_TCB, 0), endpoint, slot(), 0,
	                   1ull << ROOT_CNODE_BITS };
	struct worker *c = worker_start(call_once, MAIN_PRIORITY, 0, endpoint, 1);
	struct message m = { 0 };
	until(waits(c));
	check_ok(ipc_nb_receive(endpoint, reply, &m));
	for (unsigned i = 0; i < 6; i++) {
		check_error(ipc_reply_receive(endpoint, bad[i], &m), BAD_CAP);
		check_error(ipc_reply_receive(bad[i] == endpoint ? reply : bad[i], reply, &m), BAD_CAP);
	}
	check(!c->done);
	check_ok(ipc_reply(reply, &m));
	until(c->done);
}

/* Signals its own bound notification, then answers: the answer goes out, and the receive ends at once. */
static void signal_itself(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	check_ok(notification_signal(self->arg[2]));
	m = (struct message){ .info = message_info(0, 0, 1), .word = { 4711 } };
	check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	self->out[0] = m.info;
	self->out[1] = m.badge;
	self->out[2] = m.word[0];
}

TEST(bound, 1, 0, "fast path: a pending bound notification does not keep the answer back, and ends the receive")
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
		struct worker *s = worker_make(signal_itself, CLIENT - 10 + 10 * i, 0);
		s->arg[0] = endpoint, s->arg[1] = object(OBJECT_REPLY, 0),
		            s->arg[2] = badged(notification, 0x3c, RIGHT_WRITE);
		check_ok(tcb_bind(IPC, s->tcb, notification));
		check_ok(tcb_resume(s->tcb));
		until(waits(s));
		struct worker *c = worker_start(call_once, CLIENT, 0, endpoint, 1);
		until(c->done && s->done);
		check_eq(c->out[0], 0);
		check_eq(c->out[1], 4711);
		check_eq(message_label(s->out[0]), RECV_NOTIFICATION);
		check_eq(s->out[1], 0x3c);
		check_eq(s->out[2], 4711); /* no word of anybody's message */
	}
}

static void tell_core(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		self->count++;
		m = (struct message){ .info = message_info(0, 0, 1), .word = { program_core() } };
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

TEST(server_moved, 2, 0, "fast path: a server that is told to move while it waits answers from its new core")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), first = program_core();
	struct worker *s = worker_start(tell_core, MAIN_PRIORITY, 0, endpoint, object(OBJECT_REPLY, 0));
	for (unsigned i = 0; i < 20; i++) {
		unsigned core = i % 2 ? last_core() : 0;
		until(waits(s));
		check_ok(tcb_schedule(IPC, s->tcb, ROOT_SLOT_TCB, MAIN_PRIORITY, core));
		for (unsigned j = 0; j < 3; j++) {
			struct message m = { 0 };
			check_ok(ipc_call(endpoint, &m));
			check_eq(m.word[0] == first, core == 0);
		}
	}
}

static void call_and_tell(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = program_core();
	check_ok(ipc_call(self->arg[0], &m));
	self->out[1] = program_core();
}

TEST(client_moved, 2, 0,
     "fast path: a client that is told to move while it waits for the answer goes on on its new core")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0),
	         never = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 0; i < 10; i++) {
		struct worker *c = worker_start(call_and_tell, MAIN_PRIORITY, 0, endpoint, 0);
		struct message m = { 0 };
		until(waits(c));
		check_ok(ipc_nb_receive(endpoint, reply, &m));
		check_ok(tcb_schedule(IPC, c->tcb, ROOT_SLOT_TCB, MAIN_PRIORITY, last_core()));
		if (i % 2) {
			check_ok(ipc_reply(reply, &m));
		} else { /* answers and receives: what it receives is a notification's */
			uint64_t bound = object(OBJECT_NOTIFICATION, 0);
			check_ok(tcb_bind(IPC, ROOT_SLOT_TCB, bound));
			check_ok(notification_signal(bound));
			check_ok(ipc_reply_receive(never, reply, &m));
			check_ok(tcb_unbind(ROOT_SLOT_TCB));
		}
		until(c->done);
		check_eq(c->out[0], program_core());
		check(c->out[1] != program_core());
	}
}

TEST(lowered, 1, 0, "fast path: a server whose priority was lowered while it waited does not overtake a ready thread")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *s = serve(endpoint, CLIENT + 10, 0), *middle = worker_start(spinner, CLIENT - 10, 0, 0, 0);
	check_ok(tcb_schedule(IPC, s->tcb, ROOT_SLOT_TCB, CLIENT - 20, 0));
	struct worker *c = worker_start(client, CLIENT, 0, endpoint, 0);
	until(waits(c) && middle->count);
	sleep_ms(5);
	check_eq(s->count, 0);
	check_ok(tcb_suspend(middle->tcb));
	until(c->done);
}

TEST(raised, 1, 0, "fast path: a server whose priority was raised while it waited runs before a ready thread")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *s = serve(endpoint, CLIENT - 20, 0), *middle = worker_make(spinner, CLIENT - 10, 0);
	check_ok(tcb_schedule(IPC, s->tcb, ROOT_SLOT_TCB, CLIENT, 0));
	struct worker *c = worker_make(client, CLIENT, 0);
	c->arg[0] = endpoint;
	check_ok(tcb_resume(middle->tcb));
	check_ok(tcb_resume(c->tcb));
	until(c->done);
}

TEST(time, 1, 0, "fast path: the time of each side is its own")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), before, after, server_time, begin = read_tsc();
	struct worker *s = serve(endpoint, CLIENT, 0), *c = worker_make(client, CLIENT, 0);
	c->arg[0] = endpoint;
	check_ok(tcb_time(s->tcb, &before));
	check_ok(tcb_resume(c->tcb));
	until(c->done);
	check_ok(tcb_time(s->tcb, &server_time));
	check_ok(tcb_time(c->tcb, &after));
	check(server_time > before && after > 0);
	check(server_time - before + after <= read_tsc() - begin);
}

static void fault_often(struct worker *self)
{
	for (unsigned i = 0; i < 100; i++) {
		program_break();
		self->count++;
	}
}

static void handler(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		check_eq(message_label(m.info), FAULT_EXCEPTION);
		self->count++;
		m = (struct message){ .info = message_info(0, 0, 4), .word = { 1, 2, 3, 4 } };
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

TEST(faults, 1, 0, "fast path: a handler answers faults and receives the next, of every priority")
{
	for (unsigned priority = CLIENT - 10; priority <= CLIENT + 10; priority += 10) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *h = worker_start(handler, priority, 0, endpoint, object(OBJECT_REPLY, 0));
		struct worker *w = worker_make(fault_often, CLIENT, 0);
		worker_fault_to(w, endpoint);
		check_ok(tcb_resume(w->tcb));
		until(w->done);
		check_eq(h->count, 100);
	}
}

TEST(space_gone, 1, NEEDS_PROCESSOR,
     "fast path: a server that lost its address space while it waited faults when it is called")
{
	for (unsigned priority = CLIENT - 10; priority <= CLIENT + 10; priority += 10) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), faults = object(OBJECT_ENDPOINT, 0);
		struct timeout timeout = timeout_begin();
		struct space s = space_make(foreign_reply, priority, 0, endpoint, object(OBJECT_REPLY, 0));
		struct thread_registers r;
		struct message m = { 0 };
		check_ok(tcb_configure(IPC, s.tcb, ROOT_SLOT_CNODE, s.vspace, 0, 0, faults));
		check_ok(tcb_resume(s.tcb));
		until(tcb_read_registers(IPC, s.tcb, &r) == 0);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, s.vspace));
		check_ok(cnode_delete(ROOT_SLOT_CNODE, s.vspace));
		worker_start(call_once, CLIENT, 0, endpoint, 1);
		while (ipc_nb_receive(faults, 0, &m)) {
			check(!timeout_over(&timeout));
			pause_main();
		}
		check_eq(message_label(m.info), FAULT_PAGE);
	}
}
