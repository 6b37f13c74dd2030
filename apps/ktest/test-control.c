/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own settings: which locks it takes, changed while it is used. */
#include "ktest.h"

enum { CHANGES = 40, AT_EACH = 20, CLIENTS = 4 };

static int order(enum granularity wanted)
{
	bool under_way;
	return control_granularity(ROOT_SLOT_CONTROL, wanted, &under_way);
}

static bool is_so(enum granularity wanted)
{
	bool under_way;
	check_ok(control_granularity(ROOT_SLOT_CONTROL, wanted, &under_way));
	return !under_way;
}

TEST(granularities, 1, 0, "control: a kernel has the granularities of its regime")
{
	int missing = -SKERRY_BAD_ARGUMENT;
	check_eq(order(GRANULARITY_COARSE), kernel_is("fine") ? missing : 0);
	check_eq(order(GRANULARITY_FINE), kernel_is("fine") || kernel_is("dynamic") ? 0 : missing);
	if (kernel_is("dynamic"))
		until(is_so(GRANULARITY_COARSE));
}

TEST(refused, 1, 0, "control: TRUNCATED, BAD_LABEL and BAD_ARGUMENT")
{
	struct message m = { .word = { GRANULARITY_FINE + 1 }, .info = message_info(CONTROL_GRANULARITY, 0, 1) };
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_ARGUMENT);
	m.info = message_info(CONTROL_GRANULARITY, 0, 0);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), TRUNCATED);
	m.info = message_info(CONTROL_GRANULARITY + 1, 0, 1);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_LABEL);
}

/* Answers each number with the next one. */
static void server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		m.word[0]++;
		self->count++;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

/* Calls, and exchanges signals with itself, until it is told to stop. */
static void client(struct worker *self)
{
	while (!self->out[0]) {
		struct message m = { .info = message_info(0, 0, 1), .word = { self->count } };
		check_ok(ipc_call(self->arg[0], &m));
		check_eq(m.word[0], self->count + 1);
		check_ok(notification_signal(self->arg[1]));
		check_ok(notification_wait(self->arg[1], 0, 0));
		self->count++;
	}
}

static uint64_t least(struct worker *const *client)
{
	uint64_t found = client[0]->count;
	for (unsigned i = 1; i < CLIENTS; i++)
		if (client[i]->count < found)
			found = client[i]->count;
	return found;
}

TEST(changed, 1, 0, "control: no message is lost while the granularity changes to and fro")
{
	bool changes = kernel_is("dynamic");
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *s = worker_start(server, 60, last_core(), endpoint, object(OBJECT_REPLY, 0)), *c[CLIENTS];
	until(waits(s));
	for (unsigned i = 0; i < CLIENTS; i++)
		c[i] = worker_start(client, 50, i % cores(), endpoint, object(OBJECT_NOTIFICATION, 0));
	for (unsigned i = 0; i < CHANGES; i++) {
		enum granularity wanted = i % 2 ? GRANULARITY_COARSE : GRANULARITY_FINE;
		uint64_t before = least(c);
		if (changes)
			until(is_so(wanted));
		until(least(c) >= before + AT_EACH);
	}
	uint64_t all = 0;
	for (unsigned i = 0; i < CLIENTS; i++)
		c[i]->out[0] = 1;
	for (unsigned i = 0; i < CLIENTS; i++) {
		until(c[i]->done);
		all += c[i]->count;
	}
	check_eq(s->count, all);
}

/* Waits, each time for a moment only. */
static void sleeper(struct worker *self)
{
	while (!self->out[0]) {
		int ended = notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 5000, 0);
		if (ended != -SKERRY_TIMED_OUT)
			check_ok(ended);
		self->out[ended ? 2 : 1]++;
	}
}

TEST(woken, 2, 0, "control: no wake-up of another core is lost in a deadline, whatever the granularity")
{
	bool changes = kernel_is("dynamic");
	struct worker *s[CLIENTS];
	for (unsigned i = 0; i < CLIENTS; i++)
		s[i] = worker_start(sleeper, 50, 1 + i % last_core(), object(OBJECT_NOTIFICATION, 0), 0);
	for (unsigned round = 0; round < CHANGES; round++) {
		if (changes)
			until(is_so(round % 8 < 6 ? GRANULARITY_FINE : GRANULARITY_COARSE));
		for (unsigned i = 0; i < CLIENTS; i++)
			check_ok(notification_signal(s[i]->arg[0]));
		for (unsigned i = 0; i < CLIENTS; i++)
			until(s[i]->out[1] > round);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		s[i]->out[0] = 1;
		until(s[i]->done);
		check_eq(s[i]->out[1], CHANGES);
	}
	if (changes)
		until(is_so(GRANULARITY_COARSE));
}
