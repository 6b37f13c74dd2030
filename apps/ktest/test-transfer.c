/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities that travel in messages, and those that do not. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

TEST(each_count, 1, 0, "transfer: one, two and three capabilities arrive in the slots that were named, in order")
{
	for (unsigned count = 1; count <= MESSAGE_CAPS_MAX; count++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0), cap[3];
		for (unsigned i = 0; i < 3; i++)
			cap[i] = badged(notification, 1ull << i, RIGHT_ALL);
		struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, count, cap[0], cap[1], cap[2]);
		uint64_t to = transfer_wanted();
		check_eq(transfer_receive(endpoint, w), count);
		until(w->done);
		check_eq(w->out[0], 0);
		for (unsigned i = 0; i < 3; i++) {
			check(!is_empty(cap[i]));
			check_eq(is_empty(to + i), i >= count);
			if (i < count)
				check_signals(to + i, notification, 1ull << i);
		}
	}
}

static void to_waiting(uint64_t call, unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0), to = slots(3);
	uint64_t reply = object(OBJECT_REPLY, 0);
	struct worker *r = transfer_receiver_start(endpoint, reply, to, core);
	struct worker *s = transfer_send(0, call, endpoint, 0, 2, badged(notification, 4, RIGHT_ALL),
	                                 badged(notification, 8, RIGHT_ALL), 0);
	until(r->done);
	check_eq(r->out[0], 0);
	check_eq(r->out[1], message_info(0x51, 2, 2));
	check_eq(r->out[2], 2);
	check_signals(to, notification, 4);
	check_signals(to + 1, notification, 8);
	check(is_empty(to + 2));
	if (call == SYS_CALL) {
		struct message m = { 0 };
		check_ok(ipc_reply(reply, &m));
	}
	until(s->done);
	check_eq(s->out[0], 0);
}

TEST(send, 1, 0, "transfer: by Send to a receiver that waits") { to_waiting(SYS_SEND, 0); }
TEST(nb_send, 1, 0, "transfer: by NBSend to a receiver that waits") { to_waiting(SYS_NB_SEND, 0); }
TEST(call, 1, 0, "transfer: by Call to a receiver that waits") { to_waiting(SYS_CALL, 0); }
TEST(remote, 2, 0, "transfer: by each of them to a receiver on another core")
{
	to_waiting(SYS_SEND, last_core());
	to_waiting(SYS_NB_SEND, last_core());
	to_waiting(SYS_CALL, last_core());
}

TEST(queued, 1, 0, "transfer: by Send and Call that wait for a receiver")
{
	for (unsigned core = 0; core < cores(); core++) {
		for (unsigned i = 0; i < 2; i++) {
			uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
			struct worker *w = transfer_send(0, i ? SYS_CALL : SYS_SEND, endpoint, core, 1,
			                                 badged(notification, 4, RIGHT_ALL), 0, 0);
			uint64_t to = transfer_wanted();
			check_eq(transfer_receive(endpoint, w), 1);
			check_signals(to, notification, 4);
		}
	}
}

/* Receives a Call and answers with capability arg[2] by the system call arg[3]. */
static void server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	self->ipc->caps[0] = self->arg[2];
	m.info = message_info(0x77, 1, 1);
	m.word[0] = 42;
	self->out[0] = (uint64_t)-(int64_t)system_call((enum skerry_syscall)self->arg[3], self->arg[0], self->arg[1],
	                                               &m);
}

/* The caller's count of capabilities when the server received through `through`. */
static unsigned answered(uint64_t call, uint64_t through, uint64_t endpoint, uint64_t cap, uint64_t to, unsigned core)
{
	struct worker *s = worker_make(server, 60, core);
	s->arg[0] = through;
	s->arg[1] = object(OBJECT_REPLY, 0);
	s->arg[2] = cap;
	s->arg[3] = call;
	check_ok(tcb_resume(s->tcb));
	until(waits(s));
	parcels[1] = (struct parcel){ SYS_CALL, endpoint, { 0 }, 0, 0 };
	struct worker *c = worker_make(transfer_sender, 50, 0);
	c->arg[0] = 1;
	c->arg[1] = NODE;
	c->arg[2] = to;
	check_ok(tcb_resume(c->tcb));
	until(c->done);
	check_ok(tcb_suspend(s->tcb)); /* it may receive again */
	check_eq(c->out[0], 0);
	check_eq(message_label(c->out[1]), 0x77);
	check_eq(message_words(c->out[1]), 1);
	return message_caps(c->out[1]);
}

static void by_answer(uint64_t call, unsigned core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0), to = slots(6);
	uint64_t cap = badged(notification, 0x10, RIGHT_ALL);
	check_eq(answered(call, endpoint, copy_of(endpoint, RIGHT_WRITE), cap, to, core), 1);
	check_signals(to, notification, 0x10);
	check_eq(answered(call, copy_of(endpoint, RIGHT_READ), copy_of(endpoint, RIGHT_ALL), cap, to + 3, core), 0);
	check(is_empty(to + 3));
}

TEST(reply, 1, 0, "transfer: by Reply, where the endpoint was received through with GRANT") { by_answer(SYS_REPLY, 0); }
TEST(reply_receive, 1, 0, "transfer: by ReplyRecv, where the endpoint was received through with GRANT")
{
	by_answer(SYS_REPLY_RECV, 0);
}
TEST(remote_reply, 2, 0, "transfer: by Reply and ReplyRecv from another core")
{
	by_answer(SYS_REPLY, last_core());
	by_answer(SYS_REPLY_RECV, last_core());
}

TEST(queued_reply, 1, 0, "transfer: an answer to a Call that had waited goes by the right it was received with")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t reply = object(OBJECT_REPLY, 0), to = slots(6),
	         through[] = { endpoint, copy_of(endpoint, RIGHT_READ) };
	for (unsigned i = 0; i < 2; i++) {
		parcels[1] = (struct parcel){ SYS_CALL, endpoint, { 0 }, 0, 0 };
		struct worker *c = worker_make(transfer_sender, 50, last_core());
		c->arg[0] = 1;
		c->arg[1] = NODE;
		c->arg[2] = to + 3 * i;
		check_ok(tcb_resume(c->tcb));
		until(waits(c));
		struct message m = { 0 };
		check_ok(ipc_nb_receive(through[i], reply, &m));
		IPC->caps[0] = notification;
		m = (struct message){ .info = message_info(0, 1, 0) };
		check_ok(ipc_reply(reply, &m));
		until(c->done);
		check_eq(message_caps(c->out[1]), !i);
		check_eq(is_empty(to + 3 * i), i);
	}
}

TEST(announced, 1, 0, "transfer: only as many as the message info says")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 0, notification, notification, notification);
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 0);
	check(is_empty(to));
}

TEST(revoked, 1, 0, "transfer: what was received derives from the sender's copy and goes with it")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t sent = copy_of(notification, RIGHT_ALL), sibling = copy_of(notification, RIGHT_ALL);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 1, sent, 0, 0);
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 1);
	uint64_t child = copy_of(to, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, sibling));
	check(!is_empty(to) && !is_empty(child));
	check_ok(cnode_revoke(NODE, to));
	check(is_empty(child) && !is_empty(to));
	check_ok(cnode_revoke(NODE, sent));
	check(is_empty(to) && !is_empty(sent) && !is_empty(sibling));
}

TEST(rights, 1, 0, "transfer: rights and badge arrive as they were")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0), word;
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 2, badged(notification, 0x99, RIGHT_WRITE),
	                                 copy_of(notification, RIGHT_READ), 0);
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 2);
	check_signals(to, notification, 0x99);
	check_error(notification_poll(to, &word), NO_RIGHTS);
	check_ok(notification_poll(to + 1, &word));
	check_error(notification_signal(to + 1), NO_RIGHTS);
}

TEST(frame, 1, 0, "transfer: a mapped frame arrives as a copy that is not mapped")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), frame = map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 1, frame, 0, 0);
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 1);
	check_error(frame_unmap(to), NOT_MAPPED);
	check_ok(frame_map(IPC, to, ROOT_SLOT_VSPACE, WINDOW + 4096, RIGHT_READ, 0));
	*(volatile uint64_t *)place(WINDOW) = 4242;
	check_eq(*(volatile uint64_t *)place(WINDOW + 4096), 4242);
	check_ok(cnode_delete(NODE, to));
	check_eq(*(volatile uint64_t *)place(WINDOW), 4242);
}

TEST(every_kind, 1, 0, "transfer: every kind that can be copied travels")
{
	static const struct { enum skerry_object type; unsigned bits; } kind[] = {
		{ OBJECT_TCB, 0 }, { OBJECT_ENDPOINT, 0 }, { OBJECT_NOTIFICATION, 0 }, { OBJECT_REPLY, 0 },
		{ OBJECT_CNODE, 4 },
		{ OBJECT_VSPACE, 0 }, { OBJECT_FRAME_4K, 0 }, { OBJECT_FRAME_2M, 0 },
	};
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		uint64_t cap = object(kind[i].type, kind[i].bits);
		struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 1, cap, 0, 0);
		uint64_t to = transfer_wanted();
		check_eq(transfer_receive(endpoint, w), 1);
		check_ok(cnode_revoke(NODE, cap));
		check(is_empty(to));
	}
}

TEST(itself, 1, 0, "transfer: the endpoint itself, and the CNode that receives it")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), node = object(OBJECT_CNODE, 3);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 3, endpoint, node, endpoint);
	transfer_wanted();
	IPC->receive_cnode = node;
	IPC->receive_slot = 1;
	check_eq(transfer_receive(endpoint, w), 3);
	check_ok(cnode_revoke(NODE, endpoint));
	check_ok(cnode_revoke(NODE, node));
}

/* --- refused --- */

TEST(no_grant, 1, 0, "transfer: nothing travels through an endpoint capability without GRANT")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t weak = copy_of(endpoint, RIGHT_ALL & ~RIGHT_GRANT), to = slots(3);
	for (unsigned i = 0; i < 2; i++) { /* whoever comes first */
		uint64_t call = i ? SYS_CALL : SYS_SEND;
		struct worker *r = transfer_receiver_start(endpoint, object(OBJECT_REPLY, 0), to, last_core());
		transfer_send(0, call, weak, 0, 3, notification, notification, notification);
		until(r->done);
		check_eq(r->out[1], message_info(0x51, 0, 2));
		struct worker *w = transfer_send(0, call, weak, 0, 3, notification, notification, notification);
		uint64_t mine = transfer_wanted();
		check_eq(transfer_receive(endpoint, w), 0);
		check(is_empty(to) && is_empty(mine) && is_empty(mine + 1));
	}
}

TEST(receiver_grant, 1, 0, "transfer: GRANT of the receiver's capability is not asked for")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = transfer_send(0, SYS_SEND, copy_of(endpoint, RIGHT_WRITE | RIGHT_GRANT), 0, 1, notification,
	                                 0, 0);
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(copy_of(endpoint, RIGHT_READ), w), 1);
	check(!is_empty(to));
}

TEST(not_wanted, 1, 0, "transfer: a receiver that names no CNode gets the message without capabilities")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t bad[] = { 0, notification, slot(), ~0ull };
	for (unsigned i = 0; i < 4; i++) {
		struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 2, notification, notification, 0);
		uint64_t to = transfer_wanted();
		IPC->receive_cnode = bad[i];
		check_eq(transfer_receive(endpoint, w), 0);
		until(w->done);
		check_eq(w->out[0], 0);
		check(is_empty(to));
	}
}

TEST(bad_slot, 1, 0, "transfer: slots outside the CNode, and slot 0, receive nothing")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	static const uint64_t bad[] = { 0, 1ull << ROOT_CNODE_BITS, 1ull << 58, ~0ull, ~0ull - 1 };
	for (unsigned i = 0; i < 5; i++) {
		struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 3, notification, notification, notification);
		transfer_wanted();
		IPC->receive_slot = bad[i];
		check_eq(transfer_receive(endpoint, w), 0);
	}
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 3, notification, notification, notification);
	transfer_wanted();
	IPC->receive_slot = (1ull << ROOT_CNODE_BITS) - 1; /* room for one */
	check_eq(transfer_receive(endpoint, w), 1);
	check_ok(cnode_delete(NODE, (1ull << ROOT_CNODE_BITS) - 1));
}

TEST(no_write, 1, 0, "transfer: into a CNode without WRITE nothing is received")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0),
	         node = object(OBJECT_CNODE, 4);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 1, notification, 0, 0);
	transfer_wanted();
	IPC->receive_cnode = copy_of(node, RIGHT_ALL & ~RIGHT_WRITE);
	IPC->receive_slot = 1;
	check_eq(transfer_receive(endpoint, w), 0);
	w = transfer_send(0, SYS_SEND, endpoint, 0, 1, notification, 0, 0);
	IPC->receive_cnode = copy_of(node, RIGHT_WRITE);
	IPC->receive_slot = 1;
	check_eq(transfer_receive(endpoint, w), 1);
	check_ok(cnode_move(IPC, NODE, slot(), node, 1));
}

TEST(occupied, 1, 0, "transfer: an occupied slot ends it, and what came before stays")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned full = 0; full < 3; full++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 3, notification, notification, notification);
		uint64_t to = transfer_wanted();
		check_ok(cnode_copy(IPC, NODE, to + full, NODE, endpoint, RIGHT_ALL));
		check_eq(transfer_receive(endpoint, w), full);
		for (unsigned i = 0; i < 3; i++)
			check_eq(is_empty(to + i), i > full);
		struct message m = { 0 };
		check_ok(ipc_nb_send(to + full, &m)); /* it is still the endpoint */
	}
}

TEST(no_copy, 1, 0, "transfer: what cannot be copied, or is not there, ends it")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t bad[] = { object(OBJECT_UNTYPED, 12), object(OBJECT_PAGE_TABLE, 0), slot(), 0, ~0ull };
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (unsigned place = 0; place < 3; place++) {
			uint64_t endpoint = object(OBJECT_ENDPOINT, 0),
			         cap[] = { notification, notification, notification };
			cap[place] = bad[i];
			struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 3, cap[0], cap[1], cap[2]);
			uint64_t to = transfer_wanted();
			check_eq(transfer_receive(endpoint, w), place);
			for (unsigned j = 0; j < 3; j++)
				check_eq(is_empty(to + j), j >= place);
		}
		workers_drop();
	}
	check(!is_empty(bad[0]) && !is_empty(bad[1]));
}

TEST(no_copy_irq, 1, NEEDS_DEVICES, "transfer: an interrupt handler stays where it is")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), irq = slot(), address;
	uint32_t data;
	check_ok(irq_get_msi(IPC, ROOT_SLOT_IRQ_CONTROL, NODE, irq, 0, &address, &data));
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 1, irq, 0, 0);
	transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 0);
	check(!is_empty(irq));
}

TEST(no_buffer, 1, 0, "transfer: nothing without an IPC buffer on either side")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	parcels[0] = (struct parcel){ SYS_SEND, endpoint, { notification }, 1, 2 };
	struct worker *w = worker_make(transfer_sender, 50, 0);
	check_ok(tcb_configure(IPC, w->tcb, NODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_resume(w->tcb));
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 0);
	check(is_empty(to));
	struct worker *r = worker_make(transfer_receiver, 60, 0);
	check_ok(tcb_configure(IPC, r->tcb, NODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	r->arg[0] = endpoint;
	r->arg[2] = to;
	check_ok(tcb_resume(r->tcb));
	until(waits(r));
	transfer_send(0, SYS_SEND, endpoint, 0, 1, notification, 0, 0);
	until(r->done);
	check_eq(r->out[1], message_info(0x51, 0, 2));
	check(is_empty(to));
}

TEST(fault, 1, 0, "transfer: a fault's message carries nothing of the faulting thread's buffer")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	parcels[0] = (struct parcel){ 99, 0, { notification, notification, notification }, 3, 2 };
	struct worker *w = worker_make(transfer_sender, 50, 0);
	worker_fault_to(w, endpoint);
	check_ok(tcb_resume(w->tcb));
	until(waits(w));
	uint64_t to = transfer_wanted();
	struct message m = { 0 };
	check_ok(ipc_nb_receive(endpoint, 0, &m));
	transfer_nothing_wanted();
	check_eq(m.info, message_info(FAULT_SYSCALL, 0, 3));
	check(is_empty(to));
}

TEST(sender_gone, 1, 0, "transfer: of a sender that waits, what it had when it is received")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), notification = object(OBJECT_NOTIFICATION, 0);
	uint64_t cap = copy_of(notification, RIGHT_ALL);
	struct worker *w = transfer_send(0, SYS_SEND, endpoint, 0, 2, notification, cap, 0);
	until(waits(w));
	check_ok(cnode_delete(NODE, cap));
	uint64_t to = transfer_wanted();
	check_eq(transfer_receive(endpoint, w), 1);
	check(!is_empty(to) && is_empty(to + 1));
}
