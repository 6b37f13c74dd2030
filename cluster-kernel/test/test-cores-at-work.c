/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that leave and come back, memory that is given away meanwhile, and locks that change, while threads call,
 * signal and wait without pause, mostly by the fast paths: whatever begins in the entry of a fast path, its work is
 * done.
 */
#include <skerry/cluster_mask.h>
#include "neighbour.h"
#include "programs.h"
#include "thread.h"

enum { CORES = 3, NEIGHBOUR = 5, ROUNDS = 3000, WORKERS = 6, SLICE = 3000 };
enum { NOTE = 1000, ENDPOINT = 1010, REPLY = 1020, WORKER = 1100, CONTROL = ROOT_SLOT_CLUSTER_CONTROL };

static _Atomic bool finished;
static uint64_t seed;
static unsigned returned; /* so often a core has come back */

static unsigned draw(unsigned count)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % count;
}

static uint64_t worker_slot(unsigned i) { return WORKER + 10 * i; }

/* Moves the workers, one after the other, away from the last core, and asks that to leave, which it does once it
 * idles. */
static bool make_room(struct program *self, unsigned core)
{
	enum { TRIES = 8 };
	const unsigned i = (unsigned)self->value++;
	if (i < WORKERS)
		return invoke_on(self, core, worker_slot(i), TCB_SCHEDULE, W(100, i % (CORES - 1)), W(ROOT_SLOT_TCB));
	if (i < WORKERS + 2 * TRIES && i % 2)
		return post(self, core, SYS_YIELD, 0, 0, 0);
	if (i >= WORKERS + 2 * TRIES - 2)
		self->value = 0;
	return invoke_on(self, core, CONTROL, CORE_LEAVE, W(CORES - 1, NEIGHBOUR), NONE);
}

static bool root_next(struct program *self, unsigned core)
{
	if (self->step++)
		EXPECT(last(self) == 0 || last(self) == SKERRY_BUSY || last(self) == SKERRY_BAD_ARGUMENT, true);
	if (self->value)
		return make_room(self, core);
	if (--self->left == 0) {
		atomic_store_explicit(&finished, true, memory_order_relaxed);
		return false;
	}
	const unsigned drawn = draw(32);
	if (drawn < 6) /* coarse mostly: the fast wait is not a reader's */
		return invoke_on(self, core, ROOT_SLOT_CONTROL, CONTROL_GRANULARITY,
		                 W(drawn < 2 ? GRANULARITY_FINE : GRANULARITY_COARSE), NONE);
	if (drawn < 8)
		return make_room(self, core);
	if (drawn < 11) {
		returned += neighbour_returns_core(CORES - 1, NEIGHBOUR, 0);
		return invoke_on(self, core, CONTROL, CORE_TAKE, W(CORES - 1), NONE);
	}
	if (drawn < 14)
		return invoke_on(self, core, worker_slot(draw(WORKERS)), TCB_SCHEDULE, W(99 + draw(3), draw(CORES)),
		                 W(ROOT_SLOT_TCB));
	if (drawn < 16)
		return invoke_on(self, core, CNODE, CNODE_LOCALITY,
		                 W(draw(2) ? ENDPOINT : NOTE + draw(4), draw(3) ? MASK_ALL : mask_of(draw(CORES - 1))),
		                 NONE);
	hosted_advance(machine, SLICE / 4);
	return post(self, core, SYS_YIELD, 0, 0, 0);
}

/* Two and two wake each other, and each waits for the other. */
static bool waiter_next(struct program *self, unsigned core)
{
	struct hosted_call signal_wait = { .number = SYS_SIGNAL_WAIT, .cptr = NOTE + self->index,
	                                   .reply = NOTE + (self->index ^ 1) };
	if (self->step++)
		EXPECT(last(self), 0);
	if (atomic_load_explicit(&finished, memory_order_relaxed))
		return false;
	hosted_post_call(machine, core, &signal_wait);
	return true;
}

static bool client_next(struct program *self, unsigned core)
{
	if (self->step) {
		EXPECT(last(self), 0);
		EXPECT(word(self->thread, 0), self->step + 1);
	}
	if (atomic_load_explicit(&finished, memory_order_relaxed))
		return false;
	return post(self, core, SYS_CALL, ENDPOINT, ++self->step, 0);
}

static bool server_next(struct program *self, unsigned core)
{
	if (!self->step++)
		return post(self, core, SYS_RECV, ENDPOINT, 0, REPLY);
	EXPECT(last(self), 0);
	return post(self, core, SYS_REPLY_RECV, ENDPOINT, word(self->thread, 0) + 1, REPLY);
}

static void at_work(void)
{
	static const struct hosted_controlled controlled[] = { { .cluster = NEIGHBOUR, .cores = 2 } };
	struct hosted_config config = machine->config;
	struct program p[1 + WORKERS] = { { .next = root_next, .left = ROUNDS, .vaddr = ROOT_IPC_BUFFER_VADDR } };
	config.controlled_count = 1;
	config.controlled = controlled;
	hosted_destroy(machine);
	machine = hosted_create(&config);
	machine->kernel.slice = SLICE;
	if (config.seed % 2 == 0)
		machine->kernel.work_budget = 1;
	p[0].thread = machine->root;
	make(OBJECT_NOTIFICATION, 0, NOTE, 4);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	for (unsigned i = 0; i < WORKERS; i++)
		p[1 + i] = (struct program){ .thread = spawn(worker_slot(i), 100, i < 4 ? 1 + i / 2 : 1), .index = i,
			                     .next = i < 4 ? waiter_next : i == 4 ? server_next : client_next };
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(102, 0), W(ROOT_SLOT_TCB)), 0);
	seed = config.seed;
	returned = 0;
	atomic_store(&finished, false);
	run_programs(p, 1 + WORKERS, 0);
	EXPECT(returned > 4, true);
}

TESTS(cores_at_work) = {
	{ "cores leave and come, and locks change, under threads at work", at_work, CORES },
	{ 0 },
};
