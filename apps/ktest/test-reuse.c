/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory whose objects were in use when they went: nothing of them may be left. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

static uint64_t make(uint64_t memory, enum skerry_object type)
{
	uint64_t cap = slot();
	check_ok(untyped_retype(IPC, memory, type, 0, NODE, cap, 1));
	return cap;
}

/* Revokes `memory`, and looks for a while that nobody writes to what is made of it next. */
static void check_untouched(uint64_t memory)
{
	check_ok(cnode_revoke(NODE, memory));
	uint64_t frame = make(memory, OBJECT_FRAME_4K);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < 512; i++)
			check_eq(((volatile uint64_t *)WINDOW)[i], 0);
		sleep_ms(2);
	}
}

static void wait_for(struct worker *self)
{
	self->count++;
	self->out[0] = (uint64_t)(int64_t)notification_wait(self->arg[0], self->arg[1], 0);
}

static void receives(struct worker *self)
{
	struct message m = { 0 };
	self->count++;
	self->out[0] = (uint64_t)(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
}

/* Threads on all cores wait for the object, whose memory is used for something else then. */
static void reused_under_waiters(void (*run)(struct worker *), enum skerry_object type, uint64_t argument)
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), object_of = make(memory, type);
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = worker_start(run, 50, i % cores(), object_of, argument);
	for (unsigned i = 0; i < 4; i++)
		until(waits(w[i]));
	check_untouched(memory);
	for (unsigned i = 0; i < 4; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], -SKERRY_DELETED);
	}
}

TEST(notification, 1, 0, "reuse: a notification that threads wait for with deadlines")
{
	reused_under_waiters(wait_for, OBJECT_NOTIFICATION, deadline_ms(60000));
}

TEST(endpoint, 1, 0, "reuse: an endpoint that threads wait for") { reused_under_waiters(receives, OBJECT_ENDPOINT, 0); }

TEST(reply, 1, 0, "reuse: a reply object that a thread receives with")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *w = worker_start(receives, 50, last_core(), endpoint, make(memory, OBJECT_REPLY));
	until(waits(w));
	check_untouched(memory);
	struct message m = { 0 };
	check_ok(ipc_send(endpoint, &m));
	until(w->done);
	check_eq(w->out[0], 0);
}

TEST(bound, 1, 0, "reuse: a notification that is bound to a receiving thread")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *w = worker_make(receives, 50, last_core());
	w->arg[0] = endpoint;
	check_ok(tcb_bind(IPC, w->tcb, make(memory, OBJECT_NOTIFICATION)));
	check_ok(tcb_resume(w->tcb));
	until(w->count);
	check_untouched(memory);
	struct message m = { 0 };
	check_ok(ipc_send(endpoint, &m));
	until(w->done);
}

static void spins(struct worker *self)
{
	for (;;)
		self->count++;
}

/* The processor's own state of the thread is saved to its TCB late, when it is switched away. */
TEST(thread, 1, 0, "reuse: a TCB whose thread runs, on every core")
{
	for (unsigned i = 0; i < 3 * cores(); i++) {
		uint64_t memory = object(OBJECT_UNTYPED, 12), tcb = make(memory, OBJECT_TCB);
		struct worker *w = worker_make(spins, 50, 0);
		struct thread_registers r;
		check_ok(tcb_read_registers(IPC, w->tcb, &r));
		check_ok(tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
		check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 50, i % cores()));
		check_ok(tcb_write_registers(IPC, tcb, 1, &r));
		until(w->count);
		check_untouched(memory);
		check_ok(cnode_revoke(NODE, memory));
	}
}

static void sends_long(struct worker *self)
{
	struct message m = { .info = message_info(0, 0, MESSAGE_WORDS_MAX) };
	for (;;)
		ipc_call(self->arg[0], &m);
}

TEST(buffer, 1, 0, "reuse: the frame of an IPC buffer whose thread receives long messages")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), endpoint = object(OBJECT_ENDPOINT, 0),
	         frame = make(memory, OBJECT_FRAME_4K);
	struct worker *r = worker_make(receives, 60, 0), *s = worker_make(sends_long, 50, last_core());
	check_ok(tcb_configure(IPC, r->tcb, NODE, ROOT_SLOT_VSPACE, frame, WINDOW + 0x10000, 0));
	r->arg[0] = s->arg[0] = endpoint;
	for (unsigned i = 0; i < MESSAGE_WORDS_MAX; i++)
		s->ipc->words[i] = ~0ull;
	check_ok(tcb_resume(r->tcb));
	until(r->count);
	check_ok(cnode_revoke(NODE, memory));
	frame = make(memory, OBJECT_FRAME_4K);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
	check_ok(tcb_resume(s->tcb));
	until(r->done);
	for (unsigned i = 0; i < 512; i++)
		check_eq(((volatile uint64_t *)WINDOW)[i], 0);
}

TEST(space, 2, 0, "reuse: an address space that another core has loaded")
{
	for (unsigned i = 0; i < 5; i++) {
		struct space s = space_make(foreign_count, 50, last_core(), 0, 0);
		check_ok(tcb_resume(s.tcb));
		until(s.data[0] > 10);
		check_ok(cnode_revoke(NODE, s.vspace));
		check_ok(cnode_delete(NODE, s.vspace));
		uint64_t last = s.data[0];
		for (unsigned j = 0; j < 20000; j++)
			check_eq(s.data[0], last);
		check_ok(cnode_delete(NODE, s.tcb));
	}
}
