/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

/* Receives arg[2] messages from arg[0], the words' sequence goes to out[0] in base 16, the last badge to out[1]. */
static void receiver(struct worker *self)
{
	for (uint64_t i = 0; i < self->arg[2]; i++) {
		struct message m = { 0 };
		self->out[2] = (uint64_t)(int64_t)ipc_receive(self->arg[0], 0, &m);
		self->out[0] = self->out[0] << 4 | m.word[0];
		self->out[1] = m.badge;
		self->count++;
	}
}

static struct worker *receive_start(uint64_t endpoint, unsigned priority, unsigned core, uint64_t count)
{
	struct worker *worker = worker_make(receiver, priority, core);
	worker->arg[0] = endpoint;
	worker->arg[2] = count;
	check_ok(tcb_resume(worker->tcb));
	return worker;
}

static void sender(struct worker *self)
{
	struct message m = { .info = message_info(0, 0, 1), .word = { self->arg[1] } };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_send(self->arg[0], &m);
}

static void caller(struct worker *self)
{
	struct message m = { .info = message_info(9, 0, 2), .word = { self->arg[1], 77 } };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_call(self->arg[0], &m);
	self->out[1] = m.word[0];
	self->out[2] = m.info;
	self->out[3] = m.badge;
}

/* Answers one call, the word plus 1, with label 5. */
static void server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	self->out[0] = m.info;
	self->out[1] = m.badge;
	m.info = message_info(5, 0, 1);
	m.word[0]++;
	check_ok(ipc_reply(self->arg[1], &m));
}

static int receive(uint64_t endpoint, struct message *m)
{
	*m = (struct message){ 0 };
	return ipc_nb_receive(endpoint, 0, m);
}

TEST(send_waits, 1, 0, "endpoint: a sender waits until it is received")
{
	struct message m;
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = worker_start(sender, 50, 0, endpoint, 42);
	until(waits(worker));
	check(!worker->done);
	check_ok(receive(endpoint, &m));
	check_eq(m.word[0], 42);
	check_eq(m.info, message_info(0, 0, 1));
	until(worker->done);
	check_eq(worker->out[0], 0);
}

TEST(receive_waits, 1, 0, "endpoint: a receiver waits for a message")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = receive_start(endpoint, 50, 0, 1);
	sleep_ms(2);
	check(!worker->done);
	struct message m = { .info = message_info(0, 0, 1), .word = { 6 } };
	check_ok(ipc_send(endpoint, &m));
	until(worker->done);
	check_eq(worker->out[0], 6);
	check_eq(worker->out[2], 0);
}

TEST(nb_send_drops, 1, 0, "endpoint: NB_SEND without a receiver drops the message")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct message m = { .info = message_info(0, 0, 1), .word = { 6 } };
	check_ok(ipc_nb_send(endpoint, &m));
	check_error(receive(endpoint, &m), WOULD_BLOCK);
}

TEST(nb_send_delivers, 1, 0, "endpoint: NB_SEND with a receiver delivers")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = receive_start(endpoint, 200, 0, 1);
	struct message m = { .info = message_info(0, 0, 1), .word = { 6 } };
	check_ok(ipc_nb_send(endpoint, &m));
	until(worker->done);
	check_eq(worker->out[0], 6);
}

TEST(nb_receive, 1, 0, "endpoint: NB_RECV of an empty endpoint is WOULD_BLOCK")
{
	struct message m;
	check_error(receive(object(OBJECT_ENDPOINT, 0), &m), WOULD_BLOCK);
}

TEST(call_reply, 1, 0, "endpoint: a Call gets its answer, words, label and result")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *s = worker_start(server, 50, 0, endpoint, reply), *c = worker_start(caller, 40, 0, endpoint, 10);
	until(c->done && s->done);
	check_eq(c->out[0], 0);
	check_eq(c->out[1], 11);
	check_eq(c->out[2], message_info(5, 0, 1));
	check_eq(c->out[3], 0);
	check_eq(s->out[0], message_info(9, 0, 2));
}

TEST(call_first, 1, 0, "endpoint: a Call that comes before the receiver gets its answer, too")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = worker_start(caller, 50, 0, endpoint, 10);
	until(waits(c));
	worker_start(server, 40, 0, endpoint, reply);
	until(c->done);
	check_eq(c->out[1], 11);
}

TEST(caller_waits, 1, 0, "endpoint: a caller waits for the reply, not only for the receiver")
{
	struct message m = { 0 };
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = worker_start(caller, 50, 0, endpoint, 10);
	until(waits(c));
	check_ok(ipc_nb_receive(endpoint, reply, &m));
	sleep_ms(2);
	check(!c->done);
	check_ok(ipc_reply(reply, &m));
	until(c->done);
}

TEST(badge, 1, 0, "endpoint: the receiver gets the sender's badge")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker = receive_start(endpoint, 200, 0, 2);
	struct message m = { 0 };
	check_ok(ipc_send(badged(endpoint, 0xdeadbeefcafe, RIGHT_ALL), &m));
	until(worker->count == 1);
	check_eq(worker->out[1], 0xdeadbeefcafe);
	check_ok(ipc_send(endpoint, &m));
	until(worker->count == 2);
	check_eq(worker->out[1], 0);
}

TEST(queued_badge, 1, 0, "endpoint: a queued sender's badge is that of its own capability")
{
	struct message m;
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 1; i <= 3; i++) {
		struct worker *w = worker_start(sender, 50, 0, badged(endpoint, 100 * i, RIGHT_ALL), i);
		until(waits(w));
	}
	for (unsigned i = 1; i <= 3; i++) {
		check_ok(receive(endpoint, &m));
		check_eq(m.badge, 100 * i);
	}
}

TEST(sender_order, 1, 0, "endpoint: senders are served in the order in which they came")
{
	struct message m;
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 0; i < 10; i++) {
		struct worker *w = worker_start(sender, 50 + i, 0, endpoint, i);
		until(waits(w));
	}
	for (unsigned i = 0; i < 10; i++) {
		check_ok(receive(endpoint, &m));
		check_eq(m.word[0], i);
	}
}

TEST(receiver_order, 1, 0, "endpoint: receivers are served in the order in which they came")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *worker[5];
	for (unsigned i = 0; i < 5; i++)
		worker[i] = receive_start(endpoint, 200, 0, 1);
	for (unsigned i = 0; i < 5; i++) {
		struct message m = { .info = message_info(0, 0, 1), .word = { i + 1 } };
		check_ok(ipc_send(endpoint, &m));
		until(worker[i]->done);
		check_eq(worker[i]->out[0], i + 1);
	}
}

TEST(no_write, 1, 0, "endpoint: NO_RIGHTS for sending without WRITE")
{
	uint64_t reader = copy_of(object(OBJECT_ENDPOINT, 0), RIGHT_READ | RIGHT_GRANT | RIGHT_EXECUTE);
	struct message m = { 0 };
	check_error(ipc_send(reader, &m), NO_RIGHTS);
	check_error(ipc_nb_send(reader, &m), NO_RIGHTS);
	check_error(ipc_call(reader, &m), NO_RIGHTS);
}

TEST(no_read, 1, 0, "endpoint: NO_RIGHTS for receiving without READ")
{
	uint64_t writer = copy_of(object(OBJECT_ENDPOINT, 0), RIGHT_WRITE | RIGHT_GRANT | RIGHT_EXECUTE);
	uint64_t reply = object(OBJECT_REPLY, 0);
	struct message m = { 0 };
	check_error(ipc_receive(writer, 0, &m), NO_RIGHTS);
	check_error(ipc_nb_receive(writer, 0, &m), NO_RIGHTS);
	check_error(ipc_reply_receive(writer, reply, &m), NO_RIGHTS);
}

TEST(not_endpoint, 1, 0, "endpoint: BAD_CAP for messages through what is no endpoint")
{
	uint64_t cap[] = { object(OBJECT_NOTIFICATION, 0), object(OBJECT_TCB, 0), object(OBJECT_REPLY, 0), slot(), 0,
	                   ~0ull };
	for (unsigned i = 0; i < sizeof(cap) / sizeof(cap[0]); i++) {
		struct message m = { 0 };
		check_error(ipc_send(cap[i], &m), BAD_CAP);
		check_error(ipc_nb_send(cap[i], &m), BAD_CAP);
		check_error(ipc_receive(cap[i], 0, &m), BAD_CAP);
		check_error(ipc_nb_receive(cap[i], 0, &m), BAD_CAP);
		check_error(ipc_reply_receive(cap[i], object(OBJECT_REPLY, 0), &m), BAD_CAP);
	}
}

TEST(call_nothing, 1, 0, "endpoint: BAD_CAP for a Call through an empty slot, BAD_LABEL for what has no invocations")
{
	struct message m = { 0 };
	check_error(ipc_call(slot(), &m), BAD_CAP);
	check_error(ipc_call(object(OBJECT_NOTIFICATION, 0), &m), BAD_LABEL);
	check_error(ipc_call(object(OBJECT_REPLY, 0), &m), BAD_LABEL);
	check_error(ipc_call(ROOT_SLOT_VSPACE, &m), BAD_LABEL);
}

TEST(deleted_senders, 1, 0, "endpoint: its end wakes senders and callers with DELETED")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *s = worker_start(sender, 50, 0, endpoint, 1), *c = worker_start(caller, 50, 0, endpoint, 1);
	until(waits(s) && waits(c));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, endpoint));
	until(s->done && c->done);
	check_eq(s->out[0], -SKERRY_DELETED);
	check_eq(c->out[0], -SKERRY_DELETED);
}

TEST(deleted_receivers, 1, 0, "endpoint: its end wakes receivers with DELETED")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *a = receive_start(endpoint, 200, 0, 1), *b = receive_start(endpoint, 200, last_core(), 1);
	until(waits(a) && waits(b));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, endpoint));
	until(a->done && b->done);
	check_eq(a->out[2], -SKERRY_DELETED);
	check_eq(b->out[2], -SKERRY_DELETED);
}

TEST(kept, 1, 0, "endpoint: deleting one of two capabilities ends no wait")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), copy = copy_of(endpoint, RIGHT_ALL);
	struct worker *worker = receive_start(copy, 200, 0, 1);
	until(waits(worker));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, copy));
	sleep_ms(1);
	check(!worker->done);
	struct message m = { 0 };
	check_ok(ipc_send(endpoint, &m));
	until(worker->done);
}

TEST(suspended_sender, 1, 0, "endpoint: a suspended sender leaves the queue")
{
	struct message m;
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *w[3];
	for (unsigned i = 0; i < 3; i++) {
		w[i] = worker_start(sender, 50, 0, endpoint, i + 1);
		until(waits(w[i]));
	}
	check_ok(tcb_suspend(w[1]->tcb));
	check_ok(receive(endpoint, &m));
	check_eq(m.word[0], 1);
	check_ok(receive(endpoint, &m));
	check_eq(m.word[0], 3);
	check_error(receive(endpoint, &m), WOULD_BLOCK);
}

TEST(suspended_receiver, 1, 0, "endpoint: a suspended receiver leaves the queue")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *a = receive_start(endpoint, 200, 0, 1), *b = receive_start(endpoint, 200, 0, 1);
	check_ok(tcb_suspend(a->tcb));
	struct message m = { .info = message_info(0, 0, 1), .word = { 6 } };
	check_ok(ipc_nb_send(endpoint, &m));
	until(b->done);
	check(!a->done);
	check_ok(ipc_nb_send(endpoint, &m));
	check(!a->done);
}

TEST(unanswerable, 1, 0, "endpoint: a caller that nothing can answer stops")
{
	struct message m;
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *c = worker_start(caller, 50, 0, endpoint, 3);
	until(waits(c));
	check_ok(receive(endpoint, &m)); /* without a reply object */
	check_eq(m.word[0], 3);
	sleep_ms(2);
	check(!c->done);
	struct thread_registers registers;
	check_ok(tcb_read_registers(IPC, c->tcb, &registers));
}

TEST(across_cores, 2, NEEDS_PROCESSOR, "endpoint: ten thousand calls from core to core")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct space s = space_make(foreign_reply, 60, 0, endpoint, reply);
	struct space c = space_make(foreign_call, 60, last_core(), endpoint, 0);
	check_ok(tcb_resume(s.tcb));
	check_ok(tcb_resume(c.tcb));
	for (unsigned i = 0; i < 20 && c.data[0] < 10000; i++)
		sleep_ms(50);
	until(c.data[0] > 1000); /* how fast is not the question */
	check_eq(c.data[1], 0);
}

TEST(between_spaces, 1, NEEDS_PROCESSOR, "endpoint: a thousand calls between address spaces on one core")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct space s = space_make(foreign_reply, 60, 0, endpoint, reply);
	struct space c = space_make(foreign_call, 50, 0, endpoint, 0);
	check_ok(tcb_resume(s.tcb));
	check_ok(tcb_resume(c.tcb));
	until(c.data[0] >= 1000);
	check_eq(c.data[1], 0);
}
