/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A life of a program with its own lwIP, as a module that the fuzzer loads once more for each life. Its clock, memory,
 * random numbers and rings are the fuzzer's.
 */
#pragma once

#include <skerry/bell.h>
#include <skerry/posix.h>
#include <skerry/process.h>

enum { TO_SWITCH = -1, STALE = 0xa5 /* in all memory that was not written since it was allocated */ };

/* The functions that the module requires. */
struct stack_host {
	const uint64_t *now; /* ns since the machine started; the clock has 10^9 cycles a second */
	uint64_t random;     /* state of random_bytes() */
	struct process_info info;
	enum { FED, HUNGRY /* layer_allocate() has nothing left */, STARVED /* nor has net_allocate() */,
	       MEMORIES } memory;
	void *port;
	void *cable[PROCESS_MAX_CABLES];
	struct bell *bell;
	const struct bell *switch_bell, *cable_bell[PROCESS_MAX_CABLES]; /* null: the rings' flags serve */
	unsigned number;
	void (*wake)(unsigned number, int link); /* `link`: a cable, or TO_SWITCH */
};

struct link;

/* The functions that the module exports: the symbol `stack_calls`. */
struct stack_calls {
	void (*start)(struct stack_host *);
	int (*socket)(int domain, int type, int protocol, struct file **);
	bool (*poll)(void);
	uint64_t (*deadline)(void);
	bool (*prepare_sleep)(void);
	unsigned (*links)(void);
	struct link *(*link)(unsigned number); /* 0: to the switch; then cables, in their order */
	long (*blocks)(void);                  /* that lwIP and the sockets have */
	size_t (*sent)(void);                  /* bytes of blocks that hold data to send */
	unsigned long (*lent)(void);           /* packets with data that went straight into a ring */
	void (*describe)(void);                /* its connections, on stderr */
	void (*end)(void);                     /* frees all memory of this life */
};
