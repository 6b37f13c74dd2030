/* SPDX-License-Identifier: BSD-2-Clause */
/* A server for the socket tests: one thread, all connections non-blocking, answers in order, like Redis. */
#pragma once

#include <stdint.h>

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

/* Never returns. */
_Noreturn void server_run(void);
