/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A TCB, its CSpace and its address space are destroyed in every order, while another core runs the thread, waits for
 * the lock with it, takes an interrupt, or leaves it for another thread.
 */
#include "programs.h"
#include "thread.h"
#include "vspace.h"

enum { ROUNDS = 600, ORDERS = 6, CORES = 3, NODE_BITS = 4 };
/* Slots: the victim's memory, and what is made of it. */
enum { POOL = 1000, VICTIM, NODE, SPACE, NOTE = 1010, COPY = 1020, BYSTANDER = 1100 };
enum { IN_NODE = 3, PIN = 3, HANDLER = 1030, IRQ_NOTE = 1031 }; /* in the victim's CNode: NOTE */

static _Atomic bool finished, space_gone; /* the victim has no address space any more */

static const struct step {
	uint64_t cptr, label, word[5], cap[2];
	unsigned words, caps;
} life[] = {
	{ POOL, UNTYPED_RETYPE, { OBJECT_TCB, 0, VICTIM, 1 }, { CNODE }, 4, 1 },
	{ POOL, UNTYPED_RETYPE, { OBJECT_CNODE, NODE_BITS, NODE, 1 }, { CNODE }, 4, 1 },
	{ POOL, UNTYPED_RETYPE, { OBJECT_VSPACE, 0, SPACE, 1 }, { CNODE }, 4, 1 },
	{ NODE, CNODE_COPY, { IN_NODE, NOTE, RIGHT_ALL }, { CNODE }, 4, 1 },
	{ CNODE, CNODE_MINT, { COPY, NODE, RIGHT_ALL, 0, 64 - NODE_BITS }, { CNODE }, 5, 1 }, /* with a guard */
	{ VICTIM, TCB_CONFIGURE, { 0, 0 }, { COPY, SPACE }, 2, 2 },
	{ VICTIM, TCB_SCHEDULE, { 100, 1 }, { ROOT_SLOT_TCB }, 2, 1 }, /* the core is another one each round */
	{ VICTIM, TCB_RESUME, { 0 }, { 0 }, 0, 0 },
};
enum { LIFE = sizeof(life) / sizeof(life[0]), TURNS_MAX = 4 };

/* The capabilities to delete, in every order; revoked, so that the thread's own copies go. */
static const uint64_t orders[ORDERS][3] = { { VICTIM, NODE, SPACE }, { VICTIM, SPACE, NODE }, { NODE, VICTIM, SPACE },
	                                    { NODE, SPACE, VICTIM }, { SPACE, VICTIM, NODE }, { SPACE, NODE, VICTIM } };

static bool go(struct program *self, unsigned core, const struct step *s)
{
	uint64_t words[5];
	for (unsigned i = 0; i < 5; i++)
		words[i] = s->word[i];
	if (s->label == TCB_SCHEDULE) {
		words[0] = 99 + self->left % 3;
		words[1] = 1 + self->left / 3 % (CORES - 1);
	}
	return invoke_on(self, core, s->cptr, s->label, words, s->words, s->cap, s->caps);
}

/* A round: a life, a few turns for others, the three deaths, each a revocation and a deletion, and the rest. */
static bool reaper_next(struct program *self, unsigned core)
{
	const unsigned turns = self->left % TURNS_MAX, deaths = LIFE + turns, end = deaths + 6;
	if (self->step)
		EXPECT(last(self), 0);
	unsigned at = (unsigned)self->value++;
	if (at > deaths && at <= end && orders[self->left % ORDERS][(at - 1 - deaths) / 2] == SPACE &&
	    (at - deaths) % 2)
		atomic_store_explicit(&space_gone, true, memory_order_relaxed);
	else if (at == 0)
		atomic_store_explicit(&space_gone, false, memory_order_relaxed);
	self->step++;
	if (at < LIFE)
		return go(self, core, &life[at]);
	if (at < deaths) {
		if (self->left % 5 == 0)
			hosted_raise_pin(machine,
			                 PIN); /* the core takes an interrupt, of a device or for its time slice */
		else if (self->left % 5 == 1)
			hosted_advance(machine, machine->kernel.slice);
		return post(self, core, SYS_YIELD, 0, 0, 0);
	}
	if (at < end) {
		const uint64_t slot = orders[self->left % ORDERS][(at - deaths) / 2];
		return invoke_on(self, core, CNODE, (at - deaths) % 2 ? CNODE_DELETE : CNODE_REVOKE, W(slot), NONE);
	}
	self->value = 0;
	if (--self->left == 0)
		atomic_store_explicit(&finished, true, memory_order_relaxed);
	return invoke_on(self, core, CNODE, CNODE_REVOKE, W(POOL), NONE);
}

/* All calls name the victim's own CNode. */
static bool victim_next(struct program *self, unsigned core)
{
	static const uint8_t numbers[] = { SYS_SIGNAL, SYS_YIELD, SYS_SIGNAL, SYS_POLL, SYS_CALL };
	EXPECT(!atomic_load_explicit(&space_gone, memory_order_relaxed) ||
	       !machine->kernel.cpu[core]->own.loaded_vspace, true);
	hosted_touch(machine, core, 0x1000);
	return post(self, core, numbers[self->step++ % sizeof(numbers)], IN_NODE, 0, 0);
}

static bool bystander_next(struct program *self, unsigned core)
{
	if (self->step++)
		EXPECT(last(self), 0);
	if (atomic_load_explicit(&finished, memory_order_relaxed))
		return false;
	return post(self, core, self->step % 2 ? SYS_SIGNAL : SYS_YIELD, self->step % 2 ? NOTE : 0, 0, 0);
}

static void dies(void)
{
	struct program p[4] = { { .thread = machine->root, .next = reaper_next, .left = ROUNDS,
	                          .vaddr = ROOT_IPC_BUFFER_VADDR } };
	make(OBJECT_UNTYPED, 16, POOL, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_NOTIFICATION, 0, IRQ_NOTE, 1);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, 1, PIN, 0), W(CNODE)), 0);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(IRQ_NOTE)), 0);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, VICTIM, 1), W(CNODE)), 0);
	p[1] = (struct program){ .thread = (struct thread *)slot_of(VICTIM)->cap.object, .next = victim_next };
	revoke(POOL); /* those to come are at the same place */
	for (unsigned i = 0; i < CORES - 1; i++)
		p[2 + i] = (struct program){ .thread = spawn(BYSTANDER + 10 * i, 100, 1 + i), .next = bystander_next };
	atomic_store(&finished, false);
	run_programs(p, 4, 0);
	EXPECT(p[1].step > ROUNDS / 2, true); /* it ran */
}

TESTS(deaths) = {
	{ "a thread, its CSpace and its address space go in every order", dies, CORES | TEST_ONCE },
	{ 0 },
};
