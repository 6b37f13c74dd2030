/* SPDX-License-Identifier: BSD-2-Clause */
/* A server for the socket tests: all connections non-blocking, answers in order, like Redis; and its clients, which
 * block. */
#pragma once

#include "lab/lab.h"

enum { SERVER_PORT = 6379 };

/* A request: this header, then for ECHO `size` bytes. */
struct request {
	uint32_t operation;
	uint32_t size;
};
enum {
	REQUEST_ECHO = 1, /* answered by the same bytes */
	REQUEST_SOURCE,   /* answered by `size` bytes, byte i is (uint8_t)(i * 7) */
	/* answered by a uint64_t: what the server's stack has allocated, without what REQUEST_HOLD holds */
	REQUEST_MEMORY,
	REQUEST_LEAVE,    /* not answered: the server closes at once, with what it has written */
	/* not answered; at the connection's end the server shuts its direction, and holds it until REQUEST_MEMORY;
	 * `size`: then resets it */
	REQUEST_HOLD,
};

/* A program's body. Has passed when it listens, and does not return. */
void server_run(void);

struct file *connect_server(void);
void request(struct file *file, uint32_t operation, uint32_t size); /* its header */
void fill(char *bytes, size_t size, unsigned seed);
void echo(struct file *file, uint32_t size, unsigned seed); /* sends that, and checks the answer */
uint64_t server_memory(void); /* bytes that the server's stack has allocated */
