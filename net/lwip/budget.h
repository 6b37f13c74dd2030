/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a stack divides its memory among connections; arithmetic only.
 *
 *     1/2  guaranteed: connections_max times BUDGET_CONNECTION
 *     1/4  send pool, 1/8 receive pool: shared, beyond what is guaranteed
 *     1/8  the rest: frames under way, connections that end, freed blocks
 *
 * A pool is shared by dynamic thresholds (Choudhury and Hahne, 1998): a
 * connection may hold a fixed fraction of what is free. A few connections get
 * all they want; with many that do not read, the last ones still find the
 * guaranteed part, which nobody else can take. So a connection can exhaust its
 * own share only.
 */
#pragma once

#include <stddef.h>

enum {
	BUDGET_SEGMENT_OVERHEAD = 640,   /* of each segment in a send queue: headers, rounding, its descriptor */
	BUDGET_SEND_MIN = 4224,          /* memory that each connection may hold to send: two full segments */
	/* bytes of receive window that each connection has; lwIP announces steps of a segment */
	BUDGET_WINDOW_MIN = 4096,
	BUDGET_CONNECTION = 12288,       /* memory: both of these, and lwIP's and our own state */
	BUDGET_SHARE = 8,                /* a connection may hold 1/8 of what is free */
	BUDGET_FIRST_WINDOW_SHARE = 64,  /* and begins with this window */
	BUDGET_TIMEOUT = 20000,         /* ms: a closed connection is reset if its peer takes nothing for so long */
};

struct budget {
	size_t send_pool;         /* memory */
	size_t receive_pool;      /* bytes of windows */
	unsigned connections_max; /* accepted ones */
};

struct budget budget_of(size_t memory);

/* Memory that a connection may hold to send, when all together hold `used`. At least BUDGET_SEND_MIN. */
size_t budget_send_limit(const struct budget *, size_t used);

/* Bytes that may be written to a queue that holds `held` under `limit`, in segments of `segment` bytes. */
size_t budget_send_bytes(size_t limit, size_t held, size_t segment);

/* The first window of a connection, when all together have `promised`. Between BUDGET_WINDOW_MIN and `max`. */
size_t budget_first_window(const struct budget *, size_t promised, size_t max);

/*
 * The credit (window and unread bytes) of a connection whose program has read
 * `size` bytes while `unread` were there: at least `credit` - `size`, for a
 * window never shrinks. It grows when the program finds much of it waiting,
 * falls when memory is short, and stays between BUDGET_WINDOW_MIN and `max`.
 * `promised` is the sum of all credits, this one included.
 */
size_t budget_credit(const struct budget *, size_t promised, size_t credit, size_t unread, size_t size, size_t max);
