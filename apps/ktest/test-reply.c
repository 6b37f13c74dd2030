/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

static void caller(struct worker *self)
{
	struct message m = { .info = message_info(1, 0, 1), .word = { self->arg[1] } };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_call(self->arg[0], &m);
	self->out[1] = m.word[0];
}

/* Its second call goes to arg[2]. */
static void call_twice(struct worker *self)
{
	struct message m = { .info = message_info(1, 0, 1) };
	check_ok(ipc_call(self->arg[0], &m));
	self->count = 2;
	m.info = message_info(1, 0, 1);
	ipc_call(self->arg[2], &m);
}

static struct worker *call(uint64_t endpoint, uint64_t word)
{
	struct worker *worker = worker_start(caller, 50, 0, endpoint, word);
	until(waits(worker));
	return worker;
}

static int take(uint64_t endpoint, uint64_t reply)
{
	struct message m = { 0 };
	return ipc_nb_receive(endpoint, reply, &m);
}

static int answer(uint64_t reply, uint64_t word)
{
	struct message m = { .info = message_info(0, 0, 1), .word = { word } };
	return ipc_reply(reply, &m);
}

TEST(no_caller, 1, 0, "reply: NO_REPLY when it holds no caller")
{
	check_error(answer(object(OBJECT_REPLY, 0), 1), NO_REPLY);
}

TEST(not_reply, 1, 0, "reply: BAD_CAP for what is no reply object")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct message m = { 0 };
	check_error(answer(endpoint, 1), BAD_CAP);
	check_error(answer(slot(), 1), BAD_CAP);
	check_error(answer(0, 1), BAD_CAP);
	check_error(ipc_receive(endpoint, endpoint, &m), BAD_CAP);
	check_error(ipc_nb_receive(endpoint, slot(), &m), BAD_CAP);
	check_error(ipc_reply_receive(endpoint, 0, &m), BAD_CAP);
}

TEST(once, 1, 0, "reply: answers once")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_ok(answer(reply, 8));
	check_error(answer(reply, 9), NO_REPLY);
	until(c->done);
	check_eq(c->out[1], 8);
}

TEST(busy_caller, 1, 0, "reply: BUSY for a receive while it holds a caller")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_error(take(endpoint, reply), BUSY);
	check_ok(answer(reply, 1));
	check_error(take(endpoint, reply), WOULD_BLOCK);
}

static void receiver(struct worker *self)
{
	struct message m = { 0 };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
	self->out[1] = m.word[0];
}

TEST(busy_receiver, 1, 0, "reply: BUSY for a receive while another thread receives with it")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *r = worker_start(receiver, 200, 0, endpoint, reply);
	check_error(take(endpoint, reply), BUSY);
	check_error(answer(reply, 1), NO_REPLY);
	check_ok(tcb_suspend(r->tcb));
	check_error(take(endpoint, reply), WOULD_BLOCK);
}

TEST(after_send, 1, 0, "reply: a message that is no Call leaves it free")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *r = worker_start(receiver, 200, 0, endpoint, reply);
	struct message m = { .info = message_info(0, 0, 1), .word = { 4 } };
	check_ok(ipc_send(endpoint, &m));
	until(r->done);
	check_eq(r->out[1], 4);
	check_error(answer(reply, 1), NO_REPLY);
	check_error(take(endpoint, reply), WOULD_BLOCK);
}

TEST(two_callers, 1, 0, "reply: two reply objects hold two callers, answered in either order")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = objects(OBJECT_REPLY, 0, 2);
	struct worker *a = call(endpoint, 1), *b = call(endpoint, 2);
	check_ok(take(endpoint, reply));
	check_ok(take(endpoint, reply + 1));
	check_ok(answer(reply + 1, 22));
	until(b->done);
	check(!a->done);
	check_ok(answer(reply, 11));
	until(a->done);
	check_eq(a->out[1], 11);
	check_eq(b->out[1], 22);
}

TEST(deleted, 1, 0, "reply: its end wakes the caller with DELETED")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, reply));
	until(c->done);
	check_eq(c->out[0], -SKERRY_DELETED);
}

TEST(deleted_waiting, 1, 0, "reply: its end while a thread receives with it takes only the reply away")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *r = worker_start(receiver, 200, 0, endpoint, reply);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, reply));
	struct message m = { .info = message_info(0, 0, 1), .word = { 4 } };
	check_ok(ipc_send(endpoint, &m));
	until(r->done);
	check_eq(r->out[1], 4);
}

TEST(caller_suspended, 1, 0, "reply: a suspended caller is answered no more")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_ok(tcb_suspend(c->tcb));
	check_error(answer(reply, 1), NO_REPLY);
	check_error(take(endpoint, reply), WOULD_BLOCK);
}

TEST(caller_deleted, 1, 0, "reply: a deleted caller is answered no more")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, c->tcb));
	check_error(answer(reply, 1), NO_REPLY);
}

TEST(reply_receive, 1, 0, "reply: REPLY_RECV answers and receives the next")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *a = call(endpoint, 1), *b = call(endpoint, 2);
	struct message m = { 0 };
	check_ok(ipc_nb_receive(endpoint, reply, &m));
	m.word[0] = 100;
	check_ok(ipc_reply_receive(endpoint, reply, &m));
	check_eq(m.word[0], 2);
	check_ok(answer(reply, 200));
	until(a->done && b->done);
	check_eq(a->out[1], 100);
	check_eq(b->out[1], 200);
}

TEST(reply_receive_refused, 1, 0, "reply: a REPLY_RECV that is refused has answered nobody")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *c = call(endpoint, 1);
	struct message m = { .info = message_info(0, 0, 1) };
	check_ok(take(endpoint, reply));
	check_error(ipc_reply_receive(slot(), reply, &m), BAD_CAP);
	check_error(ipc_reply_receive(copy_of(endpoint, RIGHT_WRITE), reply, &m), NO_RIGHTS);
	sleep_ms(2);
	check(!c->done);
	check_ok(answer(reply, 5));
	until(c->done);
	check_eq(c->out[1], 5);
}

TEST(passed_on, 1, 0, "reply: a copy of the reply object answers, too")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0),
	         copy = copy_of(reply, RIGHT_ALL);
	struct worker *c = call(endpoint, 1);
	check_ok(take(endpoint, reply));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, reply));
	check_ok(answer(copy, 3));
	until(c->done);
	check_eq(c->out[1], 3);
}

/* A thread that was answered through a reply object sends and is suspended: the object holds another caller by then. */
TEST(next_caller, 1, 0, "reply: the suspension of a thread that was answered takes nothing from the next caller")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), other = object(OBJECT_ENDPOINT, 0),
	         reply = object(OBJECT_REPLY, 0);
	struct worker *first = worker_start(call_twice, 50, 0, endpoint, 1);
	first->arg[2] = other;
	until(waits(first));
	check_ok(take(endpoint, reply));
	check_ok(answer(reply, 7));
	until(first->count == 2 && waits(first));
	struct worker *next = call(endpoint, 2);
	check_ok(take(endpoint, reply));
	check_ok(tcb_suspend(first->tcb));
	check_ok(answer(reply, 8));
	until(next->done);
	check_eq(next->out[1], 8);
}
