/* SPDX-License-Identifier: BSD-2-Clause */
/* The client: options, connection to the server, phases of a run, report, and the platform below. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

/* The options of the command line; see options.c for each one's meaning. */

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

/*
 * Takes the server's answers apart while hiredis reads them: hiredis hands every element to functions of ours, straight
 * from its buffer, so that nothing is allocated or copied.
 */

struct redisContext;

enum answer_kind { ANSWER_OTHER, ANSWER_INTEGER, ANSWER_STRING, ANSWER_ARRAY, ANSWER_ERROR };

struct answer {
	enum answer_kind kind;
	int64_t number;  /* the integer, or how many elements the array has */
	char error[120]; /* what the server says */

	/* For each element of an array; `text` is null when it is no string. */
	void (*element)(struct answer *answer, size_t index, const char *text, size_t length);
	/* For an answer that is one string. */
	void (*string)(struct answer *answer, const char *text, size_t length);
};

/* From now on the replies that `context` reads are told to `answer`. */
void answer_attach(struct answer *answer, struct redisContext *context);

/* Reads the next reply into `answer`. False: there is none, and context->errstr says why. */
bool answer_read(struct answer *answer, struct redisContext *context);

/*
 * A client's knowledge of its server that survives the server's loss (--survive). A server that was started again is
 * empty and has another run_id: it is in its next life. Two promises are checked across a loss: within a life nothing
 * that was acknowledged is lost or goes back in time, and in a later life nothing that was written before it appears.
 *
 * Hazard: a request of a lost connection may still be waiting at the server, and be carried out after later ones. So a
 * client that returns has the server close its old connection before it goes on.
 */

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

/*
 * The Redis binding: a record is a hash with the fields "field0", "field1", ...
 * Requests are queued by client_send() and answered in order by client_finish().
 */

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
	uint64_t *seen; /* [record * fields + field]: last stamp read or written, see workload.h */
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

/* The phases of a run; between them main.c lets all clients meet. */

struct hdr_histogram;

/* The histogram counts latencies in ticks: at 2 significant digits fine enough for a core that answers in 5 us. */
enum { TICK_NS = 100, HISTOGRAM_DIGITS = 2 };

/* While the server was lost (struct life). A gap lasts from the last answer before the loss to the first after it. */
struct gaps {
	unsigned count;
	uint64_t longest_ns;
	uint64_t reads, updates; /* unanswered: an update may have been carried out or not */
	uint64_t since_ns;       /* of the gap that has not ended; 0: there is none */
};

/* With --rate: when the last operation before the measured ones (or the run) began, and the last of them. */
struct arrivals_span {
	uint64_t before_ns, last_ns;
};

struct measurement {
	struct hdr_histogram *latency; /* ticks */
	uint64_t operations; /* answered, whatever the answer */
	uint64_t reads;
	uint64_t updates;
	uint64_t start_ns;   /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t load_records;
	uint64_t load_ns;
	uint64_t answered_ns; /* the last answer */
	struct gaps gaps;
	struct arrivals_span arrivals;
	uint32_t *ends; /* of each operation, in ticks since start_ns; NULL: not reported */
	struct timeline timeline; /* of a run that survives the loss of its server */
};

bool measurement_init(struct measurement *m);
void phase_load(struct client *c, struct measurement *m);
/* Some reads that do not count: before the time is taken, the code of a read has run, here and in the server, and the
 * server has fitted its reply buffer to a read's answer. */
void phase_warm(struct client *c, struct measurement *m);
void phase_run(struct client *c, struct measurement *m);
void phase_expect(struct client *c);
void phase_memory(struct client *c);

/*
 * Results as lines of JSON, each short enough for one message to a manager:
 * some {"event":"histogram"} and, last, the one {"event":"ycsb"} that says how
 * many of them belong to it. A histogram's "pairs" are alternately a latency in
 * microseconds (the highest that its bucket holds) and a count, so that those
 * of several clients can be added and give the exact common percentiles.
 *
 * A client that survives the loss of its server (--survive) also hands out some
 * {"event":"timeline"}, answers in slots of "slot_ns", and one
 * {"event":"survival"}: how often the server was lost, for how long at most,
 * how many operations went without an answer, and in how many lives it was.
 */

/* Returns 0, or -1 when the results could not be handed out. */
/* A gap that ends now, at once: {"event":"gap"} with the time of its begin and its end on the clock of "start_ns". */
int report_gap(const struct client *c, const struct measurement *m, uint64_t end_ns);
int report(const struct client *c, const struct measurement *m);

/* Differences between a host process and a program on Skerry. Calls return 0, or -1 after a line on stderr. */

/* Completes `name` and `writer` where the options left them open. */
void platform_identify(struct options *options);

/* Waits until the application of --await serves. */
int platform_await(const struct options *options);

/* Waits until every client of the run has arrived at barrier `number`, 1.. */
int platform_barrier(const struct options *options, unsigned number);

/* Hands out one JSON object, at most RESULT_BYTES long. */
enum { RESULT_BYTES = 900 };
int platform_result(const char *json);
