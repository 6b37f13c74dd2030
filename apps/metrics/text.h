/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that grows, up to a limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_MAX = 8 << 20 };

struct text {
	char *data; /* malloc()'s; not terminated */
	size_t length, room;
	bool failed; /* no memory, or beyond TEXT_MAX: what is there is not all */
};

void text_add(struct text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* name="value", what cannot stand in a label's value quoted or replaced; cut at 64 bytes. */
void text_label(struct text *, const char *name, const char *value);
