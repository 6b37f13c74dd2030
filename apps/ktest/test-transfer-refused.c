/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities that do not travel in messages. */
#include "ktest.h"
#include "transfer.h"

#define NODE ROOT_SLOT_CNODE

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
