/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elphinstone's Figure 3: one-way IPC on one core. From the entry of a system call to its exit, as the port contract
 * has it: what the hosted port does instead of loading CR3 and FPU state is in it, mode switches are not.
 *
 * `one_way`, the figure to compare, is half of a round trip, of many in a row; before each entry all instructions
 * before it have to end, as they must where programs enter kernels. Without that it is `overlapped`: entries run into
 * each other. The others are timed one by one, less what reading the clock takes.
 */
#include <stdio.h>
#include "bench.h"
#include "team.h"

enum { TRIPS = 100, LONG = MESSAGE_REGISTERS + 1 };
enum operation {
	/* each by itself */
	EMPTY, CALL, REPLY_RECV, CALL_4, REPLY_RECV_4, SLOW_CALL, SLOW_REPLY_RECV, SIGNAL, POLL, YIELD,
	EMPTY_TRIPS, ONE_WAY, OVERLAPPED, /* many in a row */
	KINDS,
};
static const char *const names[] = { "empty", "call", "reply_recv", "call_4", "reply_recv_4", "slow_call",
	                             "slow_reply_recv", "signal", "poll", "yield", "empty_trips", "one_way",
	                             "overlapped" };

struct ipc {
	struct pair pair;
	uint64_t rounds;
	double *cycles[KINDS];
};

#define TIMED(statement)                         \
	({                                       \
		uint64_t from_ = cycles_begin(); \
		statement;                       \
		(double)(cycles_end() - from_);  \
	})

/* A call and its answer, timed; `words` in both. */
static void timed_trip(struct ipc *ipc, uint64_t round, enum operation call, unsigned words)
{
	const struct pair *pair = &ipc->pair;
	uint64_t label = round & 0xffff;
	ipc->cycles[call][round] = TIMED(pair_call(pair, message_info(label, 0, words)));
	pair_expect(current(pair->cpu) == pair->server && pair_label(pair->server) == label, "a call went astray");
	ipc->cycles[call + 1][round] = TIMED(pair_reply_receive(pair, message_info(label + 1, 0, words)));
	pair_expect(current(pair->cpu) == pair->client && pair_label(pair->client) == label + 1,
	            "an answer went astray");
}

/* Half of a round trip. What is constant here is none of the loop's work. */
static inline __attribute__((always_inline)) double round_trips(const struct pair *pair, bool fenced, bool empty)
{
	uint64_t from = cycles_begin();
	for (unsigned i = 0; i < TRIPS; i++) {
		if (fenced)
			__builtin_ia32_lfence();
		if (!empty)
			pair_call(pair, message_info(i, 0, 0));
		if (fenced)
			__builtin_ia32_lfence();
		if (!empty)
			pair_reply_receive(pair, message_info(i + 1, 0, 0));
	}
	return (double)(cycles_end() - from) / (2 * TRIPS);
}

static void timed_trips(struct ipc *ipc, uint64_t round)
{
	const struct pair *pair = &ipc->pair;
	ipc->cycles[EMPTY_TRIPS][round] = round_trips(pair, true, true);
	ipc->cycles[ONE_WAY][round] = round_trips(pair, true, false);
	ipc->cycles[OVERLAPPED][round] = round_trips(pair, false, false);
	pair_expect(current(pair->cpu) == pair->client && pair_label(pair->client) == TRIPS, "an answer was lost");
}

static void measure_pair(struct member *self)
{
	struct ipc *ipc = self->state;
	const struct pair *pair = &ipc->pair;
	pair_take(pair);
	cycles_until(self->team->start);
	for (uint64_t r = 0; r < ipc->rounds; r++) {
		ipc->cycles[EMPTY][r] = TIMED((void)0);
		timed_trip(ipc, r, CALL, 0);
		timed_trip(ipc, r, CALL_4, MESSAGE_REGISTERS);
		timed_trip(ipc, r, SLOW_CALL, LONG);
		ipc->cycles[SIGNAL][r] = TIMED(pair_enter(pair, SYS_SIGNAL, pair->notification, 0));
		ipc->cycles[POLL][r] = TIMED(pair_enter(pair, SYS_POLL, pair->notification, 0));
		pair_expect(pair->client->context.registers.rdi == 1, "a signal was lost");
		ipc->cycles[YIELD][r] = TIMED(pair_enter(pair, SYS_YIELD, 0, 0));
		pair_expect(current(pair->cpu) == pair->client, "somebody else runs");
	}
	for (uint64_t r = 0; r < ipc->rounds; r++)
		timed_trips(ipc, r);
}

int bench_ipc(struct options *options)
{
	static struct ipc ipc;
	static struct team team;
	options->cores = 1;
	ipc.rounds = options->rounds;
	for (unsigned kind = 0; kind < KINDS; kind++)
		ipc.cycles[kind] = bench_array(ipc.rounds, sizeof(double));
	pairs_make(0, 1, &ipc.pair);
	team_run(&team, options, measure_pair, &ipc, 0);

	bench_begin(&team);
	printf(",\"rounds\":%llu,\"cycles\":{", (unsigned long long)ipc.rounds);
	double less = 0; /* what measuring itself takes */
	for (unsigned kind = 0; kind < KINDS; kind++) {
		quantile_sort(ipc.cycles[kind], ipc.rounds);
		double cycles = quantile_mean(ipc.cycles[kind], ipc.rounds);
		if (kind == EMPTY || kind == EMPTY_TRIPS)
			less = cycles;
		printf("%s\"%s\":%.2f", kind ? "," : "", names[kind], cycles == less ||
		       kind == OVERLAPPED ? cycles : cycles - less);
	}
	printf("}}\n");
	return 0;
}
