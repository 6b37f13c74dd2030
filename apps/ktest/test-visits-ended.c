/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that travel to other cores, while their threads, what they go to and its locality end or change. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

enum { CLIENTS = 4, CHANGES = 60, AT_EACH = 10, STORMS = 40, ENDED = 5 };

static void waits_for(struct worker *self)
{
	self->out[0] = (uint64_t)-notification_wait(self->arg[0], 0, 0);
}

static void sends(struct worker *self)
{
	struct message m = { .info = message_info(1, 0, 1), .word = { 5 } };
	self->out[0] = (uint64_t)-ipc_send(self->arg[0], &m);
}

static void calls(struct worker *self)
{
	struct message m = { .info = message_info(1, 0, 1), .word = { 5 } };
	self->out[0] = (uint64_t)-ipc_call(self->arg[0], &m);
}

static void receives(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-ipc_receive(self->arg[0], self->arg[1], &m);
}

static void end(const struct homes *at, uint64_t slot, struct worker *w)
{
	homes_step(at);
	check_ok(cnode_delete(NODE, slot));
	until(w->done);
	check_eq(w->out[0], SKERRY_DELETED);
}

static void deleted(struct homes *at)
{
	struct worker *w = worker_start(waits_for, 50, last_core(), at->notification, 0);
	struct worker *c = worker_start(calls, 50, last_core(), badged(at->endpoint, 3, RIGHT_WRITE), 0);
	struct message m = { 0 };
	until(waits(w));
	until(waits(c));
	end(at, at->notification, w);
	homes_step(at);
	check_ok(ipc_nb_receive(at->endpoint, at->reply, &m));
	end(at, at->reply, c);
	struct worker *s = worker_start(sends, 50, last_core(), badged(at->endpoint, 3, RIGHT_WRITE), 0);
	until(waits(s));
	check_ok(cnode_revoke(NODE, at->endpoint)); /* its waiter still waits */
	check(!s->done);
	end(at, at->endpoint, s);
}

TEST(deleted, 1, 0, "visits: DELETED for what a thread of another core waits at") { at_each_home(deleted); }

static void suspended(struct homes *at)
{
	struct worker *w = worker_start(waits_for, 50, last_core(), at->notification, 0);
	uint64_t word;
	until(waits(w));
	homes_step(at);
	check_ok(tcb_suspend(w->tcb));
	homes_step(at);
	check_ok(notification_signal(at->notification));
	check_ok(notification_poll(at->notification, &word));
	check_eq(word, 1);
	homes_step(at);
	check_ok(tcb_resume(w->tcb));
	until(waits(w));
	check(!w->done);
	homes_step(at);
	check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 60, 0));
	homes_step(at);
	check_ok(notification_signal(at->notification));
	until(w->done);
	check_eq(w->out[0], 0);
}

TEST(suspended, 1, 0, "visits: a thread that waits is suspended, resumed and moved") { at_each_home(suspended); }

static void threads_end(struct homes *at)
{
	static void (*const states[])(struct worker *) = { waits_for, sends, calls, receives };
	struct message m = { 0 };
	uint64_t word;
	for (unsigned i = 0; i < 4; i++) {
		struct worker *w = worker_start(states[i], 50, last_core(), i ? at->endpoint : at->notification,
		                                at->reply);
		until(waits(w));
		if (states[i] == calls)
			check_ok(ipc_nb_receive(at->endpoint, at->reply, &m));
		homes_step(at);
		check_ok(cnode_delete(NODE, w->tcb));
		homes_step(at);
		check_error(ipc_reply(at->reply, &m), NO_REPLY);
		check_error(ipc_nb_receive(at->endpoint, at->reply, &m), WOULD_BLOCK);
	}
	check_ok(notification_signal(at->notification));
	homes_step(at);
	check_ok(notification_poll(at->notification, &word));
	check_eq(word, 1);
}

TEST(threads, 1, 0, "visits: threads end that wait for what another core has") { at_each_home(threads_end); }

/* --- with many on their way --- */

static void draw_homes(const uint64_t *slot, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (draw() % 2)
			set_home(slot[i], (unsigned)draw());
}

TEST(load, 1, 0, "visits: no message is lost or wrong while localities and the granularity change")
{
	struct traffic load;
	homes_begin();
	traffic_begin(&load);
	for (unsigned i = 0; i < CHANGES; i++) {
		uint64_t before = traffic_least(&load);
		draw_homes(load.slot, TRAFFIC_OBJECTS);
		if (i % 8 == 7)
			homes_end();
		if (i % 8 == 1)
			homes_begin();
		until(traffic_least(&load) >= before + AT_EACH);
	}
	traffic_end(&load);
	homes_end();
}

static void callers(struct worker *self)
{
	int error;
	do {
		struct message m = { .info = message_info(0, 0, 1), .word = { self->count } };
		error = ipc_call(self->arg[0], &m);
		if (!error)
			check_eq(m.word[0], self->count + 1);
		self->count++;
	} while (!error);
	self->out[0] = (uint64_t)-error;
}

static void signallers(struct worker *self)
{
	int error;
	do
		error = notification_signal(self->arg[0]);
	while (!error && ++self->count);
	self->out[0] = (uint64_t)-error;
}

static void waiters(struct worker *self)
{
	int error;
	do
		error = notification_wait(self->arg[0], self->count % 2 ? deadline_ms(60000) : 0, 0);
	while (!error && ++self->count);
	self->out[0] = (uint64_t)-error;
}

/* Each thread of a storm has ended as one does that finds its object, or its capability, gone; or without rights, while
 * it goes. */
static void check_ended(struct worker *w)
{
	until(w->done);
	check(w->out[0] == SKERRY_DELETED || w->out[0] == SKERRY_BAD_CAP || w->out[0] == SKERRY_NO_RIGHTS);
}

/* Callers of all cores, a server, signals and waits; then one after the other goes, at any moment. */
static void storm(bool revokes)
{
	uint64_t slot[3] = { object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0), object(OBJECT_NOTIFICATION, 0) };
	uint64_t cap = badged(slot[0], 2, RIGHT_WRITE), bell = badged(slot[2], 4, RIGHT_ALL);
	for (unsigned i = 0; i < 3; i++)
		set_home(slot[i], (unsigned)draw());
	struct worker *s = worker_start(traffic_server, 60, last_core(), slot[0], slot[1]), *c[CLIENTS];
	for (unsigned i = 0; i < CLIENTS; i++)
		c[i] = worker_start(callers, 50, i % cores(), cap, 0);
	struct worker *a = worker_start(signallers, 40, draw() % cores(), bell, 0),
	              *b = worker_start(waiters, 50, draw() % cores(), bell, 0);
	until(c[draw() % CLIENTS]->count > draw() % 8);
	draw_homes(slot, 3);
	if (revokes) {
		check_ok(cnode_revoke(NODE, slot[0]));
		check_ok(cnode_revoke(NODE, slot[2]));
		check_ok(notification_signal(slot[2]));
	} else {
		check_ok(tcb_suspend(s->tcb)); /* else it finds its reply object gone, and says so */
	}
	draw_homes(slot, 3);
	unsigned first = (unsigned)draw() % 3;
	for (unsigned i = 0; i < 3; i++)
		if (!revokes || slot[(first + i) % 3] == slot[2])
			check_ok(cnode_delete(NODE, slot[(first + i) % 3]));
	if (!revokes) {
		check_ok(cnode_delete(NODE, cap));
		check_ok(cnode_delete(NODE, bell));
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		check_ended(c[i]);
	check_ended(a);
	check_ended(b);
}

static void storms(bool revoke)
{
	for (unsigned i = 0; i < STORMS; i++) {
		homes_begin();
		storm(revoke);
		tests_reset();
	}
	homes_end();
}

TEST(storm_deleted, 1, 0, "visits: objects and capabilities are deleted under calls of all cores") { storms(false); }
TEST(storm_revoked, 1, 0, "visits: capabilities are revoked under calls of all cores") { storms(true); }

/* As traffic_server(), of clients that may be suspended, or deleted, while it serves them. */
static void patient(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		m.word[0]++;
		self->count++;
		int error = ipc_reply_receive(self->arg[0], self->arg[1], &m);
		if (error != -SKERRY_NO_REPLY)
			check_ok(error);
		else
			check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	}
}

/* Its threads are stopped, go on, move and at last end, wherever their calls are. */
static void stopped(void)
{
	uint64_t slot[2 + CLIENTS] = { object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0) };
	struct worker *s = worker_start(patient, 60, last_core(), slot[0], slot[1]), *c[CLIENTS];
	set_home(slot[0], (unsigned)draw());
	set_home(slot[1], (unsigned)draw());
	for (unsigned i = 0; i < CLIENTS; i++) {
		slot[2 + i] = object(OBJECT_NOTIFICATION, 0);
		set_home(slot[2 + i], (unsigned)draw());
		c[i] = worker_start(traffic_client, 50, i % cores(), slot[0], slot[2 + i]);
	}
	for (unsigned i = 0; i < ENDED * CLIENTS; i++) {
		struct worker *w = c[i % CLIENTS];
		uint64_t before = w->count;
		until(w->count > before + draw() % 3);
		check_ok(tcb_suspend(w->tcb));
		if (draw() % 2)
			check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 50, (unsigned)draw() % cores()));
		draw_homes(slot, 2 + CLIENTS);
		check_ok(tcb_resume(w->tcb));
	}
	uint64_t others = s->count;
	for (unsigned i = 1; i < CLIENTS; i++)
		check_ok(cnode_delete(NODE, c[i]->tcb));
	draw_homes(slot, 2 + CLIENTS);
	until(s->count > others + AT_EACH); /* the first is served all the same */
	check_ok(cnode_delete(NODE, c[0]->tcb));
}

TEST(storm_stopped, 1, 0, "visits: threads are suspended, moved and deleted while their calls are under way")
{
	for (unsigned i = 0; i < ENDED; i++) {
		homes_begin();
		stopped();
		tests_reset();
	}
	homes_end();
}
