/* SPDX-License-Identifier: BSD-2-Clause */
/* Fault handlers that are none, or lack what a fault's message needs. */
#include "ktest.h"

static void undefined(struct worker *self) { program_undefined(); }

TEST(no_endpoint, 1, 0, "fault handler: what is no endpoint, or may not be sent to, is none: the thread stops")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	const uint64_t handler[] = { object(OBJECT_NOTIFICATION, 0), object(OBJECT_REPLY, 0), ROOT_SLOT_CNODE,
	                             ROOT_SLOT_TCB,
		                     copy_of(endpoint, RIGHT_ALL & ~RIGHT_WRITE), slot(), 0 };
	struct worker *w = worker_make(undefined, 50, last_core());
	for (unsigned i = 0; i < sizeof(handler) / sizeof(handler[0]); i++) {
		worker_fault_to(w, handler[i]);
		worker_restart(w, true);
		until(waits(w));
		check_ok(tcb_suspend(w->tcb));
		check(!w->done);
	}
}

static void handle(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	self->out[0] = m.info;
	self->out[1] = m.word[3];
	self->count = 1;
	m = (struct message){ 0 };
	self->out[2] = (uint64_t)-(int64_t)ipc_reply(self->arg[1], &m);
}

/* The message of an exception has five words. Returns what the handler's reply gave. */
static unsigned handled_without_buffer(uint64_t reply)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *handler = worker_make(handle, 60, 0), *faulty = worker_make(undefined, 50, last_core());
	check_ok(tcb_configure(IPC, handler->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	handler->arg[0] = endpoint, handler->arg[1] = reply;
	check_ok(tcb_resume(handler->tcb));
	until(waits(handler));
	worker_fault_to(faulty, endpoint);
	check_ok(tcb_resume(faulty->tcb));
	until(handler->done);
	check_eq(handler->out[0], message_info(FAULT_EXCEPTION, 0, MESSAGE_REGISTERS));
	check_eq(handler->out[1], 6);
	until(waits(faulty)); /* it faults again, or stands still */
	return (unsigned)handler->out[2];
}

TEST(no_buffer, 1, 0, "fault handler: one without IPC buffer receives four words, and can answer")
{
	check_eq(handled_without_buffer(object(OBJECT_REPLY, 0)), 0);
}

TEST(no_buffer_or_reply, 1, 0,
     "fault handler: one without IPC buffer and reply object receives four words, and cannot answer")
{
	check_eq(handled_without_buffer(0), SKERRY_BAD_CAP);
}
