/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack's end of the socket port: each socket of the program is one of
 * lwIP's here, known by the program's number, and its bytes go between lwIP
 * and the shared buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/posix.h>
#include <skerry/socket_port.h>
#include "../net.h"

struct served {
	struct file *file; /* null: the number is free, or about to be */
	bool listening, connecting;
	bool closing;      /* the program has closed it: what it wrote comes first */
	bool unread;       /* and then a reset */
	bool shut_wanted, shut_done;
	bool pending;      /* in the queue of those whose bytes may move */
	bool changed;      /* in the queue of changes to report to the program */
	uint32_t flags;    /* of struct socket_event */
	int32_t value, value_told; /* a listener: connections that have come */
	struct socket_address local;

	/* positions, as in socket_port.h */
	uint32_t written, taken, taken_told;
	uint32_t arrived, read;
};

/* Before the first pass. */
void serve_start(void);
/* Requests, frames, bytes; says whether anything moved. */
bool serve_pass(void);
/* After a pass that moved nothing. Says no when there is something to do after all. */
bool serve_prepare_sleep(void);

/* --- serve.c, for the other files --- */

struct served *served_socket(unsigned number);
unsigned served_number(const struct served *);
void *served_buffer(const struct served *, enum socket_side producer);
void served_pending(struct served *);
void served_changed(struct served *);

/* --- calls.c --- */

/* Carries out the program's request and fills `answer`. Returns false when the request makes no sense. */
bool call_make(const struct socket_request *request, struct socket_event *answer);

/* --- pump.c --- */

/* Moves what can be moved, and ends what is over. */
void served_pump(struct served *);
