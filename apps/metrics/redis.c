/* SPDX-License-Identifier: BSD-2-Clause */
#include "scrape.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis.h>

enum { ANSWER_MAX = 64 << 10 }; /* bytes: an INFO has some 2 KiB */

static const char *const redis_fields[REDIS_FIELDS] = {
	[REDIS_COMMANDS] = "total_commands_processed",
	[REDIS_CONNECTIONS] = "total_connections_received",
	[REDIS_CLIENTS] = "connected_clients",
	[REDIS_MEMORY] = "used_memory",
	[REDIS_MEMORY_RESIDENT] = "used_memory_rss",
	[REDIS_HITS] = "keyspace_hits",
	[REDIS_MISSES] = "keyspace_misses",
	[REDIS_EXPIRED] = "expired_keys",
	[REDIS_EVICTED] = "evicted_keys",
};

static struct question {
	redisContext *context;
	struct redis_info *stats;
	bool sent;
} question[REDIS_ASKED_MAX];
static unsigned waiting;

/* INFO has no arrays. One in another in another, without end, would take memory and, when freed, stack. */
static void *refuse_array(const redisReadTask *task, size_t elements)
{
	(void)task, (void)elements;
	return NULL;
}

unsigned redis_waiting(void) { return waiting; }

/* The last one takes its place. */
static void target_forget(unsigned i)
{
	redisFree(question[i].context);
	question[i] = question[--waiting];
}

void redis_give_up(void)
{
	while (waiting)
		target_forget(waiting - 1);
}

void redis_ask(struct redis_info *stats, uint32_t ipv4, unsigned port)
{
	static redisReplyObjectFunctions without_arrays;
	char address[INET_ADDRSTRLEN];

	*stats = (struct redis_info){ .asked = true };
	if (waiting == REDIS_ASKED_MAX || !inet_ntop(AF_INET, &ipv4, address, sizeof(address)))
		return;
	redisContext *context = redisConnectNonBlock(address, (int)port);
	if (!context)
		return;
	question[waiting] = (struct question){ context, stats, false };
	waiting++;
	if (!context->err) {
		without_arrays = *context->reader->fn;
		without_arrays.createArray = refuse_array;
		context->reader->fn = &without_arrays;
		redisAppendCommand(context, "INFO clients memory stats");
	}
	if (context->err)
		target_forget(waiting - 1);
}

unsigned redis_poll_set(struct pollfd *fds)
{
	for (unsigned i = 0; i < waiting; i++)
		fds[i] = (struct pollfd){ .fd = question[i].context->fd,
		                          .events = question[i].sent ? POLLIN : POLLOUT };
	return waiting;
}

void redis_read_info(struct redis_info *stats, const char *info)
{
	for (const char *line = info; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		for (unsigned i = 0; i < REDIS_FIELDS; i++) {
			const size_t length = strlen(redis_fields[i]);
			char *end;
			if (strncmp(line, redis_fields[i], length) || line[length] != ':' || line[length + 1] < '0' ||
			    line[length + 1] > '9')
				continue;
			stats->field[i] = strtoull(line + length + 1, &end, 10);
			if (*end == '\r' || *end == '\n' || !*end)
				stats->known |= 1u << i;
		}
	}
	stats->up = true;
}

/* Says whether there is more to wait for. */
static bool go_on(struct question *q)
{
	redisContext *context = q->context;
	void *reply = NULL;
	int done = 0;

	if (!q->sent) {
		q->sent = redisBufferWrite(context, &done) == REDIS_OK && done;
		return q->sent || !context->err;
	}
	if (redisBufferRead(context) != REDIS_OK || context->reader->len > ANSWER_MAX ||
	    redisGetReplyFromReader(context, &reply) != REDIS_OK)
		return false;
	if (!reply)
		return true;
	const redisReply *answer = reply;
	if (answer->type == REDIS_REPLY_STRING)
		redis_read_info(q->stats, answer->str);
	freeReplyObject(reply);
	return false;
}

void redis_polled(const struct pollfd *fds, unsigned count)
{
	for (unsigned i = count; i-- > 0;) /* from the end: forgetting moves later ones */
		if (fds[i].revents && !go_on(&question[i]))
			target_forget(i);
}
