/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memmem() */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hiredis.h>

#include "workload.h"

/* Without an answer for so long a server counts as lost. */
enum { ANSWER_S = 1, PAUSE_NS = 10000000 };

bool life_is_over(const struct life *life, uint64_t stamp)
{
	return life->number && stamp >> WRITER_SHIFT == life->first >> WRITER_SHIFT && stamp < life->first;
}

static void take_run_id(struct answer *answer, const char *text, size_t length)
{
	static const char key[] = "\nrun_id:";
	struct life *life = &client_of(answer)->life;
	const char *at = memmem(text, length, key, sizeof(key) - 1);

	if (at && (size_t)(text + length - at) >= sizeof(key) - 1 + RUN_ID_SIZE - 1)
		memcpy(life->run_id, at + sizeof(key) - 1, RUN_ID_SIZE - 1);
}

__attribute__((format(printf, 2, 3))) static bool ask(struct client *c, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	const int error = redisvAppendCommand(c->context, format, arguments);
	va_end(arguments);
	return !error && answer_read(&c->answer, c->context) && c->answer.kind != ANSWER_ERROR;
}

/* Asks the server for its run_id and for the number of this connection. */
static bool identify_server(struct client *c)
{
	memset(c->life.run_id, 0, RUN_ID_SIZE);
	c->answer.string = take_run_id;
	const bool answered = ask(c, "INFO server");
	c->answer.string = NULL;
	if (!answered || !c->life.run_id[0] || !ask(c, "CLIENT ID") || c->answer.kind != ANSWER_INTEGER)
		return false;
	c->life.connection = (uint64_t)c->answer.number;
	return true;
}

static bool limit_waits(struct client *c)
{
	return redisSetTimeout(c->context, (struct timeval){ .tv_sec = ANSWER_S }) == REDIS_OK;
}

bool client_survive(struct client *c)
{
	if (c->lost)
		return false;
	c->life.survives = limit_waits(c) && identify_server(c);
	if (!c->life.survives) {
		c->errors++;
		fprintf(stderr, "ycsb: %s: %s:%u: does not say its run_id and the number of the connection\n",
		        c->options->name,
			c->options->host, c->options->port);
	}
	return c->life.survives;
}

static bool try_return(struct client *c, const struct life *before, uint64_t next)
{
	if (!client_connect(c, ANSWER_S) || !limit_waits(c) || !identify_server(c))
		return false;
	if (!memcmp(c->life.run_id, before->run_id, RUN_ID_SIZE))
		return ask(c, "CLIENT KILL ID %llu", (unsigned long long)before->connection);
	c->life.number++;
	c->life.first = next;
	client_forget(c);
	return true;
}

bool client_return(struct client *c, uint64_t next)
{
	const time_t deadline = time(NULL) + c->options->survive;
	const struct life before = c->life;

	while (!try_return(c, &before, next)) {
		c->life = before;
		if (time(NULL) >= deadline) {
			c->life.survives = false;
			c->errors++;
			fprintf(stderr, "ycsb: %s: %s:%u: not reached again within %u s\n", c->options->name,
			        c->options->host,
				c->options->port, c->options->survive);
			return false;
		}
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	c->lost = false;
	return true;
}
