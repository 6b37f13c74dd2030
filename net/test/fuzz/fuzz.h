/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three stacks of a lab (../lab/lab.h), joined by a switch and two cables. What happens is drawn from a seed, so that a
 * run can be repeated. All that is read must be what was written, and nothing may stay behind.
 */
#pragma once

#include "../lab/lab.h"

enum { STACKS = 3, CABLES = 2, CONNECTIONS = 200, FEW = 40, NONE = -1, SERVICE = 6379, DATAGRAMS = 7777, MTU = 1500 };

/* Disturbances of a run besides plain traffic. */
enum mode {
	LOSS = 1,    /* frames get lost, one by one and many at once */
	LATE = 2,    /* frames come late, twice, and in another order */
	DEATHS = 4,  /* programs end, and have successors */
	DATA = 8,    /* a far end writes the data that a cable's ring keeps */
	WORDS = 16,  /* and all else that it can reach, until it ends */
	SMALL = 32,  /* little memory, and packets that are shorter than others' */
	MANY = 64,   /* CONNECTIONS at once */
	HUNGER = 128, /* a program has all of its heap itself for a while: its stack gets no more */
	MODES = 8
};

struct program {
	struct file *listener, *datagrams;
	unsigned stalled;            /* turns that it leaves out */
	long blocks;                 /* that it had at first */
	uint64_t looked[1 + CABLES]; /* frames of each link before this position were looked at */
};

/* One end of a connection. */
struct end {
	int stack;
	uint64_t life;      /* of that stack */
	struct file *file;  /* null: closed, or not accepted yet */
	uint64_t written, read; /* bytes */
	bool ended;         /* it has read the end */
	bool failed;        /* it has got an error */
	bool closed;
	bool shut;          /* it writes no more */
	bool stopped;       /* it does not read */
	bool gone;          /* with its program */
	bool cut;           /* closed with a reset, or with data that it has not read */
};

/* The first end has connected, the second one accepts. */
struct connection {
	bool used, accepted;
	bool broken;       /* its cable had words written by a far end: anything may happen */
	bool loose;        /* its cable had data written: WRITTEN may stand where other data was */
	unsigned id;       /* from 1 on */
	uint16_t port;     /* of the first end; 0: another connection has it now */
	struct end end[2];
	uint32_t first[2]; /* sequence numbers of the SYNs */
	bool has_first[2];
};

struct totals {
	unsigned accepted;
	unsigned long frames, lost, late, deaths, lent;
	uint64_t read; /* bytes */
};

struct run {
	uint64_t seed, step, random, hash;
	unsigned pace;     /* how much time passes */
	unsigned bulk;     /* one of so many connections has long writes in a row */
	unsigned closings; /* one of so many decisions about a connection is to end it */
	unsigned modes, connections /* at once */, opened, traced /* id of a connection that is to be told of */;
	int data, words;                /* the cables that a far end writes, or NONE */
	unsigned data_side, words_side; /* those ends */
	int starving;                   /* the stack that gets no memory, or NONE */
	uint64_t starving_until;
	struct program program[STACKS];
	struct connection connection[CONNECTIONS];
	struct totals totals;
};

enum { WRITTEN = 0xee }; /* data that a far end writes; all other is below 128 */

extern struct run run;

/* Tells of a connection, if this is the one to tell of. */
void trace(const struct connection *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t draw(uint32_t below);
static inline bool once_in(uint32_t times) { return !draw(times); }
/* Adds an event to the run's hash. */
void note(const void *bytes, uint32_t size);

/* main.c */
/* A program with a listener and a socket of datagrams. */
void stack_start(unsigned stack);
void stack_end(unsigned stack);
void stack_poll(unsigned stack);

/* connections.c */
struct connection *connection_between(unsigned from, unsigned to, uint16_t from_port, uint16_t to_port,
                                      unsigned *direction);
void connection_open(unsigned stack);
void connections_accept(unsigned stack);
void end_close(struct connection *connection, unsigned side, bool reset);
void end_shut(struct connection *connection, unsigned side);
void connections_reap(void);
/* Loosens the checks of connections over this cable, from now on. */
void connections_loosen(unsigned cable, bool words);
/* As far as an untroubled connection would come to its end: something is still to be read, or to be accepted. */
bool connection_is_pending(struct connection *connection);

/* traffic.c */
/* The bytes that the writer of one direction writes, from `at` on. */
void text(uint8_t *to, const struct connection *connection, unsigned direction, uint64_t at, uint32_t size);
/* Returns the index of the first of these bytes that is not as it was written, or `size`. */
uint32_t text_differs(const uint8_t *bytes, const struct connection *connection, unsigned direction, uint64_t at,
                      uint32_t size);
void end_write(struct connection *connection, unsigned side);
void end_read(struct connection *connection, unsigned side, bool all);
void datagrams_send(unsigned stack);
void datagrams_take(unsigned stack);

/* frames.c */
/* All frames that a stack has sent since it was last looked at. */
void frames_look(unsigned stack);

/* trouble.c */
void trouble_start(void);
void trouble(void);
/* Nothing comes late, and nobody writes the rings any more. */
void trouble_end(void);
/* A frame was sent, and may come once more. */
void trouble_keep(const uint8_t *frame, uint32_t length);

/* settle.c */
/* Without trouble everything arrives, ends, and gives back what it had. */
void settle_all(void);
