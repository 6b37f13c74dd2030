/* SPDX-License-Identifier: BSD-2-Clause */
/* A scrape: its text, the snapshot that it tells, Redis instances that are asked, and its course. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skerry/sample.h>

/* Text that grows, up to a limit. */

enum { TEXT_MAX = 8 << 20 };

struct text {
	char *data; /* malloc()'s; not terminated */
	size_t length, room;
	bool failed; /* no memory, or beyond TEXT_MAX: what is there is not all */
};

void text_add(struct text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* name="value", what cannot stand in a label's value quoted or replaced; cut at 64 bytes. */
void text_label(struct text *, const char *name, const char *value);

/* All that one scrape tells. */

/* Fields of Redis's INFO, in the order of redis_fields in redis.c. */
enum redis_field {
	REDIS_COMMANDS,
	REDIS_CONNECTIONS,
	REDIS_CLIENTS,
	REDIS_MEMORY,
	REDIS_MEMORY_RESIDENT,
	REDIS_HITS,
	REDIS_MISSES,
	REDIS_EXPIRED,
	REDIS_EVICTED,
	REDIS_FIELDS,
};

struct redis_info {
	bool asked; /* it is a Redis */
	bool up;    /* it answered */
	uint32_t known; /* bit i: field[i] holds */
	uint64_t field[REDIS_FIELDS];
};

struct snapshot_core {
	unsigned cpu;
	bool counted; /* its kernel is a +stat image */
	struct core_stat stat;
};

struct snapshot_cluster {
	struct sample_cluster about;
	unsigned cores;
	struct snapshot_core *core;
};

struct snapshot {
	unsigned clusters, applications;
	struct snapshot_cluster *cluster;
	struct sample_application *application;
	struct redis_info *redis; /* of each application */
	double seconds;           /* that it took */
};

/* A snapshot in Prometheus' text format 0.0.4. docs/metrics.md says what each metric means. */

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

void exposition(struct text *, const struct snapshot *);

/* Redis instances, asked for INFO all at once. One that is silent holds nobody up. */

enum { REDIS_ASKED_MAX = 128 };

/* Begins to query one server; *stats is filled in as answers arrive. A server that cannot be queried counts as down. */
void redis_ask(struct redis_info *stats, uint32_t ipv4, unsigned port);

/* How many have yet to answer. */
unsigned redis_waiting(void);

/* Fills `fds`, with room for redis_waiting() of them, for poll(). Returns their number. */
unsigned redis_poll_set(struct pollfd *fds);
/* The same `fds` after poll(). */
void redis_polled(const struct pollfd *fds, unsigned count);

/* Lets go of those that have not answered. */
void redis_give_up(void);

/* Reads an answer to INFO. Declared here for tests. */
void redis_read_info(struct redis_info *stats, const char *info);

/*
 * One scrape at a time: the cluster-manager is asked what clusters count, which
 * may take it a second, and then all Redis instances, for a second at most.
 */

enum { SCRAPE_POLLS_MAX = 128 };

/* Waits for the manager. False: nothing can be told now; a line on stderr has said why. */
bool scrape_begin(unsigned redis_port);

/* Between scrape_begin() and scrape_end(): what to wait for besides, and until when (milliseconds of now()). */
unsigned scrape_poll_set(struct pollfd *fds);
uint64_t scrape_deadline(void);
/* Says whether it is over. */
bool scrape_polled(const struct pollfd *fds, unsigned count);

/* The text, whose memory is the caller's. */
struct text scrape_end(void);

/* Milliseconds since some moment. */
uint64_t now(void);
