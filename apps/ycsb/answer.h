/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the server's answers apart while hiredis reads them: hiredis hands every element to functions of ours, straight
 * from its buffer, so that nothing is allocated or copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisContext;

enum answer_kind { ANSWER_OTHER, ANSWER_INTEGER, ANSWER_STRING, ANSWER_ARRAY, ANSWER_ERROR };

struct answer {
	enum answer_kind kind;
	int64_t number;  /* the integer, or how many elements the array has */
	char error[120]; /* what the server says */

	/* For each element of an array; `text` is null when it is no string. */
	void (*element)(struct answer *answer, size_t index, const char *text, size_t length);
	/* For an answer that is one string. */
	void (*string)(struct answer *answer, const char *text, size_t length);
};

/* From now on the replies that `context` reads are told to `answer`. */
void answer_attach(struct answer *answer, struct redisContext *context);

/* Reads the next reply into `answer`. False: there is none, and context->errstr says why. */
bool answer_read(struct answer *answer, struct redisContext *context);
