/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that end in every state, on every core, while others go on. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

static void in_system_calls(struct worker *self)
{
	for (;;) {
		notification_signal(self->arg[0]);
		self->count++;
	}
}

static void wait_for(struct worker *self)
{
	self->count++;
	notification_wait(self->arg[0], 0, 0);
}

static void receives(struct worker *self)
{
	struct message m = { 0 };
	self->count++;
	ipc_receive(self->arg[0], self->arg[1], &m);
}

static void sends(struct worker *self)
{
	struct message m = { 0 };
	self->count++;
	ipc_send(self->arg[0], &m);
}

static void calls(struct worker *self)
{
	struct message m = { 0 };
	self->count++;
	ipc_call(self->arg[0], &m);
}

/* Deletes a thread in that state on every core, and looks that it is over and that the memory can be used again. */
static void end(void (*state)(struct worker *), enum skerry_object type, uint64_t reply)
{
	for (unsigned i = 0; i < 2 * cores(); i++) {
		uint64_t wait_for = object(type, 0);
		struct worker *w = worker_start(state, 50, i % cores(), wait_for, reply);
		until(w->count && (waits(w) || state == spinner || state == in_system_calls));
		check_ok(cnode_delete(NODE, w->tcb));
		uint64_t count = w->count;
		sleep_ms(1);
		check_eq(w->count, count);
	}
}

TEST(running, 1, 0, "thread's end: while it runs") { end(spinner, OBJECT_NOTIFICATION, 0); }
TEST(calling_kernel, 1, 0, "thread's end: while it makes system calls")
{
	end(in_system_calls, OBJECT_NOTIFICATION, 0);
}
TEST(waiting, 1, 0, "thread's end: while it waits for a notification") { end(wait_for, OBJECT_NOTIFICATION, 0); }
TEST(receiving, 1, 0, "thread's end: while it receives") { end(receives, OBJECT_ENDPOINT, 0); }
TEST(receiving_reply, 1, 0, "thread's end: while it receives with a reply object")
{
	uint64_t reply = object(OBJECT_REPLY, 0), endpoint = object(OBJECT_ENDPOINT, 0);
	struct message m = { 0 };
	end(receives, OBJECT_ENDPOINT, reply);
	check_error(ipc_nb_receive(endpoint, reply, &m), WOULD_BLOCK); /* the reply object is free */
}
TEST(sending, 1, 0, "thread's end: while it sends") { end(sends, OBJECT_ENDPOINT, 0); }
TEST(calling, 1, 0, "thread's end: while it calls") { end(calls, OBJECT_ENDPOINT, 0); }

TEST(ready, 1, 0, "thread's end: while it is ready behind others")
{
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = worker_start(spinner, 50, 0, 0, 0);
	check_ok(cnode_delete(NODE, w[2]->tcb));
	check_ok(cnode_delete(NODE, w[0]->tcb));
	until(w[1]->count && w[3]->count);
	check_eq(w[0]->count + w[2]->count, 0);
}

TEST(copy_keeps, 1, 0, "thread's end: not before the last capability")
{
	struct worker *w = worker_start(spinner, 50, 0, 0, 0);
	uint64_t copy = copy_of(w->tcb, RIGHT_ALL);
	check_ok(cnode_delete(NODE, w->tcb));
	until(w->count);
	check_ok(tcb_suspend(copy));
}

static void delete_itself(struct worker *self)
{
	self->count++;
	cnode_delete(NODE, self->tcb);
	self->count++;
}

TEST(itself, 1, 0, "thread's end: by its own hand")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_start(delete_itself, 50, core, 0, 0);
		until(is_empty(w->tcb));
		sleep_ms(1);
		check_eq(w->count, 1);
	}
}

static bool idle_plausible(unsigned core)
{
	uint64_t idle = STAT[core].idle_cycles, started = STAT[core].started;
	return idle <= read_tsc() - started;
}

TEST(idle_time, 2, NEEDS_PROCESSOR, "thread's end: the core's idle time stays plausible")
{
	for (unsigned i = 0; i < 3; i++) {
		struct worker *w = worker_start(delete_itself, 50, last_core(), 0, 0);
		until(is_empty(w->tcb));
		w = worker_start(spinner, 50, last_core(), 0, 0); /* ends the idle time */
		until(w->count);
		check_ok(cnode_delete(NODE, w->tcb));
		sleep_ms(1);
		w = worker_start(delete_itself, 50, last_core(), 0, 0);
		until(w->count);
		check(idle_plausible(last_core()));
	}
}

static void space_ends(unsigned core)
{
	struct space s = space_make(foreign_count, 50, core, 0, 0);
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	check_ok(tcb_configure(IPC, s.tcb, NODE, s.vspace, 0, 0, endpoint));
	check_ok(tcb_resume(s.tcb));
	until(s.data[0]);
	check_ok(cnode_revoke(NODE, s.vspace));
	check_ok(cnode_delete(NODE, s.vspace));
	uint64_t count = s.data[0];
	struct message m = { 0 };
	struct timeout timeout = timeout_begin();
	int error;
	while ((error = ipc_nb_receive(endpoint, reply, &m)) && !timeout_over(&timeout))
		pause_main();
	check_ok(error);
	check_eq(message_label(m.info), FAULT_PAGE); /* the first instruction without an address space */
	check_eq(s.data[0], count);
}

TEST(space, 1, NEEDS_PROCESSOR, "thread's end: it faults when its address space ends") { space_ends(0); }
TEST(space_remote, 2, NEEDS_PROCESSOR,
     "thread's end: it faults when its address space ends while it runs on another core")
{
	space_ends(last_core());
}

/* Where it was mapped for the thread, MAPPED says that it still is. */
TEST(buffer, 1, 0, "thread's end: the frame of its IPC buffer stays mapped, and when it gets another")
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t frame = map_page(i, RIGHT_READ | RIGHT_WRITE), address = WINDOW + i * 4096,
		         tcb = object(OBJECT_TCB, 0);
		check_ok(tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, frame, address, 0));
		check_ok(i ? tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, 0, 0, 0) : cnode_delete(NODE, tcb));
		check_error(frame_map(IPC, object(OBJECT_FRAME_4K, 0), ROOT_SLOT_VSPACE, address, RIGHT_READ, 0),
		            MAPPED);
	}
}

TEST(cspace, 1, 0, "thread's end: it has no capabilities after its CSpace ended")
{
	uint64_t node = object(OBJECT_CNODE, 3), notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = worker_make(in_system_calls, 50, last_core());
	check_ok(cnode_copy(IPC, node, 5, NODE, notification, RIGHT_ALL));
	check_ok(tcb_configure(IPC, w->tcb, node, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
	w->arg[0] = 5;
	check_ok(tcb_resume(w->tcb));
	until(w->count);
	check_ok(cnode_revoke(NODE, node));
	check_ok(cnode_delete(NODE, node));
	uint64_t word, count = w->count;
	check_ok(notification_poll(notification, &word));
	until(w->count > count);
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0);
	check_ok(tcb_suspend(w->tcb));
}

TEST(all_at_once, 1, 0, "thread's end: revoke of the memory under twenty threads on all cores")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t memory = object(OBJECT_UNTYPED, 16), tcb = slots(20);
		check_ok(untyped_retype(IPC, memory, OBJECT_TCB, 0, NODE, tcb, 20));
		struct worker *stand_in = worker_make(in_system_calls, 50, 0);
		stand_in->arg[0] = notification;
		struct thread_registers r;
		check_ok(tcb_read_registers(IPC, stand_in->tcb, &r));
		for (unsigned i = 0; i < 20; i++) {
			static uint8_t stack[20][1024] __attribute__((aligned(16)));
			r.rsp = (uint64_t)stack[i + 1];
			check_ok(tcb_configure(IPC, tcb + i, NODE, ROOT_SLOT_VSPACE, 0, 0, 0));
			check_ok(tcb_schedule(IPC, tcb + i, ROOT_SLOT_TCB, 50 + i % 3, i % cores()));
			check_ok(tcb_write_registers(IPC, tcb + i, 1, &r));
		}
		until(stand_in->count > 0);
		sleep_ms(5);
		check_ok(cnode_revoke(NODE, memory));
		uint64_t count = stand_in->count;
		sleep_ms(2);
		check_eq(stand_in->count, count);
	}
}
