/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual network in one process: programs, each with its own sockets and lwIP, joined by a switch and cables, or by
 * a relay that loses and reorders frames (relay.h), with one clock that is not the host's. A program has a body, which
 * blocks as on the machine, or is polled for a test that plays it by hand. Turns are drawn from a seed, so that a run
 * is the same each time. When everything sleeps, time passes to the next deadline. A ring that has something for a
 * sleeper is a lost wake-up, and fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/socket_port.h>
#include "../../switch/forward.h"
#include "life.h"

enum { LAB_PLACES = 21, LAB_CABLES = 5 };
static const uint64_t MILLISECOND = 1000000, SECOND = 1000000000; /* of the lab's clock */

struct fiber;

/* A program at a place of the network, or its stack process. */
struct life {
	void *module;
	int image;                /* a descriptor of that module */
	struct life_calls *calls; /* null: no program runs */
	struct life_host host;
	struct fiber *fiber;      /* null: it has no body */
	bool awake;               /* or woken */
	bool stopped;             /* has no turns */
	unsigned wakes;           /* so far */
};

/* Set before lab_start(): `cables` and their ends, `bells`, `timeout`; the others at any time. */
struct lab {
	uint64_t now;      /* ns */
	uint64_t random;   /* state of all that is drawn, never 0 */
	uint64_t lives;    /* the last one's number, an epoch */
	bool draws;        /* turns are drawn; else each has one */
	bool unchecked;    /* somebody writes rings as he likes: nothing is said of sleepers */
	bool apart;        /* programs that start have a stack process beside them */
	size_t heap;       /* bytes, of lives that start */
	uint16_t mtu;      /* of these */
	uint32_t gateway;  /* of these; network byte order, 0: none */
	uint64_t timeout;  /* of the switch */
	bool bells;        /* bell words; else the rings' flags */
	unsigned places, cables;
	unsigned cable_end[LAB_CABLES][2]; /* places; the first is that of a stack, the second that of a switch */
	struct life life[LAB_PLACES], program[LAB_PLACES]; /* the second: of programs whose stack is in `life` */
	struct forward forward;
	bool switch_awake;
	void (*serve)(unsigned place);     /* what a program without a body does in its turn; null: it is polled */
	char *port;                        /* of each place, PORT_SIZE */
	char *cable[LAB_CABLES];
	char *bell, *bell_seen;            /* of each place and of the switch, BELL_SIZE; the second can only be read */
	struct port_end station[LAB_PLACES]; /* ports that the test plays */
	bool played[LAB_PLACES];
};

extern struct lab lab;

/* Says what is wrong, and ends the process. A test may have its own. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns a number below `below`, drawn from lab.random. */
uint32_t lab_draw(uint32_t below);
static inline uint32_t address_of(unsigned place) { return __builtin_bswap32(0x0a000001 + place); }

/* --- network.c --- */

/* The module that all lives are copies of (life.h). Once. */
void module_read(const char *path);
/* The same from a test's first argument, with defaults for all in `lab`. */
void lab_begin(int count, char **arguments);
void lab_cable(unsigned stack, unsigned other);
/* Memory and a switch for so many places, where no program runs yet. */
void lab_start(unsigned places);
/* A program, which the lab polls, at a place where none runs. */
struct life *life_start(unsigned place);
/* As when it has ended: the manager closes its ends and wakes their far ends. */
void life_end(unsigned place);
void life_wake(struct life *);
/* The manager closes the ends of a program that is no more. */
void place_close(unsigned place);
/* The test has this place from now on: its port's end is in lab.station. */
void station_start(unsigned place);
/* The cable of link `link` of a place; link 0 is none. */
unsigned cable_of(unsigned place, unsigned link);
struct link *link_of_cable(unsigned cable, unsigned side); /* null: no program runs there */
void switch_run(void);
uint64_t switch_deadline(void); /* 0: none */
/* The socket port of a program and its stack process: one side has ended. */
void sockets_end(unsigned place, enum socket_side side);

/* --- turns.c --- */

/* A turn for all that are awake, or whose deadline has come; then time passes. */
void lab_turn(void);
/* Turns for so many ms. First all look at what they have. */
void lab_pass(unsigned ms);
/* Nobody has a turn meanwhile. */
static inline void lab_wait(unsigned ms) { lab.now += ms * MILLISECOND; }
