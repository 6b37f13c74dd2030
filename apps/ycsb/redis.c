/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memmem() */
#include "client.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis.h>

#include "workload.h"

enum { COMPLAINTS = 5, RETRY_NS = 10000000, TRY_S = 5 };

/* A request's bytes beside its values: the command with the key; what goes around one value. */
enum { HEAD_BYTES = 96, FIELD_BYTES = 64 };

/* the bytes before a field's value in a request: "$6\r\nfield0\r\n$100\r\n" */
static char field_heads[MAX_FIELDS][FIELD_BYTES];
static size_t field_head_lengths[MAX_FIELDS];

static bool lose_server(struct client *c, const char *reason)
{
	if (!c->lost && !c->life.survives)
		fprintf(stderr, "ycsb: %s: %s:%u: %s\n", c->options->name, c->options->host, c->options->port, reason);
	c->lost = true;
	c->errors += !c->life.survives;
	return false;
}

/* The first few, so that a broken server does not flood the console. */
static void log_complaint(const struct client *c, uint64_t record, const char *what, const char *detail)
{
	if (c->errors + c->wrong <= COMPLAINTS)
		fprintf(stderr, "ycsb: %s: record %llu: %s%s\n", c->options->name, (unsigned long long)record, what,
		        detail);
}

static void wrong_answer(struct client *c, uint64_t record, const char *what, const char *detail)
{
	c->wrong++;
	log_complaint(c, record, what, detail);
}

bool client_connect(struct client *c, unsigned seconds)
{
	if (c->context)
		redisFree(c->context);
	c->context = redisConnectWithTimeout(c->options->host, (int)c->options->port,
	                                     (struct timeval){ .tv_sec = seconds });
	if (!c->context || c->context->err)
		return false;
	answer_attach(&c->answer, c->context);
	return true;
}

static bool connect_until(struct client *c, time_t timeout_s)
{
	const time_t deadline = time(NULL) + timeout_s;

	while (!client_connect(c, TRY_S)) {
		if (!c->context || time(NULL) >= deadline)
			return lose_server(c, c->context ? c->context->errstr : "no memory");
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
	}
	return true;
}

/* One for each field of the records that are loaded, and of those up to the last one that this client inserts. */
static size_t stamps_of(const struct options *o)
{
	return (o->workload->insert > 0 ? client_inserts(o) + o->warm + o->operations : o->records) * o->fields;
}

void client_forget(struct client *c)
{
	const size_t stamps = stamps_of(c->options);

	for (size_t i = 0; i < stamps; i++)
		c->seen[i] = STAMP_UNSEEN;
}

bool client_open(struct client *c, const struct options *o)
{
	const size_t stamps = stamps_of(o);

	*c = (struct client){ .options = o };
	for (unsigned i = 0; i < o->fields; i++)
		field_head_lengths[i] = (size_t)snprintf(field_heads[i], FIELD_BYTES, "$%d\r\nfield%u\r\n$%u\r\n",
							 i < 10 ? 6 : 7, i, o->field_length);
	c->request = malloc(HEAD_BYTES + o->fields * (size_t)(o->field_length + FIELD_BYTES));
	c->seen = malloc(stamps * sizeof(c->seen[0]));
	if (!c->request || !c->seen)
		return lose_server(c, "not enough memory for --records, --fields and --field-length");
	client_forget(c);
	return connect_until(c, (time_t)o->connect_timeout);
}

void client_close(struct client *c)
{
	if (c->context)
		redisFree(c->context);
	free(c->request);
	free(c->seen);
}

static bool queue_bytes(struct client *c, size_t length)
{
	if (redisAppendFormattedCommand(c->context, c->request, length) == REDIS_OK)
		return true;
	return lose_server(c, c->context->errstr);
}

static char *put_bytes(char *at, const char *bytes, size_t length)
{
	memcpy(at, bytes, length);
	return at + length;
}
#define PUT(at, literal) put_bytes(at, literal, sizeof(literal) - 1)

/* "$23\r\nuser6284781860667377211\r\n" */
static char *put_key(char *at, uint64_t record)
{
	char key[KEY_SIZE];
	const size_t length = record_key(key, record);

	at = PUT(at, "$");
	at += decimal(at, length);
	at = PUT(at, "\r\n");
	at = put_bytes(at, key, length);
	return PUT(at, "\r\n");
}

/* HSET key name value ..., of `count` fields from `first` on. */
static bool queue_hset(struct client *c, const struct operation *op, unsigned first, unsigned count)
{
	const size_t length = c->options->field_length;
	char *at = PUT(c->request, "*");

	at += decimal(at, 2 + 2 * count);
	at = PUT(at, "\r\n$4\r\nHSET\r\n");
	at = put_key(at, op->record);
	for (unsigned field = first; field < first + count; field++) {
		at = put_bytes(at, field_heads[field], field_head_lengths[field]);
		record_value(at, length, op->record, field, op->stamp);
		at = PUT(at + length, "\r\n");
	}
	return queue_bytes(c, (size_t)(at - c->request));
}

static bool queue_hgetall(struct client *c, uint64_t record)
{
	char *at = PUT(c->request, "*2\r\n$7\r\nHGETALL\r\n");

	at = put_key(at, record);
	return queue_bytes(c, (size_t)(at - c->request));
}

/* ZADD _indices <number> <key>: records in the order of their numbers, for scans. */
static bool queue_index(struct client *c, uint64_t record)
{
	char digits[KEY_SIZE];
	const size_t length = decimal(digits, record);
	char *at = PUT(c->request, "*4\r\n$4\r\nZADD\r\n$8\r\n_indices\r\n$");

	at += decimal(at, length);
	at = PUT(at, "\r\n");
	at = put_bytes(at, digits, length);
	at = PUT(at, "\r\n");
	at = put_key(at, record);
	return queue_bytes(c, (size_t)(at - c->request));
}

/* ZRANGEBYSCORE _indices <number> +inf LIMIT 0 <count> */
static bool queue_scan(struct client *c, const struct operation *op)
{
	const int length = sprintf(c->request, "ZRANGEBYSCORE _indices %llu +inf LIMIT 0 %u\r\n",
				   (unsigned long long)op->record, op->scan);

	return queue_bytes(c, (size_t)length);
}

static bool queue_insert_or_scan(struct client *c, const struct operation *op)
{
	if (op->parts & OPERATION_SCAN)
		return queue_scan(c, op);
	return queue_hset(c, op, 0, c->options->fields) &&
	       (c->options->workload->scan == 0 || queue_index(c, op->record));
}

bool client_send(struct client *c, const struct operation *op)
{
	if (c->lost)
		return false;
	if (op->parts & (OPERATION_INSERT | OPERATION_SCAN))
		return queue_insert_or_scan(c, op);
	return (!(op->parts & OPERATION_READ) || queue_hgetall(c, op->record)) &&
	       (!(op->parts & OPERATION_UPDATE) || queue_hset(c, op, op->field, 1));
}

/* The next answer into c->answer. False when there is none, which is an error that has been counted. */
static bool next_answer(struct client *c, uint64_t record)
{
	if (!answer_read(&c->answer, c->context))
		return lose_server(c, c->context->errstr);
	if (c->answer.kind != ANSWER_ERROR)
		return true;
	c->errors++;
	log_complaint(c, record, "the server says: ", c->answer.error);
	return false;
}

/* The number in "field<number>", MAX_FIELDS for other text. */
static unsigned field_of(const char *text, size_t length)
{
	unsigned field = 0;

	if (length < 6 || length > 7 || memcmp(text, "fiel", 4) || text[4] != 'd' || (length == 7 && text[5] == '0'))
		return MAX_FIELDS;
	for (size_t i = 5; i < length; i++) {
		const unsigned digit = (unsigned)(text[i] - '0');
		if (digit > 9)
			return MAX_FIELDS;
		field = 10 * field + digit;
	}
	return field;
}

static void check_value(struct client *c, uint64_t record, unsigned field, const char *text, size_t length)
{
	uint64_t *seen = &c->seen[record * c->options->fields + field];
	char name[FIELD_NAME_SIZE];
	uint64_t stamp;
	bool genuine = text && record_check(text, length, c->options->field_length, record, field, &stamp);
	bool buried = genuine && life_is_over(&c->life, stamp);

	if (genuine && !buried && stamp_may_follow(stamp, *seen)) {
		*seen = stamp;
		return;
	}
	snprintf(name, sizeof(name), "field%u", field);
	wrong_answer(c, record, buried ? "a value of the server's former life in " : genuine ? "an outdated value in " :
	      "a value that nobody wrote in ", name);
}

static bool is_whole(const struct client *c)
{
	return c->answer.kind == ANSWER_ARRAY && c->answer.number == 2 * (int64_t)c->options->fields;
}

/* Returns whether it may be the answer of a server that was started again: it has only fields written since, which may
 * be a part of a record. */
static bool is_part(const struct client *c)
{
	const int64_t n = c->answer.number;

	return c->life.number && c->answer.kind == ANSWER_ARRAY && n >= 0 && n % 2 == 0 &&
	       n < 2 * (int64_t)c->options->fields;
}

struct client *client_of(struct answer *answer)
{
	return (struct client *)((char *)answer - offsetof(struct client, answer));
}

/* A record arrives: field names and values by turns. Its first error ends the look at it. */
static void check_element(struct answer *answer, size_t index, const char *text, size_t length)
{
	struct client *c = client_of(answer);
	struct reading *r = &c->reading;

	if (!(is_whole(c) || is_part(c)) || r->field == MAX_FIELDS)
		return;
	if (index % 2) {
		check_value(c, r->record, r->field, text, length);
		return;
	}
	r->field = text ? field_of(text, length) : MAX_FIELDS;
	if (r->field < c->options->fields && !(r->found >> r->field & 1)) {
		r->found |= 1ull << r->field;
		return;
	}
	r->field = MAX_FIELDS;
	wrong_answer(c, r->record, "has a field that it should not have", "");
}

static void finish_read(struct client *c, uint64_t record)
{
	c->reading = (struct reading){ .record = record };
	c->answer.element = check_element;
	if (next_answer(c, record) && !is_whole(c)) {
		if (is_part(c))
			c->life.forgotten++;
		else
			wrong_answer(c, record, "is missing or has not all its fields", "");
	}
	c->answer.element = NULL;
}

/*
 * HSET answers how many fields are new: any number of an insert's, and none of
 * an update's, but where the server has lost the record.
 */
static void finish_write(struct client *c, const struct operation *op)
{
	const int64_t most = op->parts & OPERATION_INSERT ? c->options->fields : c->life.number ? 1 : 0;

	if (!next_answer(c, op->record))
		return;
	if (c->answer.kind != ANSWER_INTEGER || c->answer.number < 0 || c->answer.number > most) {
		wrong_answer(c, op->record, "was not there when a field was written", "");
		return;
	}
	if (op->parts & OPERATION_UPDATE)
		c->seen[op->record * c->options->fields + op->field] = op->stamp;
	else if (c->options->workload->scan > 0 && next_answer(c, op->record) &&
		 (c->answer.kind != ANSWER_INTEGER || c->answer.number < 0 || c->answer.number > 1))
		wrong_answer(c, op->record, "could not be put into the index", "");
}

/* The index answers: keys of consecutive records. */
static void check_key(struct answer *answer, size_t index, const char *text, size_t length)
{
	struct client *c = client_of(answer);
	char key[KEY_SIZE];

	if (!text || length != record_key(key, c->reading.record + index) || memcmp(text, key, length))
		wrong_answer(c, c->reading.record + index, "is not where it should be in the index", "");
}

/* Reads the keys, and then their records, which are requested all at once. */
static void finish_scan(struct client *c, const struct operation *op)
{
	c->reading = (struct reading){ .record = op->record };
	c->answer.element = check_key;
	const bool answered = next_answer(c, op->record);
	c->answer.element = NULL;
	if (!answered)
		return;
	if (c->answer.kind != ANSWER_ARRAY || c->answer.number != op->scan) {
		wrong_answer(c, op->record, "is not followed by all records in the index", "");
		return;
	}
	for (unsigned i = 0; i < op->scan; i++)
		if (!queue_hgetall(c, op->record + i))
			return;
	for (unsigned i = 0; i < op->scan && !c->lost; i++)
		finish_read(c, op->record + i);
}

bool client_finish(struct client *c, const struct operation *op)
{
	if (op->parts & OPERATION_READ && !c->lost)
		finish_read(c, op->record);
	if (op->parts & (OPERATION_UPDATE | OPERATION_INSERT | OPERATION_SCAN) && !c->lost)
		(op->parts & OPERATION_SCAN ? finish_scan : finish_write)(c, op);
	return !c->lost;
}

bool client_count_keys(struct client *c, uint64_t *keys)
{
	if (c->lost)
		return false;
	char *end = PUT(c->request, "*1\r\n$6\r\nDBSIZE\r\n");
	if (!queue_bytes(c, (size_t)(end - c->request)) || !next_answer(c, 0) || c->answer.kind != ANSWER_INTEGER)
		return false;
	*keys = (uint64_t)c->answer.number;
	return true;
}

/* Returns the number behind `key` in the text of an INFO or a CLIENT INFO; 0 when `key` is not there. */
static uint64_t info_number(const char *text, size_t length, const char *key)
{
	const char *at = memmem(text, length, key, strlen(key)), *const end = text + length;
	uint64_t number = 0;

	if (at)
		for (at += strlen(key); at < end && *at >= '0' && *at <= '9'; at++)
			number = 10 * number + (uint64_t)(*at - '0');
	return number;
}

static void take_memory(struct answer *answer, const char *text, size_t length)
{
	struct client *c = client_of(answer);

	c->memory.used = info_number(text, length, "\nused_memory:");
	c->memory.resident = info_number(text, length, "\nused_memory_rss:");
}

/* Sends the request up to `end` and gives the text of its answer to `take`. */
static bool ask(struct client *c, const char *end, void (*take)(struct answer *answer, const char *text, size_t length))
{
	c->answer.string = take;
	const bool answered = queue_bytes(c, (size_t)(end - c->request)) && next_answer(c, 0);
	c->answer.string = NULL;
	return answered;
}

bool client_ask_memory(struct client *c)
{
	if (c->lost)
		return false;
	char *end = PUT(c->request, "*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n");
	return ask(c, end, take_memory) && c->memory.used && c->memory.resident;
}

static void take_reply_buffer(struct answer *answer, const char *text, size_t length)
{
	struct client *c = client_of(answer);

	c->reply_buffer.size = info_number(text, length, " rbs=");
	c->reply_buffer.peak = info_number(text, length, " rbp=");
}

bool client_ask_reply_buffer(struct client *c)
{
	return !c->lost && ask(c, PUT(c->request, "*2\r\n$6\r\nCLIENT\r\n$4\r\nINFO\r\n"), take_reply_buffer);
}
