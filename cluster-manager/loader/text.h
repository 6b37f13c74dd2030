/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting without a C library, and the one-line reason why the loader refuses. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Knows %s %c %u %x %lu %lx %% and a zero-padded width ("%08x"). Always terminates; cuts what does not fit. */
void text_format(char *out, size_t size, const char *format, va_list args);

struct refusal {
	char text[200];
};

/* Writes the reason down; always returns false, so that a check can end with it. */
bool refuse(struct refusal *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
