/* SPDX-License-Identifier: BSD-2-Clause */
/* A request of a program, for the files that serve it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/message.h>
#include <skerry/process.h>
#include "root.h"
#include "waiters.h"

/* The request in hand. */
struct request {
	uint32_t application, place; /* of the process in its family */
	struct message m;
	int reply;        /* object that holds the caller; when the caller is kept, one that is free */
	const char *text; /* in the IPC buffer: gone with the next receive or capability-passing call */
	size_t length;
	bool answered;    /* or kept for later: no reply */
	bool signalled;   /* the caller's process is interrupted when the caller has its answer */
	uint32_t begins;  /* place of a child that begins when the caller has its answer; 0: none */
};

static inline uint32_t wait_key(uint32_t application, uint32_t place) { return application | place << BADGE_PLACE; }

/* waiters.c: the caller is answered when `key` comes. Returns 0 or an error. */
int request_keep(struct request *r, enum wait_kind kind, uint32_t key);

/* family-requests.c */
/* Has the process take its signals, unless it is stopped. */
void member_interrupt(uint32_t application, uint32_t place);
/* A child of the process at `parent` (-1: of none) has ended, stopped or gone on. */
void child_changed(uint32_t application, int parent);
int request_stop(struct request *r);
int request_alarm(struct request *r, struct message *answer);
/* This signal is about to be sent: a process that it lets go on does so. */
void member_clears(uint32_t application, uint32_t to, uint32_t number);
/* Sends SIGALRM where it is due. */
void alarms_tick(void);
