/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the command line; see options.c for each one's meaning. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	MAX_FIELDS = 64,
	MAX_FIELD_LENGTH = 8 << 20,
	MAX_PIPELINE = 1024,
	MAX_WRITER = 4095,
	MAX_THINK = 10000000, /* microseconds */
	MAX_RATE = 10000000,  /* a second */
	MAX_NAME = 31,
	MAX_WARM = 1 << 20,
	MAX_SCAN = 100, /* records */
	MAX_ENDS = 1 << 14,        /* most operations of a client that reports their ends */
};

enum distribution { DISTRIBUTION_ZIPFIAN, DISTRIBUTION_UNIFORM, DISTRIBUTION_LATEST };

/* A core workload: what part of the operations reads, updates, reads and then updates, inserts, or scans. */
struct workload {
	const char *name;
	double read;
	double update;
	double read_modify_write;
	double insert; /* and then no read_modify_write */
	double scan;
	bool latest; /* records that were inserted last are read most */
};

struct options {
	const char *host;
	const char *await;      /* application to wait for, or NULL */
	const char *rendezvous; /* file where the processes of one run meet, or NULL */
	char name[MAX_NAME + 1];
	const struct workload *workload;
	enum distribution distribution;
	uint64_t records;
	uint64_t operations;
	uint64_t warm; /* operations before them that are not measured; then each operation's end is reported */
	uint64_t load_first;
	uint64_t load_count;
	uint64_t seed;
	uint64_t expect; /* DBSIZE at the end; meaningful with have_expect */
	unsigned port;
	unsigned fields;
	unsigned field_length; /* bytes */
	unsigned pipeline;
	unsigned load_pipeline;
	unsigned writer; /* 1..MAX_WRITER, marks this client's values; 0: not yet known */
	unsigned parties;
	unsigned connect_timeout; /* seconds */
	unsigned think;           /* microseconds, the mean pause before an operation */
	uint64_t rate;            /* operations a second that arrive; 0: each follows the last one's answer */
	uint64_t arrivals;        /* seed of their schedule */
	unsigned survive;         /* seconds to reach a server again that was lost; 0: its loss ends the run */
	bool load;
	bool alone;
	bool have_expect;
	bool even; /* arrivals at equal distances */
};

/* Fills `options` or says in one line what is wrong with the arguments and exits with status 2. */
void options_parse(struct options *options, int argc, char **argv);
