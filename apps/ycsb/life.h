/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client's knowledge of its server that survives the server's loss (--survive). A server that was started again is
 * empty and has another run_id: it is in its next life. Two promises are checked across a loss: within a life nothing
 * that was acknowledged is lost or goes back in time, and in a later life nothing that was written before it appears.
 *
 * Hazard: a request of a lost connection may still be waiting at the server, and be carried out after later ones. So a
 * client that returns has the server close its old connection before it goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;

enum { RUN_ID_SIZE = 41 };

struct life {
	bool survives;          /* the loss of the server is no error */
	char run_id[RUN_ID_SIZE];
	uint64_t connection;    /* the server's number of our connection */
	unsigned number;        /* 0: it has not been started again */
	uint64_t first;         /* our first stamp of this life */
	uint64_t forgotten;     /* reads that found a record missing or in part, in a later life */
};

/* Returns whether a value of ours was written in a life before this one. */
bool life_is_over(const struct life *life, uint64_t stamp);

/*
 * From here on the loss of the server sets c->lost and is no error. Returns
 * false when the server is lost or does not name itself.
 */
bool client_survive(struct client *c);

/*
 * After a loss: reaches the server again within options->survive seconds, else
 * returns false after a line on stderr. `next` is the first stamp that the
 * client will write from now on.
 */
bool client_return(struct client *c, uint64_t next);
