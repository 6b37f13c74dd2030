/* SPDX-License-Identifier: BSD-2-Clause */
/* Notifications bound to threads. */
#include "ktest.h"

static void receiver(struct worker *self)
{
	struct message m = { 0 };
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
	self->out[1] = m.info;
	self->out[2] = m.badge;
	self->out[3] = m.word[0];
}

struct bound {
	uint64_t endpoint, reply, notification;
	struct worker *worker;
};

static struct bound make(unsigned core)
{
	struct bound b = { object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0), object(OBJECT_NOTIFICATION, 0), 0 };
	b.worker = worker_make(receiver, 200, core);
	b.worker->arg[0] = b.endpoint;
	b.worker->arg[1] = b.reply;
	check_ok(tcb_bind(IPC, b.worker->tcb, b.notification));
	return b;
}

static void go(struct bound *b)
{
	check_ok(tcb_resume(b->worker->tcb));
	until(waits(b->worker));
}

static void ends_receive(unsigned core)
{
	struct bound b = make(core);
	go(&b);
	check(!b.worker->done);
	check_ok(notification_signal(badged(b.notification, 0x50, RIGHT_ALL)));
	until(b.worker->done);
	check_eq(b.worker->out[0], 0);
	check_eq(message_label(b.worker->out[1]), RECV_NOTIFICATION);
	check_eq(b.worker->out[2], 0x50);
}

TEST(signal, 1, 0, "bound: a signal ends the thread's receive") { ends_receive(0); }
TEST(remote_signal, 2, 0, "bound: a signal ends a receive on another core") { ends_receive(last_core()); }

TEST(pending, 1, 0, "bound: a pending signal ends the next receive at once")
{
	struct bound b = make(0);
	uint64_t word;
	check_ok(notification_signal(b.notification));
	go(&b);
	check(b.worker->done);
	check_eq(b.worker->out[2], 1);
	check_ok(notification_poll(b.notification, &word));
	check_eq(word, 0);
}

TEST(message_still, 1, 0, "bound: messages still arrive")
{
	struct bound b = make(0);
	go(&b);
	struct message m = { .info = message_info(7, 0, 1), .word = { 99 } };
	check_ok(ipc_send(b.endpoint, &m));
	until(b.worker->done);
	check_eq(b.worker->out[1], message_info(7, 0, 1));
	check_eq(b.worker->out[3], 99);
}

TEST(reply_free, 1, 0, "bound: a receive that a signal ended leaves its reply object free")
{
	struct bound b = make(0);
	go(&b);
	check_ok(notification_signal(b.notification));
	until(b.worker->done);
	struct message m = { 0 };
	check_error(ipc_nb_receive(b.endpoint, b.reply, &m), WOULD_BLOCK);
}

TEST(unbound, 1, 0, "bound: after UNBIND a signal ends nothing")
{
	struct bound b = make(0);
	go(&b);
	check_ok(tcb_unbind(b.worker->tcb));
	check_ok(notification_signal(b.notification));
	sleep_ms(2);
	check(!b.worker->done);
}

TEST(twice, 1, 0, "bound: BUSY for a second binding of either side")
{
	uint64_t tcb = objects(OBJECT_TCB, 0, 2), n = objects(OBJECT_NOTIFICATION, 0, 2);
	check_ok(tcb_bind(IPC, tcb, n));
	check_error(tcb_bind(IPC, tcb, n + 1), BUSY);
	check_error(tcb_bind(IPC, tcb + 1, n), BUSY);
	check_ok(tcb_bind(IPC, tcb + 1, n + 1));
	check_ok(tcb_unbind(tcb));
	check_error(tcb_unbind(tcb), EMPTY_SLOT);
	check_ok(tcb_bind(IPC, tcb, n));
}

TEST(not_notification, 1, 0, "bound: BAD_CAP for what is no notification")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	struct message m = { 0 };
	check_error(tcb_bind(IPC, tcb, object(OBJECT_ENDPOINT, 0)), BAD_CAP);
	check_error(tcb_bind(IPC, tcb, slot()), BAD_CAP);
	check_error(invoke(tcb, TCB_BIND, 0, 0, &m), BAD_CAP);
}

TEST(rights, 1, 0, "bound: NO_RIGHTS for a notification that may not be waited for")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_error(tcb_bind(IPC, tcb, copy_of(object(OBJECT_NOTIFICATION, 0), RIGHT_WRITE)), NO_RIGHTS);
	check_error(tcb_unbind(tcb), EMPTY_SLOT);
}

TEST(notification_deleted, 1, 0, "bound: the notification's end unbinds")
{
	struct bound b = make(0);
	go(&b);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, b.notification));
	check_error(tcb_unbind(b.worker->tcb), EMPTY_SLOT);
	struct message m = { 0 };
	check_ok(ipc_send(b.endpoint, &m));
	until(b.worker->done);
	check_eq(b.worker->out[0], 0);
}

TEST(thread_deleted, 1, 0, "bound: the thread's end unbinds")
{
	struct bound b = make(0);
	go(&b);
	uint64_t word, tcb = object(OBJECT_TCB, 0);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, b.worker->tcb));
	check_ok(notification_signal(b.notification));
	check_ok(notification_poll(b.notification, &word));
	check_eq(word, 1);
	check_ok(tcb_bind(IPC, tcb, b.notification));
}
