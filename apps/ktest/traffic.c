/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

void traffic_server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		m.word[0]++;
		self->count++;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

void traffic_client(struct worker *self)
{
	while (!self->out[0]) {
		struct message m = { .info = message_info(0, 0, 1), .word = { self->count } };
		check_ok(ipc_call(self->arg[0], &m));
		check_eq(m.word[0], self->count + 1);
		check_ok(notification_signal(self->arg[1]));
		check_ok(notification_wait(self->arg[1], self->count % 4 ? 0 : deadline_ms(60000), 0));
		self->count++;
	}
}

void traffic_begin(struct traffic *traffic)
{
	uint64_t *slot = traffic->slot;
	slot[0] = object(OBJECT_ENDPOINT, 0);
	slot[1] = object(OBJECT_REPLY, 0);
	traffic->server = worker_start(traffic_server, 60, last_core(), slot[0], slot[1]);
	until(waits(traffic->server));
	for (unsigned i = 0; i < TRAFFIC_CLIENTS; i++) {
		slot[2 + i] = object(OBJECT_NOTIFICATION, 0);
		traffic->client[i] = worker_start(traffic_client, 50, i % cores(), slot[0], slot[2 + i]);
	}
}

uint64_t traffic_least(const struct traffic *traffic)
{
	uint64_t before = traffic->client[0]->count;
	for (unsigned i = 1; i < TRAFFIC_CLIENTS; i++)
		if (traffic->client[i]->count < before)
			before = traffic->client[i]->count;
	return before;
}

void traffic_end(struct traffic *traffic)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < TRAFFIC_CLIENTS; i++)
		traffic->client[i]->out[0] = 1;
	for (unsigned i = 0; i < TRAFFIC_CLIENTS; i++) {
		until(traffic->client[i]->done);
		all += traffic->client[i]->count;
	}
	check_eq(traffic->server->count, all);
}
