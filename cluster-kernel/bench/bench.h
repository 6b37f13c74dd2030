/* SPDX-License-Identifier: BSD-2-Clause */
/* Benchmarks of one regime: what they know of it, and the pairs of threads that they run. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include <skerry/stat.h>

#include "arch.h"
#include "hosted.h"
#include "kernel.h"
#include "message.h"
#include "team.h"

/* The benchmarks of one regime; each prints one line of JSON and returns the program's exit status. */

int bench_idle(struct options *options);      /* an idle lock */
int bench_contended(struct options *options); /* threads that want the same lock */
int bench_ipc(struct options *options);       /* calls and answers on one core */
int bench_scale(struct options *options);     /* the same on each core, independently */

/* Opens the line: the regime, and whether the host let the threads run. */
void bench_begin(const struct team *team);
/* Zeroed, and there: no page fault falls into what is measured. Ends the program where there is no memory. */
void *bench_array(uint64_t count, uint64_t size);

/* The regime that the benchmarks are built with, as they see it. */

/* Its name is its file's. */
static inline bool regime_is(const char *name)
{
	size_t length = strlen(name);
	return !strncmp(REGIME_HEADER, name, length) && !strcmp(REGIME_HEADER + length, ".h");
}

/* `none` runs one core of a kernel. */
static inline bool regime_excludes(void) { return !regime_is("none"); }

/* An entry that must have the kernel for itself, as a system call comes to it. */
static inline void regime_enter_alone(struct cpu *cpu)
{
	kernel_enter(cpu);
	if (kernel_exclusive(cpu))
		return;
	kernel_exit(cpu);
	kernel_enter_exclusive(cpu);
}

/* One object's lock, for threads that enter side by side: a thread's. */
static inline struct object_lock *regime_object(struct cpu *cpu) { return &cpu->shared.idle.lock; }
static inline void regime_lock(struct cpu *cpu, struct object_lock *object)
{
	object_lock(cpu, object, LOCK_CLASS_TCB);
}
static inline void regime_unlock(struct cpu *cpu, struct object_lock *object)
{
	object_unlock(cpu, object, LOCK_CLASS_TCB);
}

/*
 * A client and a server on one core of a hosted machine, each in an address
 * space of its own, that call and answer each other: Elphinstone's
 * microbenchmark. The thread of the host that measures is the core itself, so
 * that nothing but the kernel lies between one entry and the next.
 */

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
