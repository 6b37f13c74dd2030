/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tiny machine that is explored: one or two cores; the root task and two threads, A in the root task's address
 * space and B in one of its own, all three with the root CNode; an endpoint, a notification, a reply object, a small
 * CNode; 16 KiB of untyped memory to play in. It stands still: time passes by the operation `tick` alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include "arch_switch.h"
#include "hosted.h"

/* Slots of the root CNode. */
enum tiny_slot {
	TINY_U = 230,         /* the untyped to play in */
	TINY_A, TINY_A_FRAME, /* thread, and the frame of its IPC buffer */
	TINY_B, TINY_B_FRAME,
	TINY_EP, TINY_N, TINY_R, /* endpoint, notification, reply object */
	TINY_V2,              /* B's address space */
	TINY_TABLE,           /* 6 page tables; the first is A's, three are B's */
	TINY_TABLE_LAST = TINY_TABLE + 5,
	TINY_MEMORY,          /* the untyped that all of this is made of */
	TINY_CNODE,           /* 16 slots, where B receives capabilities */
	TINY_CNODE_READ,      /* the root CNode, to read only */
	TINY_P0, TINY_P1, TINY_P2, TINY_P3, TINY_P4, TINY_P5, /* empty at first: what the operations make */
	TINY_LAST = TINY_P5,
};
enum { TINY_U_BITS = 14 };

#define TINY_VADDR    0x10000000ull /* tables for it are in both spaces */
#define TINY_VADDR_B  0x20000000ull /* B's space lacks the table for it */
#define TINY_PLAY     (TINY_VADDR + 0x5000) /* where frames of P4 are mapped */
#define TINY_SECRET   0x4141414141414141ull /* what programs write into their memory */

struct tiny_config {
	unsigned cores;  /* 1 or 2; B runs on the last one, as A does */
	unsigned budget; /* instructions between preemption points, core/work.h */
	bool dirty;      /* the untyped has held frames that a program wrote */
};

extern struct hosted *tiny;
/* The moment at which the clock stands in each state that is compared with others; TSC cycles. */
extern uint64_t tiny_now;

/* Makes the machine, and has its writes logged from then on. Once in a process. */
void tiny_make(const struct tiny_config *config);

static inline struct cpu *tiny_cpu(unsigned core) { return tiny->kernel.cpu[core]; }
static inline bool tiny_idle(unsigned core) { return current(tiny_cpu(core)) == &tiny_cpu(core)->shared.idle; }
