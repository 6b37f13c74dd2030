/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A life of a program with its sockets and lwIP, or of a stack process, as a module that the lab loads once more for
 * each life. Its clock, memory, random numbers and rings are the lab's.
 */
#pragma once

#include <skerry/bell.h>
#include <skerry/posix.h>
#include <skerry/process.h>

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
