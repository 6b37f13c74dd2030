/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis.h>

#include "record.h"

enum { COMPLAINTS = 5, RETRY_NS = 10000000 };

static char field_names[MAX_FIELDS][FIELD_NAME_SIZE];
static size_t field_name_lengths[MAX_FIELDS];

static bool lose(struct client *c, const char *why)
{
	if (!c->lost)
		fprintf(stderr, "ycsb: %s: %s:%u: %s\n", c->options->name, c->options->host, c->options->port, why);
	c->lost = true;
	c->errors++;
	return false;
}

/* The first few, so that a broken server does not flood the console. */
static void complain(const struct client *c, uint64_t record, const char *what, const char *detail)
{
	if (c->errors + c->wrong <= COMPLAINTS)
		fprintf(stderr, "ycsb: %s: record %llu: %s%s\n", c->options->name, (unsigned long long)record, what, detail);
}

static void wrong(struct client *c, uint64_t record, const char *what, const char *detail)
{
	c->wrong++;
	complain(c, record, what, detail);
}

static bool connect_until(struct client *c, time_t patience_s)
{
	const struct timeval one_try = { .tv_sec = 5 };
	const time_t deadline = time(NULL) + patience_s;

	for (;;) {
		c->context = redisConnectWithTimeout(c->options->host, (int)c->options->port, one_try);
		if (c->context && !c->context->err)
			return true;
		if (!c->context || time(NULL) >= deadline)
			return lose(c, c->context ? c->context->errstr : "no memory");
		redisFree(c->context);
		c->context = NULL;
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
	}
}

bool client_open(struct client *c, const struct options *o)
{
	const size_t stamps = o->records * o->fields;

	*c = (struct client){ .options = o };
	for (unsigned i = 0; i < o->fields; i++)
		field_name_lengths[i] = (size_t)snprintf(field_names[i], FIELD_NAME_SIZE, "field%u", i);
	c->values = malloc((size_t)o->fields * o->field_length);
	c->seen = malloc(stamps * sizeof(c->seen[0]));
	if (!c->values || !c->seen)
		return lose(c, "not enough memory for --records, --fields and --field-length");
	for (size_t i = 0; i < stamps; i++)
		c->seen[i] = STAMP_UNSEEN;
	return connect_until(c, (time_t)o->connect_timeout);
}

void client_close(struct client *c)
{
	if (c->context)
		redisFree(c->context);
	free(c->values);
	free(c->seen);
}

static bool queue(struct client *c, int argc, const char **argv, const size_t *lengths)
{
	if (redisAppendCommandArgv(c->context, argc, argv, lengths) == REDIS_OK)
		return true;
	return lose(c, c->context->errstr);
}

/* HSET key name value ..., of `count` fields from `first` on. */
static bool queue_hset(struct client *c, const struct operation *op, unsigned first, unsigned count)
{
	const size_t length = c->options->field_length;
	const char *argv[2 + 2 * MAX_FIELDS];
	size_t lengths[2 + 2 * MAX_FIELDS];
	char key[KEY_SIZE];
	int argc = 0;

	argv[argc] = "HSET", lengths[argc++] = 4;
	argv[argc] = key, lengths[argc++] = record_key(key, op->record);
	for (unsigned i = 0; i < count; i++) {
		const unsigned field = first + i;
		char *value = c->values + i * length;
		record_value(value, length, op->record, field, op->stamp);
		argv[argc] = field_names[field], lengths[argc++] = field_name_lengths[field];
		argv[argc] = value, lengths[argc++] = length;
	}
	return queue(c, argc, argv, lengths);
}

static bool queue_hgetall(struct client *c, uint64_t record)
{
	char key[KEY_SIZE];
	const size_t lengths[] = { 7, record_key(key, record) };
	const char *argv[] = { "HGETALL", key };

	return queue(c, 2, argv, lengths);
}

bool client_send(struct client *c, const struct operation *op)
{
	if (c->lost)
		return false;
	if (op->parts & OPERATION_INSERT)
		return queue_hset(c, op, 0, c->options->fields);
	return (!(op->parts & OPERATION_READ) || queue_hgetall(c, op->record)) &&
	       (!(op->parts & OPERATION_UPDATE) || queue_hset(c, op, op->field, 1));
}

/* The next answer; NULL when there is none, which is an error that has been counted. */
static redisReply *next_reply(struct client *c, uint64_t record)
{
	void *reply = NULL;

	if (redisGetReply(c->context, &reply) != REDIS_OK) {
		lose(c, c->context->errstr);
		return NULL;
	}
	redisReply *r = reply;
	if (r->type != REDIS_REPLY_ERROR)
		return r;
	c->errors++;
	complain(c, record, "the server says: ", r->str);
	freeReplyObject(r);
	return NULL;
}

static unsigned find_field(const struct client *c, const redisReply *name)
{
	for (unsigned i = 0; i < c->options->fields; i++)
		if (name->len == field_name_lengths[i] && !memcmp(name->str, field_names[i], name->len))
			return i;
	return MAX_FIELDS;
}

static void check_field(struct client *c, uint64_t record, unsigned field, const redisReply *value)
{
	uint64_t *seen = &c->seen[record * c->options->fields + field];
	uint64_t stamp;

	if (value->type != REDIS_REPLY_STRING ||
	    !record_check(value->str, value->len, c->options->field_length, record, field, &stamp))
		wrong(c, record, "a value that nobody wrote in ", field_names[field]);
	else if (!stamp_may_follow(stamp, *seen))
		wrong(c, record, "an outdated value in ", field_names[field]);
	else
		*seen = stamp;
}

static void check_record(struct client *c, uint64_t record, const redisReply *r)
{
	uint64_t found = 0;

	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 * (size_t)c->options->fields) {
		wrong(c, record, "is missing or has not all its fields", "");
		return;
	}
	for (size_t i = 0; i < r->elements; i += 2) {
		const unsigned field = r->element[i]->type == REDIS_REPLY_STRING ? find_field(c, r->element[i]) : MAX_FIELDS;
		if (field == MAX_FIELDS || found >> field & 1) {
			wrong(c, record, "has a field that it should not have", "");
			return;
		}
		found |= 1ull << field;
		check_field(c, record, field, r->element[i + 1]);
	}
}

/* HSET answers how many fields are new: none of an update's, any number of an insert's. */
static void check_written(struct client *c, const struct operation *op, const redisReply *r)
{
	const long long most = op->parts & OPERATION_INSERT ? c->options->fields : 0;

	if (r->type != REDIS_REPLY_INTEGER || r->integer < 0 || r->integer > most) {
		wrong(c, op->record, "was not there when a field was written", "");
		return;
	}
	if (op->parts & OPERATION_UPDATE)
		c->seen[op->record * c->options->fields + op->field] = op->stamp;
}

bool client_finish(struct client *c, const struct operation *op)
{
	redisReply *r;

	if (op->parts & OPERATION_READ && !c->lost && (r = next_reply(c, op->record))) {
		check_record(c, op->record, r);
		freeReplyObject(r);
	}
	if (op->parts & (OPERATION_UPDATE | OPERATION_INSERT) && !c->lost && (r = next_reply(c, op->record))) {
		check_written(c, op, r);
		freeReplyObject(r);
	}
	return !c->lost;
}

bool client_count_keys(struct client *c, uint64_t *keys)
{
	const char *argv[] = { "DBSIZE" };
	const size_t lengths[] = { 6 };

	if (c->lost || !queue(c, 1, argv, lengths))
		return false;
	redisReply *r = next_reply(c, 0);
	if (!r)
		return false;
	*keys = (uint64_t)r->integer;
	freeReplyObject(r);
	return true;
}
