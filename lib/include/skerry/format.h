/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formatter of everything that runs without stdio: loader, managers, the POSIX layer's own words, the checker of
 * cluster maps.
 *
 * Knows %s %c %d %u %x and %%, with `l` for 64 bits and, for numbers, a zero-padded width ("%08x"). A format that it
 * does not know ends the text there; the compiler warns of it (format(printf)).
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Where the text goes, piece by piece, and what becomes of strings and characters that others wrote. */
struct format_sink {
	void (*put)(void *to, const char *bytes, size_t size);
	void *to;
	size_t longest; /* characters of a string, ".." the last of them where it is cut: 2 at least; 0: no limit */
	bool printable; /* what is not printable ASCII in %s and %c becomes '?' */
};

/* Formats into a sink. Does nothing beyond the first conversion that it does not know. */
void format_to(const struct format_sink *sink, const char *format,
               va_list arguments) __attribute__((format(printf, 2, 0)));

/* Text in a buffer, without a zero at its end: what does not fit is cut off, and `truncated` says so. */
struct text {
	char *data;
	size_t size, length;
	bool truncated;
};

#define TEXT(buffer) ((struct text){ .data = (buffer), .size = sizeof(buffer) })

/* Appends bytes; those that do not fit are cut off. */
void text_bytes(struct text *text, const char *bytes, size_t length);
/* Appends formatted text; what does not fit is cut off. */
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vformat(struct text *text, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
/* `put` of a sink that is a struct text. */
void text_put(void *text, const char *bytes, size_t length);
/* A JSON string with its quotes. */
void text_json_string(struct text *text, const char *string);
