/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual network in one process: programs, each with its own sockets and lwIP, joined by a switch and cables, or by
 * a relay that loses and reorders frames, with one clock that is not the host's. A program has a body, which
 * blocks as on the machine, or is polled for a test that plays it by hand. Turns are drawn from a seed, so that a run
 * is the same each time. When everything sleeps, time passes to the next deadline. A ring that has something for a
 * sleeper is a lost wake-up, and fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <skerry/bell.h>
#include <skerry/posix.h>
#include <skerry/process.h>
#include <skerry/socket_port.h>

#include "../../switch/switch.h"

/* --- life.c --- */

/*
 * A life of a program with its sockets and lwIP, or of a stack process, as a module that the lab loads once more for
 * each life. Its clock, memory, random numbers and rings are the lab's.
 */

enum { TO_SWITCH = -1, TO_SOCKETS = -2, STALE = 0xa5 /* in memory that was not written since it was allocated */ };

/* The functions and the memory that the module requires. */
struct life_host {
	const uint64_t *now; /* ns since the machine started; the clock has 10^9 cycles a second */
	bool still;          /* lwIP's clock stands: nothing happens by its timers */
	uint64_t random;     /* state of random_bytes() */
	struct process_info info;
	enum { FED, HUNGRY /* layer_allocate() has nothing left */, STARVED /* nor has net_allocate() */,
	       MEMORIES } memory;
	void *port, *sockets;
	void *cable[PROCESS_MAX_CABLES];
	struct bell *bell;
	const struct bell *switch_bell, *cable_bell[PROCESS_MAX_CABLES]; /* null: the rings' flags serve */
	unsigned number;
	void (*wake)(unsigned number, int link); /* `link`: a cable, TO_SWITCH or TO_SOCKETS */
	bool (*wait)(uint64_t deadline);         /* event_wait() */
	void (*edge)(const struct file *, uint32_t events); /* of an edge-triggered file, these have come */
};

struct link;

/* The functions that the module exports: the symbol `life_calls`. */
struct life_calls {
	void (*start)(struct life_host *);
	int (*socket)(int domain, int type, int protocol, struct file **);
	bool (*poll)(void);
	uint64_t (*deadline)(void);
	bool (*prepare_sleep)(void);
	void (*serve_start)(void); /* those of a stack process: ../../stack/serve.h */
	bool (*serve_pass)(void);
	bool (*serve_prepare_sleep)(void);
	unsigned (*links)(void);
	struct link *(*link)(unsigned number); /* 0: to the switch; then cables, in their order */
	long (*blocks)(void);                  /* that lwIP and the sockets have */
	size_t (*allocated)(void);             /* bytes that layer_allocate() gave and did not get back */
	size_t (*sent)(void);                  /* bytes of blocks that hold data to send */
	unsigned long (*lent)(void);           /* packets with data that went straight into a ring */
	unsigned (*asked)(void);               /* packets for which ARP was asked, so far */
	void (*forget_stations)(void);         /* as ARP's timer does */
	void (**before_look)(void);            /* at a ring for frames; may be null */
	void (*describe)(void);                /* its connections, on stderr */
	void (*end)(void);                     /* frees all memory of this life */
};

/* --- the lab --- */

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

/* The module that all lives are copies of. Once. */
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

/*
 * Programs with bodies. These call socket_create(), net_poll() and others of skerry/posix.h, which are those of the
 * program whose turn it is, and block by program_wait().
 */

extern struct life *here; /* the program whose turn it is; a test that plays one by hand sets it */

/* A program with this body, at a place where none runs; beside a stack process if lab.apart. When the body returns, the
 * program lives on, for its peers may still send. */
struct life *program_start(unsigned place, void (*body)(void));
/* Turns until the body has returned or called program_passed(). Prints that it has, and after how long. */
void program_finish(struct life *, const char *name);
void program_passed(void);
/* The same, and the program has no more turns; nobody is told. Does not return. */
_Noreturn void program_vanish(void);
static inline unsigned own_place(void) { return here->host.number; }

/* Sleeps until something is ready or `deadline` (ns; 0: none) passes; then false. */
bool program_wait(uint64_t deadline);
void settle(unsigned ms); /* blocks for so long */
/* The program has no turns until the test gives it some by life_continue(). */
void program_pause(void);
void life_continue(struct life *);
static inline uint64_t in_ms(unsigned ms) { return lab.now + ms * MILLISECOND; }

/* Watches a file as an edge-triggered epoll. */
void file_watch(struct file *, uint32_t events);
/* Returns what that would tell of it since it was last asked, 0: nothing. */
uint32_t file_watched(const struct file *);
void file_edge(const struct file *, uint32_t events);

/* The blocking calls; size moved, or negative. `read_all` ends early at the end of the stream. */
ssize_t read_some(struct file *, void *buffer, size_t size);
ssize_t read_all(struct file *, void *buffer, size_t size);
ssize_t write_all(struct file *, const void *buffer, size_t size);
/* A connected socket, or null with `*error` set. */
struct file *connect_to(uint32_t ipv4, uint16_t port, int *error);
/* A socket that listens there. */
struct file *listen_at(uint16_t port, int backlog);
int pending_error(struct file *); /* SO_ERROR */
static inline void close_file(struct file *file) { file->ops->close(file); }

/* --- turns.c, network.c --- */

struct life *life_start_apart(unsigned place);
void fiber_start(struct life *, void (*body)(void));
/* Runs it until it sleeps. */
void fiber_resume(struct life *);
/* When it sleeps, until when (0: until it is woken). */
uint64_t fiber_deadline(const struct life *);
void fiber_end(struct life *);

/* A network in the switch's place that delays, loses and reorders frames, as drawn from lab.random. */

struct relay {
	uint64_t delay, jitter; /* ns: of each frame, and up to so much more, by which frames overtake each other */
	uint32_t loss;          /* of a million frames */
	uint64_t passed, lost, overtaken, newest; /* frames; the last one is a number of one that has arrived */
};

/* Behind lab_start(), with lab.bells unset. */
void relay_start(struct relay *);
bool relay_runs(void);
void relay_run(void);
uint64_t relay_deadline(void); /* when the next frame arrives; 0: none is under way */

/* A server for the socket tests: all connections non-blocking, answers in order, like Redis; and its clients, which
 * block. */

enum { SERVER_PORT = 6379 };

/* A request: this header, then for ECHO `size` bytes. */
struct request {
	uint32_t operation;
	uint32_t size;
};
enum {
	REQUEST_ECHO = 1, /* answered by the same bytes */
	REQUEST_SOURCE,   /* answered by `size` bytes, byte i is (uint8_t)(i * 7) */
	/* answered by a uint64_t: what the server's stack has allocated, without what REQUEST_HOLD holds */
	REQUEST_MEMORY,
	REQUEST_LEAVE,    /* not answered: the server closes at once, with what it has written */
	/* not answered; at the connection's end the server shuts its direction, and holds it until REQUEST_MEMORY;
	 * `size`: then resets it */
	REQUEST_HOLD,
};

/* A program's body. Has passed when it listens, and does not return. */
void server_run(void);

struct file *connect_server(void);
void request(struct file *file, uint32_t operation, uint32_t size); /* its header */
void fill(char *bytes, size_t size, unsigned seed);
void echo(struct file *file, uint32_t size, unsigned seed); /* sends that, and checks the answer */
uint64_t server_memory(void); /* bytes that the server's stack has allocated */
