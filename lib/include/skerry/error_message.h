/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting without a C library, and the error message of one line for an input that is refused. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* skerry/format.h. Always terminates; cuts what does not fit. Strings come out printable. */
void format_line(char *out, size_t size, const char *format, va_list args);

struct error_message {
	char text[240];
	/* in a map: the node and its property that it is about, and the ones to change where those are others; NULL:
	 * none */
	const char *node, *property, *cause, *cause_property;
};

/* Writes the message, strings cut to 40 characters; always returns false, so that a check can end with it. */
bool error_set(struct error_message *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, and notes the node and the property, which must live as long as `err` is read. */
bool error_set_at(struct error_message *err, const char *node, const char *property, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
