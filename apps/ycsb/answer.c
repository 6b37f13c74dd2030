/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <string.h>

#include <hiredis.h>

/* Elements of nested arrays are not told: no answer that is right has any. */
static bool is_element(const redisReadTask *task)
{
	return task->parent && !task->parent->parent;
}

static void *make_element(const redisReadTask *task, const char *text, size_t length)
{
	struct answer *answer = task->privdata;

	if (is_element(task) && answer->element)
		answer->element(answer, (size_t)task->idx, text, length);
	return answer;
}

static void *on_string(const redisReadTask *task, char *text, size_t length)
{
	struct answer *answer = task->privdata;

	if (task->parent)
		return make_element(task, task->type == REDIS_REPLY_STRING ? text : NULL, length);
	if (task->type == REDIS_REPLY_ERROR) {
		if (length >= sizeof(answer->error))
			length = sizeof(answer->error) - 1;
		memcpy(answer->error, text, length);
		answer->error[length] = '\0';
		answer->kind = ANSWER_ERROR;
	} else if (task->type == REDIS_REPLY_STRING) {
		answer->kind = ANSWER_STRING;
		if (answer->string)
			answer->string(answer, text, length);
	}
	return answer;
}

static void *on_array(const redisReadTask *task, size_t elements)
{
	struct answer *answer = task->privdata;

	if (task->parent)
		return make_element(task, NULL, 0);
	if (task->type == REDIS_REPLY_ARRAY)
		answer->kind = ANSWER_ARRAY;
	answer->number = (int64_t)elements;
	return answer;
}

static void *on_integer(const redisReadTask *task, long long value)
{
	struct answer *answer = task->privdata;

	if (task->parent)
		return make_element(task, NULL, 0);
	answer->kind = ANSWER_INTEGER;
	answer->number = value;
	return answer;
}

static void *on_nil(const redisReadTask *task) { return make_element(task, NULL, 0); }
static void *on_bool(const redisReadTask *task, int value) { return (void)value, on_nil(task); }

static void *on_double(const redisReadTask *task, double value, char *text, size_t length)
{
	return (void)value, (void)text, (void)length, on_nil(task);
}

static void no_free(void *answer) { (void)answer; }

void answer_attach(struct answer *answer, struct redisContext *context)
{
	static redisReplyObjectFunctions functions = {
		on_string, on_array, on_integer, on_double, on_nil, on_bool, no_free,
	};

	context->reader->fn = &functions;
	context->reader->privdata = answer;
	redisSetPushCallback(context, NULL); /* hiredis' own would look into a redisReply */
}

bool answer_read(struct answer *answer, struct redisContext *context)
{
	void *reply = NULL;

	answer->kind = ANSWER_OTHER;
	return redisGetReply(context, &reply) == REDIS_OK;
}
