/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an idle lock costs: kernel_enter() and kernel_exit(), one core, nobody else; beside the tightest lock and the
 * emptiest transaction, batch by batch in turn.
 */
#include <stdio.h>
#include "bench.h"
#include "rtm-instructions.h"
#include "team.h"

/* Bounds that no regime beats: a CLH lock with its user's node in a register, and an empty transaction. */

struct bare_node {
	_Alignas(64) _Atomic uint32_t held;
};

struct bare_clh {
	_Alignas(64) _Atomic(struct bare_node *) tail;
};

/* Returns the node that the caller queues next time, once it has released. */
static inline struct bare_node *bare_enter(struct bare_clh *lock, struct bare_node *mine)
{
	atomic_store_explicit(&mine->held, 1, memory_order_relaxed);
	struct bare_node *before = atomic_exchange_explicit(&lock->tail, mine, memory_order_acq_rel);
	while (atomic_load_explicit(&before->held, memory_order_acquire))
		__builtin_ia32_pause();
	return before;
}

static inline void bare_exit(struct bare_node *mine) { atomic_store_explicit(&mine->held, 0, memory_order_release); }

/* Begins and ends a transaction; false when it was aborted. Only where rtm_unusable() has no objection. */
static inline __attribute__((always_inline)) bool bare_transaction(void)
{
	uint32_t status;
	if (!rtm_xbegin(&status))
		return false;
	rtm_xend();
	return true;
}

enum { BATCH = 1000 };

enum idle_kind { EMPTY, ENTER_EXIT, EXCLUSIVE, OBJECT, BARE_CLH, BARE_RTM, KINDS };
static const char *const names[] = { "empty", "enter_exit", "exclusive", "object", "bare_clh", "bare_rtm" };

struct idle {
	struct pair pair;
	uint64_t rounds;
	bool rtm;
	uint64_t committed;
	struct bare_clh lock;
	struct bare_node first, own, *mine;
	double *cycles[KINDS]; /* of one pair: means of batches */
};

#define BATCH_OF(statement)                                \
	({                                                 \
		uint64_t from_ = cycles_begin();           \
		for (unsigned i_ = 0; i_ < BATCH; i_++) {  \
			statement;                         \
			__asm__ volatile("" ::: "memory"); \
		}                                          \
		(double)(cycles_end() - from_) / BATCH;    \
	})

static double run_batch(struct idle *idle, enum idle_kind kind)
{
	struct cpu *cpu = idle->pair.cpu;
	struct bare_node *mine = idle->mine, *before;
	double taken = 0;
	switch (kind) {
	case EMPTY: return BATCH_OF((void)0);
	case ENTER_EXIT: return BATCH_OF((kernel_enter(cpu), kernel_exit(cpu)));
	case EXCLUSIVE: return BATCH_OF((regime_enter_alone(cpu), kernel_exit(cpu)));
	case OBJECT: return BATCH_OF((regime_lock(cpu, regime_object(cpu)), regime_unlock(cpu, regime_object(cpu))));
	case BARE_CLH:
		taken = BATCH_OF((before = bare_enter(&idle->lock, mine), bare_exit(mine), mine = before));
		idle->mine = mine;
		return taken;
	default: return BATCH_OF(idle->committed += bare_transaction());
	}
}

static void measure_idle(struct member *self)
{
	struct idle *idle = self->state;
	pair_take(&idle->pair);
	cycles_until(self->team->start);
	for (uint64_t r = 0; r < idle->rounds; r++)
		for (unsigned kind = 0; kind < KINDS; kind++)
			if (kind != BARE_RTM || idle->rtm)
				idle->cycles[kind][r] = run_batch(idle, kind);
}

int bench_idle(struct options *options)
{
	static struct idle idle;
	static struct team team;
	options->cores = 1;
	idle = (struct idle){ .rounds = (options->rounds + BATCH - 1) / BATCH, .rtm = !rtm_unusable(),
	                      .mine = &idle.own };
	atomic_store(&idle.lock.tail, &idle.first);
	for (unsigned kind = 0; kind < KINDS; kind++)
		idle.cycles[kind] = bench_array(idle.rounds, sizeof(double));
	pairs_make(0, 1, &idle.pair);
	team_run(&team, options, measure_idle, &idle, 0);

	bench_begin(&team);
	printf(",\"batches\":%llu,\"batch\":%d,\"cycles\":{", (unsigned long long)idle.rounds, BATCH);
	for (int kind = 0; kind < (idle.rtm ? KINDS : BARE_RTM); kind++) {
		quantile_sort(idle.cycles[kind], idle.rounds);
		printf("%s\"%s\":%.3f", kind ? "," : "", names[kind], quantile(idle.cycles[kind], idle.rounds, 0.5));
	}
	printf("}");
	if (idle.rtm)
		printf(",\"rtm_committed\":%.6f", (double)idle.committed / ((double)idle.rounds * BATCH));
	printf("}\n");
	return 0;
}
