/* SPDX-License-Identifier: BSD-2-Clause */
/* One client: its request, and the answer on its way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http.h"

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_READING, /* its request */
	CONNECTION_WAITING, /* for a scrape to begin */
	CONNECTION_SCRAPED, /* for the scrape in hand to end */
	CONNECTION_WRITING, /* its answer */
	CONNECTION_DRAINING, /* answered: what it still sends is thrown away, lest a reset outrun the answer */
};

/* The text of a scrape, kept until the last client that is sent it has it. */
struct body {
	unsigned users;
	char *data;
	size_t length;
};

struct connection {
	enum connection_state state;
	int fd;
	uint64_t since;    /* milliseconds of now() at which it came */
	uint64_t took;     /* the same, at which it last took a part of its answer */
	uint64_t deadline; /* the same: a client that has not reached the next state by then is cut off */
	struct http_request wants;
	char request[HTTP_REQUEST_MAX];
	size_t received;
	char head[HTTP_HEAD_MAX];
	size_t head_length, body_length, sent;
	const char *text;  /* of the body */
	struct body *body; /* whose text it is, or null */
};

enum { REQUEST_MS = 5000, ANSWER_MS = 10000, DRAIN_MS = 1000 };

void connection_begin(struct connection *, int fd);
void connection_end(struct connection *);

/* Returns the events to poll for. 0: none now. */
short connection_events(const struct connection *);
/* After poll() found some of it. */
void connection_go_on(struct connection *);
/* Its time is over. */
void connection_too_late(struct connection *);

/* The answer to one that waits. */
void connection_answer_scrape(struct connection *, struct body *);
void connection_answer(struct connection *, enum http_status);
