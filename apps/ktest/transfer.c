/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

struct parcel parcels[2];

void transfer_sender(struct worker *self)
{
	const struct parcel *p = &parcels[self->arg[0]];
	for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
		self->ipc->caps[i] = p->cap[i];
	self->ipc->receive_cnode = self->arg[1];
	self->ipc->receive_slot = self->arg[2];
	struct message m = { .info = message_info(0x51, p->count, p->words), .word = { 1, 2, 3, 4 } };
	self->count++;
	self->out[0] = (uint64_t)-(int64_t)system_call((enum skerry_syscall)p->call, p->endpoint, 0, &m);
	self->out[1] = m.info;
}

struct worker *transfer_send(unsigned index, uint64_t call, uint64_t endpoint, unsigned core, unsigned count,
                             uint64_t a,
                           uint64_t b, uint64_t c)
{
	parcels[index] = (struct parcel){ call, endpoint, { a, b, c }, count, 2 };
	return worker_start(transfer_sender, 50, core, index, 0);
}

uint64_t transfer_wanted(void)
{
	uint64_t first = slots(MESSAGE_CAPS_MAX);
	IPC->receive_cnode = NODE;
	IPC->receive_slot = first;
	return first;
}

void transfer_nothing_wanted(void) { IPC->receive_cnode = IPC->receive_slot = 0; }

unsigned transfer_receive(uint64_t endpoint, struct worker *w)
{
	struct message m = { 0 };
	until(waits(w));
	check_ok(ipc_nb_receive(endpoint, 0, &m));
	check_eq(message_label(m.info), 0x51);
	check_eq(message_words(m.info), 2);
	check_eq(m.word[1], 2);
	transfer_nothing_wanted();
	return message_caps(m.info);
}

void check_signals(uint64_t cap, uint64_t notification, uint64_t expected)
{
	uint64_t word;
	check_ok(notification_signal(cap));
	check_ok(notification_poll(notification, &word));
	check_eq(word, expected);
}

void transfer_receiver(struct worker *self)
{
	struct message m = { 0 };
	self->ipc->receive_cnode = NODE;
	self->ipc->receive_slot = self->arg[2];
	self->out[0] = (uint64_t)-(int64_t)ipc_receive(self->arg[0], self->arg[1], &m);
	self->out[1] = m.info;
	self->out[2] = m.word[1];
}

struct worker *transfer_receiver_start(uint64_t endpoint, uint64_t reply, uint64_t to, unsigned core)
{
	struct worker *w = worker_make(transfer_receiver, 60, core);
	w->arg[0] = endpoint;
	w->arg[1] = reply;
	w->arg[2] = to;
	check_ok(tcb_resume(w->tcb));
	until(waits(w));
	return w;
}
