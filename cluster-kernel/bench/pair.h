/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client and a server on one core of a hosted machine, each in an address
 * space of its own, that call and answer each other: Elphinstone's
 * microbenchmark. The thread of the host that measures is the core itself, so
 * that nothing but the kernel lies between one entry and the next.
 */
#pragma once

#include <skerry/stat.h>
#include "arch.h"
#include "hosted.h"
#include "message.h"

struct pair {
	struct hosted_core *core;
	struct cpu *cpu;
	struct thread *client, *server;
	uint64_t endpoint, reply, notification; /* capability pointers of both */
};

/*
 * A machine with a pair of threads on each core; each server waits at its endpoint. No other thread ever runs.
 * pair_enter() may then be called, for each core by one thread, which calls pair_take() first.
 */
struct hosted *pairs_make(unsigned cluster, unsigned cores, struct pair *pairs);

static inline void pair_take(const struct pair *pair) { hosted_self = pair->core; }

/* The core's current thread makes a system call, from entry to exit. */
static inline void pair_enter(const struct pair *pair, uint64_t number, uint64_t cptr, uint64_t info)
{
	struct thread_registers *r = &current(pair->cpu)->context.registers;
	r->rax = number, r->rdi = cptr, r->rsi = info, r->r12 = pair->reply;
	pair->core->spins = 0;
	hosted_system_call(pair->core);
	if (pair->cpu->own.pending)
		arch_finish(pair->cpu);
}

static inline void pair_call(const struct pair *pair, uint64_t info)
{
	pair_enter(pair, SYS_CALL, pair->endpoint, info);
}

static inline void pair_reply_receive(const struct pair *pair, uint64_t info)
{
	pair_enter(pair, SYS_REPLY_RECV, pair->endpoint, info);
}

/* What has arrived at a thread of it: the label that the other sent. */
static inline uint64_t pair_label(const struct thread *thread) { return message_label(thread->context.registers.rsi); }

/* Ends the program: the kernel did not do what it was asked to. */
_Noreturn void pair_fail(const char *what);
static inline void pair_expect(bool holds, const char *what)
{
	if (__builtin_expect(!holds, 0))
		pair_fail(what);
}

/* The statistics of a counting kernel (+stat) while a team ran; a plain one has none. */

/* Counters only grow: what counts is the difference, which makes no sense of maxima. */
struct counted {
	struct core_stat before, after; /* sums over cores */
};

/* Before anybody runs, and when nobody does any more. */
void counted_read(struct core_stat *sum, const struct pair *pairs, uint64_t pair_size, unsigned cores);
/* As a member of the line of JSON, preceded by a comma; a plain kernel's is not there. */
void counted_print(const struct counted *counted);
