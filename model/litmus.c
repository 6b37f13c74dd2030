/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The explorer against what is known of C11: for each of the classic small
 * programs, all outcomes that RC11 allows are seen, no other, and each
 * execution once. (Alglave et al., "Herding cats"; Lahav et al., PLDI 2017.)
 */
#include <stdatomic.h>
#include <stdio.h>
#include "engine.h"

static _Atomic uint32_t x, y;
static uint32_t data;
static uint32_t r[4]; /* what was read; each is one thread's own */

#define REL memory_order_release
#define ACQ memory_order_acquire
#define RLX memory_order_relaxed
#define SC  memory_order_seq_cst

#define STORE(place, value, order) atomic_store_explicit(&place, value, order)
#define LOAD(place, order)         atomic_load_explicit(&place, order)

static void registers(void) { explore_outcome(r[0] | r[1] << 4 | r[2] << 8 | r[3] << 12); }
static void final(void) { explore_outcome(LOAD(x, RLX) | LOAD(y, RLX) << 4); }

/* Bodies that differ in nothing but their orders. */
#define STORE_BUFFERING(name, st, ld)                                                  \
	static void name(unsigned self)                                               \
	{                                                                             \
		STORE(*(self ? &y : &x), 1, st);                                      \
		r[self] = LOAD(*(self ? &x : &y), ld);                                \
	}
STORE_BUFFERING(sb_relaxed, RLX, RLX)
STORE_BUFFERING(sb_release, REL, ACQ)
STORE_BUFFERING(sb_sequential, SC, SC)

static void sb_exchange(unsigned self)
{
	atomic_exchange_explicit(self ? &y : &x, 1, SC);
	r[self] = LOAD(*(self ? &x : &y), ACQ); /* as x86 has it, but not C11: the exchange is no fence */
}

/* Dekker by read-modify-writes of one place: what ring.h does. */
static void sb_same_place(unsigned self)
{
	static _Atomic uint32_t flag[2];
	STORE(flag[self], 1, RLX);
	atomic_exchange_explicit(&x, 1, memory_order_acq_rel);
	r[self] = LOAD(flag[!self], RLX);
}

static void sb_fence(unsigned self)
{
	STORE(*(self ? &y : &x), 1, RLX);
	atomic_thread_fence(SC);
	r[self] = LOAD(*(self ? &x : &y), RLX);
}

static void sb_one_fence(unsigned self)
{
	STORE(*(self ? &y : &x), 1, RLX);
	if (self)
		atomic_thread_fence(SC);
	r[self] = LOAD(*(self ? &x : &y), RLX);
}

#define MESSAGE(name, st, ld)                                                          \
	static void name(unsigned self)                                               \
	{                                                                             \
		if (!self) {                                                          \
			STORE(x, 1, RLX);                                             \
			STORE(y, 1, st);                                              \
		} else {                                                              \
			r[0] = LOAD(y, ld);                                           \
			r[1] = LOAD(x, RLX);                                          \
		}                                                                     \
	}
MESSAGE(mp_relaxed, RLX, RLX)
MESSAGE(mp_half, REL, RLX)
MESSAGE(mp_release, REL, ACQ)

static void load_buffering(unsigned self)
{
	r[self] = LOAD(*(self ? &y : &x), RLX);
	STORE(*(self ? &x : &y), 1, RLX);
}

#define TWO_WRITES(name, order)                                                        \
	static void name(unsigned self)                                               \
	{                                                                             \
		STORE(*(self ? &y : &x), 1, order);                                   \
		STORE(*(self ? &x : &y), 2, order);                                   \
	}
TWO_WRITES(two_writes_release, REL)
TWO_WRITES(two_writes_sequential, SC)

static void coherence(unsigned self)
{
	if (self == 2)
		r[0] = LOAD(x, RLX), r[1] = LOAD(x, RLX);
	else
		STORE(x, self + 1, RLX);
}

#define INDEPENDENT_READS(name, st, ld)                                                \
	static void name(unsigned self)                                               \
	{                                                                             \
		if (self == 0)                                                        \
			STORE(x, 1, st);                                              \
		else if (self == 1)                                                   \
			STORE(y, 1, st);                                              \
		else if (self == 2)                                                   \
			r[0] = LOAD(x, ld), r[1] = LOAD(y, ld);                       \
		else                                                                  \
			r[2] = LOAD(y, ld), r[3] = LOAD(x, ld);                       \
	}
INDEPENDENT_READS(iriw_acquire, REL, ACQ)
INDEPENDENT_READS(iriw_sequential, SC, SC)

static void additions(unsigned self) { r[self] = atomic_fetch_add_explicit(&x, 1, RLX); }

/* A relaxed read-modify-write hands a release on. */
static void release_sequence(unsigned self)
{
	if (self == 0) {
		data = 1;
		STORE(x, 1, REL);
	} else if (self == 1) {
		atomic_fetch_add_explicit(&x, 2, RLX);
	} else if (LOAD(x, ACQ) == 3) {
		r[0] = data;
	}
}

static void plain_message(unsigned self)
{
	if (!self) {
		data = 7;
		STORE(x, 1, REL);
	} else if (LOAD(x, ACQ)) {
		r[0] = data;
	}
}

static void plain_race(unsigned self)
{
	if (!self) {
		data = 7;
		STORE(x, 1, RLX);
	} else if (LOAD(x, ACQ)) {
		r[0] = data;
	}
}

static void waits(unsigned self)
{
	if (!self)
		STORE(x, 1, REL);
	else
		while (!LOAD(x, ACQ))
			explore_relax();
}

/* Each clears what it waits for before it looks: now and then for ever. */
static void lost_wakeup(unsigned self)
{
	if (!self) {
		STORE(x, 1, REL);
	} else {
		STORE(x, 0, RLX);
		while (!LOAD(x, ACQ))
			explore_relax();
	}
}

static void compare_and_swap(unsigned self)
{
	uint32_t expected = 0;
	r[self] = atomic_compare_exchange_strong_explicit(&x, &expected, self + 1, RLX, RLX);
}

/* One that exchanges nothing has the order of failure, whatever that of success is. */
#define FAILED_EXCHANGE(name, success, failure)                                               \
	static void name(unsigned self)                                                       \
	{                                                                                     \
		uint32_t expected = 5;                                                        \
		if (self) {                                                                   \
			STORE(x, 1, SC);                                                      \
			STORE(y, 1, SC);                                                      \
		} else {                                                                      \
			atomic_compare_exchange_strong_explicit(&y, &expected, 9, success, failure); \
			r[0] = expected;                                                      \
			r[1] = LOAD(x, RLX);                                                  \
		}                                                                             \
	}
FAILED_EXCHANGE(failed_relaxed, SC, RLX)
FAILED_EXCHANGE(failed_acquire, SC, ACQ)

struct known {
	struct explore_case c;
	unsigned outcomes;
	uint64_t executions; /* 0: a failure must be found */
};

#define T(text, count, body, after) { .name = text, .threads = count, .thread = body, .end = after }
static const struct known known[] = {
	{ T("store buffering, relaxed", 2, sb_relaxed, registers), 4, 4 },
	{ T("store buffering, release and acquire", 2, sb_release, registers), 4, 4 },
	{ T("store buffering, sequentially consistent", 2, sb_sequential, registers), 3, 3 },
	{ T("store buffering, exchange and load", 2, sb_exchange, registers), 4, 4 },
	{ T("store buffering, exchanges of one place between", 2, sb_same_place, registers), 3, 4 },
	{ T("store buffering, fences", 2, sb_fence, registers), 3, 4 },
	{ T("store buffering, one fence", 2, sb_one_fence, registers), 4, 4 },
	{ T("message passing, relaxed", 2, mp_relaxed, registers), 4, 4 },
	{ T("message passing, release only", 2, mp_half, registers), 4, 4 },
	{ T("message passing, release and acquire", 2, mp_release, registers), 3, 3 },
	{ T("load buffering", 2, load_buffering, registers), 3, 3 },
	{ T("two writes each, release", 2, two_writes_release, final), 4, 4 },
	{ T("two writes each, sequentially consistent", 2, two_writes_sequential, final), 3, 3 },
	{ T("coherence of reads", 3, coherence, registers), 7, 12 },
	{ T("independent reads, acquire", 4, iriw_acquire, registers), 16, 16 },
	{ T("independent reads, sequentially consistent", 4, iriw_sequential, registers), 15, 15 },
	{ T("three additions", 3, additions, registers), 6, 6 },
	{ T("a release sequence", 3, release_sequence, registers), 2, 6 },
	{ T("a plain message", 2, plain_message, registers), 2, 2 },
	{ T("waiting", 2, waits, registers), 1, 2 },
	{ T("compare and swap", 3, compare_and_swap, registers), 3, 3 },
	{ T("a failed exchange, relaxed", 2, failed_relaxed, registers), 4, 4 },
	{ T("a failed exchange, acquire", 2, failed_acquire, registers), 3, 3 },
	{ T("a data race", 2, plain_race, registers), 0, 0 },
	{ T("a lost wake-up", 2, lost_wakeup, registers), 0, 0 },
};

int main(void)
{
	bool wrong = false;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *k = &known[i];
		struct engine_count count;
		const char *failure = engine_explore(&k->c, &count);
		bool good = k->executions ? !failure && count.outcomes == k->outcomes &&
		            count.executions == k->executions
		                          : failure != 0;
		wrong |= !good;
		printf("%s: %s: %u outcomes, %llu executions, %llu redundant%s%s\n", good ? "ok" : "FAIL", k->c.name,
		       count.outcomes, (unsigned long long)count.executions, (unsigned long long)count.redundant,
		       failure ? "; " : "", failure ? failure : "");
	}
	return wrong;
}
