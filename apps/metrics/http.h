/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint: requests of HTTP, connections, and the server that has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Requests of HTTP/1.0 and 1.1, as far as a server needs them that answers one
 * request of a connection and closes it: the request line and the header fields
 * are checked (RFC 9112), a body is not read.
 */

enum http_status {
	HTTP_MORE = 0, /* what is there is good, but not all */
	HTTP_OK = 200,
	HTTP_BAD_REQUEST = 400,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD_NOT_ALLOWED = 405,
	HTTP_TIMEOUT = 408,
	HTTP_TOO_LARGE = 431,
	HTTP_UNAVAILABLE = 503,
	HTTP_VERSION = 505,
};
const char *http_reason(enum http_status);

enum http_resource { HTTP_ROOT, HTTP_METRICS };

struct http_request {
	enum http_resource resource;
	bool head; /* the answer is to have no body */
};

enum { HTTP_REQUEST_MAX = 4096 }; /* bytes of request line and header fields */

/*
 * Parses a request from its first byte. Returns HTTP_MORE, or HTTP_OK with *request, or the status to answer with;
 * request->head then holds, too, as far as the request line came.
 */
enum http_status http_parse(const char *bytes, size_t length, struct http_request *request);

/* The head of an answer with a body of `length` bytes into `to`, which has room for HTTP_HEAD_MAX; its length. */
enum { HTTP_HEAD_MAX = 320 };
size_t http_head(char *to, enum http_status, const char *type, size_t length);

/* One client: its request, and the answer on its way. */

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
	struct body *body; /* the text's owner, or null */
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

/*
 * The endpoint: one thread, a fixed number of connections, each of which has so
 * long for its request and so long to take the answer. Clients that wait for
 * /metrics at the same time get the same scrape.
 */

/* A socket that listens, or -1 and errno. */
int server_open(unsigned port);
_Noreturn void server_run(int listener, unsigned redis_port);
