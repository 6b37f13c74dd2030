/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Redis binding: a record is a hash with the fields "field0", "field1", ...
 * Requests are queued by client_send() and answered in order by client_finish().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "answer.h"
#include "life.h"
#include "options.h"

struct redisContext;

enum operation_part {
	OPERATION_READ = 1,   /* all fields */
	OPERATION_UPDATE = 2, /* one field; after the read, if both */
	OPERATION_INSERT = 4, /* all fields, as the loader does; alone */
	OPERATION_SCAN = 8,   /* asks the index for the keys from a record on, then reads these; alone */
};

struct operation {
	uint64_t record;
	uint64_t stamp;    /* of the value that it writes */
	uint64_t start_ns; /* when it was queued */
	unsigned field;    /* that it updates */
	unsigned scan;     /* records that it scans, all of them loaded ones */
	unsigned parts;
};

/* The first record that this client inserts: each client has numbers of its own, behind those that are loaded. */
static inline uint64_t client_inserts(const struct options *o)
{
	return o->records + (o->writer - 1) * (o->warm + o->operations);
}

/* How far the check of the record has come that is being read. */
struct reading {
	uint64_t record;
	uint64_t found; /* fields, a bit each */
	unsigned field; /* of the next value; MAX_FIELDS after an error */
};

/* Bytes, as the server's INFO has them; 0: not known. */
struct server_memory {
	uint64_t used;     /* by its data and buffers */
	uint64_t resident; /* by the process */
};

/* Bytes, as CLIENT INFO has them; 0: not known. */
struct reply_buffer {
	uint64_t size;
	uint64_t peak; /* the fullest that it has been lately; `size` too where replies did not fit */
};

struct client {
	const struct options *options;
	struct redisContext *context;
	uint64_t *seen; /* [record * fields + field]: last stamp read or written, see record.h */
	char *request;  /* room for the longest one */
	struct answer answer;
	struct reading reading;
	struct server_memory memory;
	struct reply_buffer reply_buffer;
	struct life life;
	uint64_t errors; /* refusals by the server, and the loss of the connection */
	uint64_t wrong;  /* answers that are not what was written */
	bool lost;       /* the connection; every later call does nothing */
};

/* Each returns false when the client is or becomes unusable; a line on stderr then has said why. */
bool client_open(struct client *c, const struct options *options);
bool client_send(struct client *c, const struct operation *op);
bool client_finish(struct client *c, const struct operation *op);
bool client_count_keys(struct client *c, uint64_t *keys);
bool client_ask_memory(struct client *c); /* into c->memory */
bool client_ask_reply_buffer(struct client *c); /* into c->reply_buffer */
void client_close(struct client *c);

/* For life.c. One try of so many seconds, in place of the connection that there was: whether there is one now. */
bool client_connect(struct client *c, unsigned seconds);
/* Any value may be read next, of any record. */
void client_forget(struct client *c);
struct client *client_of(struct answer *answer);
