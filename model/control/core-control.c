/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core that moves from cluster A to cluster B (skerry/core_control.h), beside
 * a cluster that fences one of the two. `owner` is what a kernel or a fence
 * writes while it takes the core for its own: two at a time are a data race.
 *
 * A reset is the claimer's: it takes the core from whatever kernel it runs in,
 * so a reset of a core that a third cluster has is the mistake that matters.
 */
#include <setjmp.h>
#include <string.h>
#include "explore.h"
#include <skerry/core_control.h>

enum { A = 1, B = 2, CLAIMER = 3, LIFE = 7 };

static struct core_control core;
static struct cluster_control control[3]; /* by number; of A and B */
static _Atomic uint32_t running;          /* the cluster whose kernel the core runs in; 0: it is in the loader */
static _Atomic uint32_t resets;
static uint64_t owner;                    /* written by what has the core */
static jmp_buf dead;

static void begin(uint32_t has, enum core_state state)
{
	memset(&core, 0, sizeof(core));
	for (unsigned i = A; i <= B; i++)
		atomic_store_explicit(&control[i].word, control_word(LIFE, 0, CONTROL_RUNNING), memory_order_relaxed);
	atomic_store_explicit(&core.word, core_word(0, has, B, state), memory_order_relaxed);
	atomic_store_explicit(&running, state == CORE_OWNED ? has : 0, memory_order_relaxed);
	explore_name(&core, sizeof(core), "core");
	explore_name(control, sizeof(control), "control");
	explore_name(&owner, sizeof(owner), "owner");
}
static void begin_owned(void) { begin(A, CORE_OWNED); }
static void begin_parked(void) { begin(A, CORE_PARKED); }

/* The core itself: in its kernel, then in the loader, as resident.c has it. It stops where nobody moves it on. */
static void in_loader(unsigned turns)
{
	while (turns--) {
		uint64_t word = core_read(&core);
		if (core_state(word) == CORE_LEAVING) {
			core_parked(&core, word);
		} else if (core_state(word) == CORE_JOINING && core_may_join(word, &control[core_owner(word)])) {
			atomic_store_explicit(&running, core_owner(word), memory_order_seq_cst);
			if (core_joined(&core, core_owner(word)))
				owner = core_owner(word);
			return;
		} else if (core_state(word) == CORE_HELD) {
			return; /* it waits for that cluster's next life */
		}
	}
}

/* A's kernel gives it up: the core goes to the loader, which is when it stops to run. */
static void gives_up(void)
{
	owner = A;
	if (!core_leave(&core, A, B))
		return;
	atomic_store_explicit(&running, 0, memory_order_seq_cst);
	in_loader(3);
}

/* A claimer fences `lost`: what it resets must be in that cluster's kernel, or in the loader. */
static void fences_by(uint32_t claimer, uint64_t word, uint32_t lost)
{
	if (!control_claim(&control[lost], word, claimer) || !control_fence_begin(&control[lost], claimer, 1))
		return;
	if (!core_hold(&core, lost))
		return;
	uint32_t in = atomic_load_explicit(&running, memory_order_seq_cst);
	EXPLORE_CHECK(in == lost || !in, "a reset reaches another cluster's core");
	atomic_fetch_add_explicit(&resets, 1, memory_order_relaxed);
}

static void fences(uint32_t lost) { fences_by(CLAIMER, control_word(LIFE, 0, CONTROL_RUNNING), lost); }

static bool is_one_of(uint64_t word, enum core_state state, uint32_t cluster)
{
	return core_state(word) == state && core_owner(word) == cluster;
}

static void leaves_while_fenced(unsigned self) { self ? fences(A) : gives_up(); }
static void held_or_parked(void)
{
	uint64_t word = core_read(&core);
	EXPLORE_CHECK(is_one_of(word, CORE_PARKED, A) || is_one_of(word, CORE_HELD, A),
	              "the core is nobody's, and cannot be taken");
	EXPLORE_CHECK(resets == (core_state(word) == CORE_HELD), "a core is held and not reset, or the reverse");
}

/* The same, and B takes the core as soon as it is parked: it has it, or A keeps it. */
static void taken_while_fenced(unsigned self)
{
	if (self == 0)
		gives_up();
	else if (self == 1)
		fences(A);
	else if (core_take(&core, B))
		in_loader(1);
}
static void one_has_it(void)
{
	uint64_t word = core_read(&core);
	EXPLORE_CHECK(is_one_of(word, CORE_PARKED, A) || is_one_of(word, CORE_HELD, A) ||
	              is_one_of(word, CORE_OWNED, B) ||
	              is_one_of(word, CORE_JOINING, B), "the core is nobody's, and cannot be taken");
	EXPLORE_CHECK(!is_one_of(word, CORE_OWNED, B) || !resets, "B has a core that was reset");
}

/* B takes the core while B is fenced: the core does not enter a kernel that is about to be loaded anew, or is reset. */
static void taker_is_fenced(unsigned self)
{
	if (self == 0)
		core_take(&core, B);
	else if (self == 1)
		fences(B);
	else
		in_loader(2);
}
static void not_left_in_it(void)
{
	EXPLORE_CHECK(running != B || core_state(core_read(&core)) == CORE_HELD ||
	              !control_is_claimed(control_read(&control[B])) ||
	              resets, "a core runs in a kernel that is fenced without it");
}

/* Two clusters want a parked core. */
static uint32_t takes;
static void both_take(unsigned self) { __atomic_fetch_add(&takes, core_take(&core, A + self), __ATOMIC_RELAXED); }
static void one_took(void) { EXPLORE_CHECK(takes == 1, "two clusters have one core"); }

/* A is fenced, and loaded when its kernel has stopped: a core that left before is not among those that start with
 * it. */
static void life_begins(unsigned self) { self ? (void)core_hold(&core, A) : gives_up(); }
static void begins_with_it(void)
{
	uint64_t word = core_read(&core);
	EXPLORE_CHECK(core_is_of(word, A) == (core_state(word) == CORE_HELD),
	              "a core starts with a cluster that it has left, or without its own");
	core_loaded(&core, A);
	word = core_read(&core);
	EXPLORE_CHECK(is_one_of(word, CORE_OWNED, A) || is_one_of(word, CORE_PARKED, A),
	              "a core of the next life is not the cluster's");
}

static void die(void) { longjmp(dead, 1); }

/*
 * Whoever moves the core dies before its n-th access: then its cluster is fenced, or the core can be taken. The one
 * that takes it dies likewise.
 */
static void dies(unsigned step, void (*mover)(void), uint32_t lost)
{
	if (!setjmp(dead)) {
		explore_die_at(step, die);
		mover();
	}
	explore_die_at(0, die);
	fences(lost);
	core_take(&core, B);
	uint64_t word = core_read(&core);
	EXPLORE_CHECK(core_state(word) == CORE_HELD ? core_owner(word) == lost : core_owner(word) == B,
	              "a core is lost with a move");
}
static void takes_over(void)
{
	core_take(&core, B);
	in_loader(2);
}

/* The one that fences A dies, while the core leaves and B takes it; another one fences A from the beginning. */
static void claimer_dies(unsigned self, unsigned step)
{
	if (self == 1) {
		gives_up();
	} else if (self == 2) {
		if (core_take(&core, B))
			in_loader(1);
	} else {
		if (!setjmp(dead)) {
			explore_die_at(step, die);
			fences(A);
		}
		explore_die_at(0, die);
		fences_by(CLAIMER + 1, control_read(&control[A]), A);
	}
}
static void one_has_it_reset_or_not(void)
{
	one_has_it();
	EXPLORE_CHECK(core_state(core_read(&core)) != CORE_HELD || resets, "a core is held and not reset");
}

#define DIES(n) \
	static void claimer_dies_##n(unsigned self) { claimer_dies(self, n); } \
	static void giver_dies_##n(unsigned self) { (void)self; dies(n, gives_up, A); } \
	static void taker_dies_##n(unsigned self) { (void)self; dies(n, takes_over, B); }
DIES(1) DIES(2) DIES(3) DIES(4) DIES(5) DIES(6) DIES(7) DIES(8)

#define CASE(n) \
	{ "the giver dies before access " #n, 1, giver_dies_##n, .begin = begin_owned }, \
	{ "the taker dies before access " #n, 1, taker_dies_##n, .begin = begin_parked }, \
	{ "a claimer dies before access " #n, 3, claimer_dies_##n, .begin = begin_owned, \
	  .end = one_has_it_reset_or_not }
static const struct explore_case cases[] = {
	{ "a core leaves while its cluster is fenced", 2, leaves_while_fenced, .begin = begin_owned,
	  .end = held_or_parked },
	{ "and is taken", 3, taken_while_fenced, .begin = begin_owned, .end = one_has_it },
	{ "the taker is fenced", 3, taker_is_fenced, .begin = begin_parked, .end = not_left_in_it },
	{ "both take", 2, both_take, .begin = begin_parked, .end = one_took },
	{ "a next life begins", 2, life_begins, .begin = begin_owned, .end = begins_with_it },
	CASE(1), CASE(2), CASE(3), CASE(4), CASE(5), CASE(6), CASE(7), CASE(8),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
