/* SPDX-License-Identifier: BSD-2-Clause */
/* Text built in a fixed buffer: what does not fit is cut off and `truncated` says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data;
	size_t size, length;
	bool truncated;
};

#define TEXT(buffer) ((struct text){ .data = (buffer), .size = sizeof(buffer) })

void text_bytes(struct text *t, const char *bytes, size_t length);
/* %s %c %u %d %x, with l for 64 bits; %% */
void text_format(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vformat(struct text *t, const char *format, __builtin_va_list arguments)
	__attribute__((format(printf, 2, 0)));
/* A JSON string with its quotes. */
void text_json_string(struct text *t, const char *s);
