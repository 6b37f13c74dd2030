/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting without a C library, and the one-line reason why an input is refused. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* skerry/format.h. Always terminates; cuts what does not fit. Strings come out printable. */
void format_line(char *out, size_t size, const char *format, va_list args);

struct refusal {
	char text[240];
	/* Of a map: the node and its property that it is about, and the ones to change where those are others; NULL: none. */
	const char *node, *property, *cause, *cause_property;
};

/* Writes the reason down, strings cut to 40 characters; always returns false, so that a check can end with it. */
bool refuse(struct refusal *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, and notes the node and the property, which must live as long as `why` is read. */
bool refuse_at(struct refusal *why, const char *node, const char *property, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
