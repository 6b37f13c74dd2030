/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that are suspended in a system call and resumed: they make it again, and it is made once. */
#include "ktest.h"

static void suspend_in_wait(struct worker *w)
{
	until(waits(w));
	check_ok(tcb_suspend(w->tcb));
	check(!w->done);
}

static void sender(struct worker *self)
{
	struct message m = { .info = message_info(4, 0, 2), .word = { 77, 88 } };
	self->out[0] = (uint64_t)-(int64_t)ipc_send(self->arg[0], &m);
}

static int take(uint64_t endpoint, uint64_t reply, struct message *m)
{
	*m = (struct message){ 0 };
	return ipc_nb_receive(endpoint, reply, m);
}

TEST(send, 1, 0, "restart: a sender that is suspended and resumed sends once")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w = worker_start(sender, 50, core, endpoint, 0);
		struct message m;
		for (unsigned i = 0; i < 20; i++) {
			suspend_in_wait(w);
			check_error(take(endpoint, 0, &m), WOULD_BLOCK);
			check_ok(tcb_resume(w->tcb));
		}
		until(waits(w));
		check_ok(take(endpoint, 0, &m));
		check_eq(m.info, message_info(4, 0, 2));
		check_eq(m.word[0], 77);
		check_eq(m.word[1], 88);
		until(w->done);
		check_eq(w->out[0], 0);
		check_error(take(endpoint, 0, &m), WOULD_BLOCK);
	}
}

static void receiver(struct worker *self)
{
	struct message m = { .word = { 1, 2, 3, 4 } };
	self->out[0] = (uint64_t)-(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
	self->out[1] = m.word[0];
	self->out[2] = m.badge;
}

TEST(receive, 1, 0, "restart: a receiver that is suspended gets no message, and one after it is resumed")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w = worker_start(receiver, 200, core, endpoint, object(OBJECT_REPLY, 0));
		for (unsigned i = 0; i < 20; i++) {
			suspend_in_wait(w);
			struct message lost = { .info = message_info(0, 0, 1), .word = { 666 } };
			check_ok(ipc_nb_send(endpoint, &lost));
			check_ok(tcb_resume(w->tcb));
		}
		until(waits(w));
		struct message m = { .info = message_info(0, 0, 1), .word = { 5 } };
		check_ok(ipc_send(badged(endpoint, 0x31, RIGHT_WRITE), &m));
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 5);
		check_eq(w->out[2], 0x31);
	}
}

static void caller(struct worker *self)
{
	struct message m = { .info = message_info(4, 0, 1), .word = { 77 } };
	self->out[0] = (uint64_t)-(int64_t)ipc_call(self->arg[0], &m);
	self->out[1] = m.word[0];
}

TEST(call, 1, 0, "restart: a caller that is suspended before its call is received calls again")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
		struct worker *w = worker_start(caller, 50, core, endpoint, 0);
		struct message m;
		suspend_in_wait(w);
		check_error(take(endpoint, reply, &m), WOULD_BLOCK);
		check_ok(tcb_resume(w->tcb));
		until(waits(w));
		check_ok(take(endpoint, reply, &m));
		check_eq(m.word[0], 77);
		m = (struct message){ .info = message_info(0, 0, 1), .word = { 99 } };
		check_ok(ipc_reply(reply, &m));
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 99);
	}
}

TEST(answer, 1, 0, "restart: a caller that is suspended while it waits for the answer calls again")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
		struct worker *w = worker_start(caller, 50, core, endpoint, 0);
		struct message m;
		for (unsigned i = 0; i < 10; i++) {
			until(waits(w));
			check_ok(take(endpoint, reply, &m));
			check_eq(m.info, message_info(4, 0, 1));
			check_eq(m.word[0], 77); /* of the call as it was, whatever happened since */
			check_ok(tcb_suspend(w->tcb));
			m = (struct message){ .info = message_info(0, 0, 4), .word = { 5, 6, 7, 8 } };
			check_error(ipc_reply(reply, &m), NO_REPLY);
			check_ok(tcb_resume(w->tcb));
		}
		until(waits(w));
		check_ok(take(endpoint, reply, &m));
		m = (struct message){ .info = message_info(0, 0, 1), .word = { 99 } };
		check_ok(ipc_reply(reply, &m));
		until(w->done);
		check_eq(w->out[1], 99);
	}
}

static void fast_server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		self->out[0] = m.word[0];
		self->count++;
		m = (struct message){ .info = message_info(0, 0, 1), .word = { m.word[0] + 1 } };
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

/* The reply is out when it is suspended in the receive: making the call again must not be a second reply. */
static void after_reply(unsigned server_priority, unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *server = worker_start(fast_server, server_priority, core, endpoint, reply);
	for (uint64_t i = 1; i <= 20; i++) {
		until(waits(server));
		struct message m = { .info = message_info(0, 0, 1), .word = { i } };
		check_ok(ipc_call(endpoint, &m));
		check_eq(m.word[0], i + 1);
		suspend_in_wait(server);
		check_error(ipc_reply(reply, &m), NO_REPLY);
		check_ok(tcb_resume(server->tcb));
	}
	until(waits(server));
	check_eq(server->count, 20);
}

TEST(reply_receive, 1, 0, "restart: a ReplyRecv whose reply is out receives again and replies no more")
{
	after_reply(MAIN_PRIORITY, 0); /* the fast path both ways */
	after_reply(MAIN_PRIORITY + 1, 0);
	after_reply(MAIN_PRIORITY - 1, 0);
}
TEST(reply_receive_remote, 2, 0, "restart: the same on another core") { after_reply(50, last_core()); }

static void waiter(struct worker *self)
{
	uint64_t word;
	self->out[0] = (uint64_t)-(int64_t)notification_wait(self->arg[0], self->arg[1], &word);
	self->out[1] = word;
}

TEST(wait, 1, 0, "restart: a waiter that is suspended takes no signal, and the pending one when it is resumed")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
		struct worker *w = worker_start(waiter, 200, core, notification, 0);
		for (unsigned i = 0; i < 10; i++) {
			suspend_in_wait(w);
			check_ok(notification_signal(notification));
			check_ok(notification_poll(notification, &word));
			check_eq(word, 1);
			check_ok(tcb_resume(w->tcb));
		}
		suspend_in_wait(w);
		check_ok(notification_signal(badged(notification, 0x40, RIGHT_WRITE)));
		check_ok(tcb_resume(w->tcb));
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 0x40);
	}
}

/* A waiter with a deadline that has not passed when it is suspended. Where the host makes it late: again. */
static struct worker *suspended_before(unsigned core, unsigned ms)
{
	for (;; ms *= 2) {
		struct worker *w = worker_start(waiter, 200, core, object(OBJECT_NOTIFICATION, 0), deadline_ms(ms));
		until(waits(w));
		check_ok(tcb_suspend(w->tcb));
		if (!passed(w->arg[1])) {
			check(!w->done);
			return w;
		}
		workers_drop();
	}
}

TEST(deadline, 1, 0, "restart: a waiter's deadline stays the one that it gave, suspended or not")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = suspended_before(core, 100);
		uint64_t deadline = w->arg[1];
		check_ok(tcb_resume(w->tcb));
		until(waits(w));
		check(!w->done || passed(deadline));
		until(w->done);
		check(passed(deadline));
		check_eq(w->out[0], SKERRY_TIMED_OUT);

		w = suspended_before(core, 50);
		until(passed(w->arg[1]));
		sleep_ms(2);
		check(!w->done); /* time alone resumes nobody */
		check_ok(tcb_resume(w->tcb));
		until(w->done);
		check_eq(w->out[0], SKERRY_TIMED_OUT);
	}
}

TEST(rewritten, 1, 0, "restart: registers read in a suspended call and written back make the call again")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = worker_start(waiter, 200, last_core(), notification, 0);
	struct thread_registers r;
	suspend_in_wait(w);
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	check_eq(r.rax, SYS_WAIT);
	check_eq(r.rdi, notification);
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &r));
	until(waits(w));
	check(!w->done);
	check_ok(notification_signal(notification));
	until(w->done);
	check_eq(w->out[1], 1);
}

TEST(elsewhere, 1, 0, "restart: registers that are written anew end the old call without a trace")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), endpoint = object(OBJECT_ENDPOINT, 0), word;
	struct worker *w = worker_start(waiter, 200, last_core(), notification, 0);
	suspend_in_wait(w);
	w->arg[0] = endpoint;
	w->arg[1] = object(OBJECT_REPLY, 0);
	w->run = receiver;
	worker_restart(w, true);
	until(waits(w));
	check_ok(notification_signal(notification));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 1);
	struct message m = { .info = message_info(0, 0, 1), .word = { 3 } };
	check_ok(ipc_send(endpoint, &m));
	until(w->done);
	check_eq(w->out[1], 3);
}

TEST(moved, 2, 0, "restart: a call that is made again on another core is the same call")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *w = worker_start(caller, 50, 0, endpoint, 0);
	struct message m;
	for (unsigned i = 0; i < 2 * cores(); i++) {
		suspend_in_wait(w);
		check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 50, (i + 1) % cores()));
		check_ok(tcb_resume(w->tcb));
	}
	until(waits(w));
	check_ok(take(endpoint, reply, &m));
	check_eq(m.word[0], 77);
	check_ok(ipc_reply(reply, &m));
	until(w->done);
	check_eq(w->out[0], 0);
}
