/* SPDX-License-Identifier: BSD-2-Clause */
/* The listeners of a program, as its manager reports them and the primary believes them: a few of each life. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LISTENERS_MAX = 8 };

struct listener {
	uint32_t address; /* IPv4, network byte order; 0: all */
	uint16_t port;    /* 0: none */
};

struct listeners {
	struct listener at[LISTENERS_MAX];
};

/* Notes `listener`. Returns false if it has no port, is noted already, or there is no room. */
static inline bool listeners_note(struct listeners *noted, struct listener listener)
{
	unsigned i = 0;
	while (i < LISTENERS_MAX && noted->at[i].port &&
	       (noted->at[i].port != listener.port || noted->at[i].address != listener.address))
		i++;
	if (!listener.port || i == LISTENERS_MAX || noted->at[i].port)
		return false;
	noted->at[i] = listener;
	return true;
}
