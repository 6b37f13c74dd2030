/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls to objects that other cores touch: results and errors are the same, wherever the object is. */
#include "ktest.h"

enum { ROUNDS = 6, LONG = 40, BADGE = 0x77 };

/* Answers each number with the next one, and as many words. */
static void server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		self->out[0] = m.badge;
		self->count++;
		m.word[0]++;
		m.info = message_info(9, 0, message_words(m.info));
		if (message_words(m.info) > MESSAGE_REGISTERS)
			self->ipc->words[LONG - 1] += 2;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

static void calls(struct homes *at)
{
	static const unsigned words[] = { 1, 0, 4, 5, LONG, 2 };
	uint64_t cap = badged(at->endpoint, BADGE, RIGHT_WRITE);
	struct worker *s = worker_start(server, 60, last_core(), at->endpoint, at->reply);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct message m = { .info = message_info(3, 0, words[i]), .word = { 100 + i, 7, 8, 9 } };
		if (i != 2)
			until(waits(s)); /* else it calls a server that does not receive yet */
		homes_step(at);
		IPC->words[LONG - 1] = 40 + i;
		check_ok(ipc_call(cap, &m));
		check_eq(m.info, message_info(9, 0, words[i]));
		if (words[i])
			check_eq(m.word[0], 101 + i);
		if (words[i] == LONG)
			check_eq(IPC->words[LONG - 1], 42 + i);
		check_eq(s->out[0], BADGE);
		check_eq(s->count, i + 1);
	}
}

TEST(call, 1, 0, "visits: Call and ReplyRecv, the server on another core") { at_each_home(calls); }

static void client(struct worker *self)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct message m = { .info = message_info(0, 0, 1), .word = { self->count } };
		check_ok(ipc_call(self->arg[0], &m));
		check_eq(m.word[0], 3 * self->count + 1);
		self->count++;
	}
}

static void is_called(struct homes *at)
{
	struct worker *c = worker_start(client, 50, last_core(), at->endpoint, 0);
	struct message m = { 0 };
	until(waits(c));
	homes_step(at);
	check_ok(ipc_receive(at->endpoint, at->reply, &m));
	for (unsigned i = 0; i < ROUNDS; i++) {
		homes_step(at);
		m.word[0] = 3 * m.word[0] + 1;
		if (i == ROUNDS - 1)
			break;
		if (i % 2) {
			check_ok(ipc_reply(at->reply, &m));
			homes_step(at);
			check_ok(ipc_receive(at->endpoint, at->reply, &m));
		} else {
			check_ok(ipc_reply_receive(at->endpoint, at->reply, &m));
		}
		check_eq(m.info, message_info(0, 0, 1));
	}
	check_ok(ipc_reply(at->reply, &m));
	until(c->done);
	check_error(ipc_reply(at->reply, &m), NO_REPLY);
}

TEST(called, 1, 0, "visits: Recv, Reply and ReplyRecv, the client on another core") { at_each_home(is_called); }

/* Waits again and again. */
static void waiter(struct worker *self)
{
	for (;;) {
		uint64_t word;
		check_ok(notification_wait(self->arg[0], 0, &word));
		self->out[0] = word;
		self->count++;
	}
}

static void signals(struct homes *at)
{
	uint64_t cap = badged(at->notification, 0x30, RIGHT_WRITE), word;
	struct worker *w = worker_start(waiter, 50, last_core(), at->notification, 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i != 3)
			until(waits(w));
		homes_step(at);
		check_ok(notification_signal(i % 2 ? cap : at->notification));
		until(w->count == i + 1);
		check_eq(w->out[0], i % 2 ? 0x30 : 1);
	}
	until(waits(w));
	check_ok(notification_poll(at->notification, &word));
	check_eq(word, 0);
	check_ok(tcb_suspend(w->tcb));
	homes_step(at);
	check_ok(notification_signal(at->notification));
	homes_step(at);
	check_ok(notification_signal(cap));
	homes_step(at);
	check_ok(notification_poll(at->notification, &word));
	check_eq(word, 0x31);
	check_ok(notification_signal(cap));
	homes_step(at);
	check_ok(notification_wait(at->notification, 0, &word));
	check_eq(word, 0x30);
}

TEST(signal, 1, 0, "visits: Signal, Wait and Poll between two cores") { at_each_home(signals); }

static void partner(struct worker *self)
{
	uint64_t word;
	check_ok(notification_wait(self->arg[0], 0, &word));
	for (;;) {
		self->count++;
		check_ok(notification_signal_wait(self->arg[1], self->arg[0], 0, &word));
		self->out[0] = word;
	}
}

static void signal_waits(struct homes *at)
{
	uint64_t word, cap = badged(at->notification, 0x200, RIGHT_WRITE);
	struct worker *p = worker_start(partner, 50, last_core(), at->notification,
	                                badged(at->other, 0x100, RIGHT_WRITE));
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i != 4)
			until(waits(p));
		homes_step(at);
		check_ok(notification_signal_wait(cap, at->other, i % 2 ? deadline_ms(60000) : 0, &word));
		check_eq(word, 0x100);
		check_eq(p->count, i + 1);
		if (i)
			check_eq(p->out[0], 0x200);
	}
	check_ok(tcb_suspend(p->tcb));
	homes_step(at);
	check_error(notification_signal_wait(cap, at->other, read_tsc() + 1000, &word), TIMED_OUT);
	homes_step(at);
	check_ok(notification_poll(at->notification, &word)); /* the signal was made once */
	check_eq(word, 0x200);
	check_error(notification_signal_wait(at->notification, badged(at->other, 1, RIGHT_WRITE), 0, &word), NO_RIGHTS);
	check_error(notification_signal_wait(badged(at->notification, 1, RIGHT_READ), at->other, 0, &word), NO_RIGHTS);
	check_error(notification_signal_wait(at->endpoint, at->other, 0, &word), BAD_CAP);
	check_ok(notification_poll(at->notification, &word));
	check_eq(word, 0);
}

TEST(signal_wait, 1, 0, "visits: SignalWait between two cores signals once, whatever comes of the wait")
{
	at_each_home(signal_waits);
}

/* Waits for a moment, for ever so long, and for a moment that is over. */
static void sleeper(struct worker *self)
{
	uint64_t word;
	self->out[0] = (uint64_t)-notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 5000, &word);
	self->out[1] = (uint64_t)-notification_wait(self->arg[0], 1, &word);
	self->count = 1;
	self->out[2] = (uint64_t)-notification_wait(self->arg[0], deadline_ms(60000), &word);
	self->out[3] = word;
}

static void deadlines(struct homes *at)
{
	uint64_t word;
	struct worker *w = worker_start(sleeper, 50, last_core(), at->notification, 0);
	homes_step(at);
	until(w->count);
	check_eq(w->out[0], SKERRY_TIMED_OUT);
	check_eq(w->out[1], SKERRY_TIMED_OUT);
	until(waits(w));
	homes_step(at);
	check_error(notification_wait(at->other, read_tsc() + ROOT->tsc_hz / 5000, &word), TIMED_OUT);
	check_error(notification_wait(at->other, 1, &word), TIMED_OUT);
	homes_step(at);
	check_ok(notification_signal(at->notification));
	until(w->done);
	check_eq(w->out[2], 0);
	check_eq(w->out[3], 1);
	homes_step(at);
	check_ok(notification_signal(at->notification));
	homes_step(at);
	check_ok(notification_wait(at->notification, 1, &word)); /* signalled: the deadline does not matter */
	check_eq(word, 1);
}

TEST(deadline, 1, 0, "visits: deadlines of waits pass on the waiter's core") { at_each_home(deadlines); }

static void sender(struct worker *self)
{
	for (unsigned i = 0; i < 2; i++) {
		struct message m = { .info = message_info(5, 0, 2), .word = { i, 6 } };
		check_ok(ipc_send(self->arg[0], &m));
		self->count++;
	}
}

static void sends(struct homes *at)
{
	struct message m = { .info = message_info(1, 0, 0) };
	check_ok(ipc_nb_send(at->endpoint, &m)); /* nobody receives */
	check_error(ipc_nb_receive(at->endpoint, at->reply, &m), WOULD_BLOCK);
	struct worker *s = worker_start(sender, 50, last_core(), badged(at->endpoint, 4, RIGHT_WRITE), 0);
	until(waits(s));
	homes_step(at);
	check_ok(ipc_nb_receive(at->endpoint, 0, &m));
	check_eq(m.badge, 4);
	check_eq(m.info, message_info(5, 0, 2));
	check_eq(m.word[0], 0);
	homes_step(at);
	check_ok(ipc_receive(at->endpoint, at->reply, &m));
	check_eq(m.word[0], 1);
	until(s->done);
	homes_step(at);
	check_error(ipc_reply(at->reply, &m), NO_REPLY);
}

TEST(send, 1, 0, "visits: Send, NBSend and NBRecv") { at_each_home(sends); }

static void refuses(struct homes *at)
{
	struct message m = { 0 };
	uint64_t word, reader = copy_of(at->endpoint, RIGHT_READ), writer = copy_of(at->endpoint, RIGHT_WRITE);
	uint64_t waits_only = copy_of(at->notification, RIGHT_READ),
	         signals_only = copy_of(at->notification, RIGHT_WRITE);
	check_error(ipc_call(reader, &m), NO_RIGHTS);
	check_error(ipc_send(reader, &m), NO_RIGHTS);
	check_error(ipc_nb_send(reader, &m), NO_RIGHTS);
	homes_step(at);
	check_error(ipc_receive(writer, at->reply, &m), NO_RIGHTS);
	check_error(ipc_nb_receive(writer, at->reply, &m), NO_RIGHTS);
	check_error(ipc_reply_receive(writer, at->reply, &m), NO_RIGHTS);
	check_error(ipc_receive(at->endpoint, at->notification, &m), BAD_CAP);
	check_error(ipc_reply(at->endpoint, &m), BAD_CAP);
	check_error(ipc_reply(at->reply, &m), NO_REPLY);
	check_error(ipc_reply_receive(at->endpoint, at->reply, &m), NO_REPLY);
	homes_step(at);
	check_error(notification_signal(waits_only), NO_RIGHTS);
	check_error(notification_wait(signals_only, 0, &word), NO_RIGHTS);
	check_error(notification_poll(signals_only, &word), NO_RIGHTS);
	check_error(notification_signal(at->endpoint), BAD_CAP);
	check_error(notification_poll(at->reply, &word), BAD_CAP);
}

TEST(refused, 1, 0, "visits: calls that are refused") { at_each_home(refuses); }

static void receiver(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-ipc_receive(self->arg[0], self->arg[1], &m);
	self->out[1] = m.info;
	self->out[2] = m.badge;
}

static void busy(struct homes *at)
{
	struct worker *r = worker_start(receiver, 50, last_core(), at->endpoint, at->reply);
	struct message m = { 0 };
	until(waits(r));
	homes_step(at);
	check_error(ipc_nb_receive(at->endpoint, at->reply, &m), BUSY);
	check_error(ipc_receive(at->endpoint, at->reply, &m), BUSY);
	homes_step(at);
	check_ok(tcb_suspend(r->tcb));
	homes_step(at);
	check_error(ipc_nb_receive(at->endpoint, at->reply, &m), WOULD_BLOCK);
}

TEST(busy, 1, 0, "visits: BUSY for a reply object with which another core receives") { at_each_home(busy); }

static void bound(struct homes *at)
{
	struct worker *r = worker_make(receiver, 50, last_core());
	uint64_t cap = badged(at->notification, 0x50, RIGHT_WRITE);
	r->arg[0] = at->endpoint, r->arg[1] = at->reply;
	check_ok(tcb_bind(IPC, r->tcb, at->notification));
	for (unsigned i = 0; i < 4; i++) {
		bool pending = i == 3;
		r->done = false;
		worker_restart(r, false);
		if (pending)
			check_ok(notification_signal(cap));
		homes_step(at);
		check_ok(tcb_resume(r->tcb));
		until(pending ? r->done : waits(r));
		homes_step(at);
		struct message m = { .info = message_info(7, 0, 0) };
		if (i == 1)
			check_ok(ipc_send(at->endpoint, &m));
		else if (!pending)
			check_ok(notification_signal(cap));
		until(r->done);
		check_eq(r->out[0], 0);
		check_eq(message_label(r->out[1]), i == 1 ? 7 : RECV_NOTIFICATION);
		check_eq(r->out[2], i == 1 ? 0 : 0x50);
		check_ok(tcb_suspend(r->tcb));
	}
	check_ok(tcb_unbind(r->tcb));
}

TEST(bound, 1, 0, "visits: a signal ends a receive of the thread that is bound, once") { at_each_home(bound); }

static void undefined(struct worker *self) { program_undefined(); }

static void faults(struct homes *at)
{
	struct trial trial = { at->endpoint, at->reply, worker_make(undefined, 50, last_core()) };
	worker_fault_to(trial.worker, badged(at->endpoint, TRIAL_BADGE, RIGHT_WRITE));
	for (unsigned i = 0; i < 3; i++) {
		worker_restart(trial.worker, true);
		homes_step(at);
		struct message fault = trial_fault(&trial);
		check_eq(fault.info, message_info(FAULT_EXCEPTION, 0, MESSAGE_REGISTERS + 1));
		homes_step(at);
		trial_answer(&trial, 1);
		check_ok(tcb_suspend(trial.worker->tcb));
	}
}

TEST(fault, 1, 0, "visits: faults of a thread of another core") { at_each_home(faults); }

static void passes(struct homes *at)
{
	for (unsigned count = 1; count <= MESSAGE_CAPS_MAX; count++) {
		uint64_t cap[3];
		for (unsigned i = 0; i < 3; i++)
			cap[i] = badged(at->notification, 1ull << i, RIGHT_ALL);
		struct worker *w = transfer_send(0, SYS_SEND, at->endpoint, last_core(), count, cap[0], cap[1], cap[2]);
		uint64_t to = transfer_wanted();
		homes_step(at);
		check_eq(transfer_receive(at->endpoint, w), count);
		until(w->done);
		check_eq(w->out[0], 0);
		for (unsigned i = 0; i < count; i++)
			check_signals(to + i, at->notification, 1ull << i);
	}
	transfer_nothing_wanted();
}

TEST(capabilities, 1, 0, "visits: capabilities are passed on") { at_each_home(passes); }
