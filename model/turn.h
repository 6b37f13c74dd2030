/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread read in one turn of a waiting loop: what it waits for is that one of these places is written. */
#pragma once

#include <stdbool.h>
#include "atomics.h"

enum { READS = 64 };

struct turn {
	struct {
		uint64_t address;
		write_name write;
	} read[READS];
	unsigned count;
	bool wrote; /* or read too much to remember: such a turn is like no other */
};

/* An access that was made. */
void turn_note(struct turn *turn, unsigned thread, const struct op *op);
/* One of the places has been written since. */
bool turn_newer(const struct turn *turn);
/* It read nothing but what the last one read, and wrote nothing. */
bool turn_same(const struct turn *turn, const struct turn *last);
