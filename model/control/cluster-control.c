/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lost cluster of two cores that is started again (skerry/cluster_control.h):
 * claimers, of which one may die before each of its accesses, and the cores. A
 * core's kernel writes the cluster's memory until its reset takes it to the
 * loader; loading while it still writes is a data race.
 */
#include <setjmp.h>
#include <string.h>
#include "explore.h"
#include <skerry/cluster_control.h>

enum { LOST_LIFE = 7, WORST = 12 };

static struct cluster_control control;
static _Atomic uint64_t resets;  /* each sends both cores to the loader */
static _Atomic uint32_t is_dead; /* the first claimer */
static uint64_t memory[2];       /* the cluster's */
static uint32_t claims, loads, entered;
static uint32_t cores;
static jmp_buf dead;

static void begin_with(uint32_t count)
{
	memset(&control, 0, sizeof(control));
	atomic_store_explicit(&control.word, control_word(LOST_LIFE, 0, CONTROL_RUNNING), memory_order_relaxed);
	atomic_store_explicit(&control.parked[0], UINT64_MAX, memory_order_relaxed); /* as its former rescue left it */
	cores = count;
	explore_name(&control, sizeof(control), "control");
	explore_name(memory, sizeof(memory), "memory");
}
static void begin_one(void) { begin_with(1); }
static void begin_two(void) { begin_with(2); }

static void reset(void) { atomic_fetch_add_explicit(&resets, 1, memory_order_acq_rel); }

/* From any state of the life that was lost, until another one runs. */
static void rescue(uint32_t self)
{
	const struct boot_cores all = { { (1u << cores) - 1 } };
	for (;;) {
		uint64_t word = control_read(&control);
		if (control_life(word) != LOST_LIFE)
			return;
		if (!control_is_claimed(word) || control_claimer(word) != self) {
			if (!control_claim(&control, word, self))
				continue;
			if (control_fence_begin(&control, self, cores)) {
				reset();
				control_fence_end(&control, self);
			}
		} else if (!control_start(&control, self, &all)) {
			explore_relax();
		}
	}
}

static void load(uint64_t word)
{
	for (unsigned i = 0; i < cores; i++)
		memory[i] = control_life(word) + 1;
	loads++;
}

static void enter(uint32_t core, uint64_t word)
{
	EXPLORE_CHECK(control_life(word) == LOST_LIFE + 1 && memory[core] == LOST_LIFE + 1,
	              "a core enters what was not loaded");
	__atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
}

/* The loader's side, as resident.c has it. */
static void core(uint32_t self)
{
	uint64_t seen, now;
	uint32_t life = 0;
	memory[self] = 99; /* the old kernel's */
	while (!(seen = atomic_load_explicit(&resets, memory_order_acquire)))
		explore_relax();
	life = control_arrive(&control, self);
	for (;;) {
		uint64_t word = control_read(&control);
		if (control_may_enter(word, life)) {
			enter(self, word);
			return;
		}
		if (self == 0 && control_state(word) == CONTROL_LOADING) {
			load(word);
			if (control_loaded(&control, word)) {
				enter(self, control_read(&control));
				return;
			}
		} else if ((now = atomic_load_explicit(&resets, memory_order_acquire)) != seen) {
			seen = now;
			life = control_arrive(&control, self);
		} else {
			explore_relax();
		}
	}
}

static void one_rescues(unsigned self) { self ? core(self - 1) : rescue(1); }

static void started(void)
{
	EXPLORE_CHECK(control_read(&control) == control_word(LOST_LIFE + 1, 0, CONTROL_RUNNING),
	              "the cluster does not run");
	EXPLORE_CHECK(entered == cores, "a core is missing");
}

/*
 * The core is the boot processor: its NMI's handler, which is its old kernel's, leaves for the loader if it finds the
 * cluster claimed. Else that kernel panics, and the core comes to nothing.
 */
static void boot_core(void)
{
	memory[0] = 99;
	while (!atomic_load_explicit(&resets, memory_order_acquire))
		explore_relax();
	EXPLORE_CHECK(control_must_park(&control), "an NMI of the fence is taken for the machine's");
	core(0);
}
static void boot_core_comes(unsigned self) { self ? boot_core() : rescue(1); }

/* Each takes the other one for lost: never are both fenced. */
static struct cluster_control pair[2];
static uint32_t fenced_each;
static void each_other(unsigned self)
{
	struct cluster_control *other = &pair[!self];
	if (!control_claim(other, control_word(LOST_LIFE, 0, CONTROL_RUNNING), self) ||
	    !control_fence_begin(other, self, 1))
		return;
	if (!control_yields(&pair[self], other, self, !self))
		__atomic_fetch_add(&fenced_each, 1, __ATOMIC_RELAXED);
}
static void begin_each(void)
{
	for (unsigned i = 0; i < 2; i++)
		atomic_store_explicit(&pair[i].word, control_word(LOST_LIFE, 0, CONTROL_RUNNING), memory_order_relaxed);
	explore_name(pair, sizeof(pair), "pair");
}
static void not_both(void) { EXPLORE_CHECK(fenced_each < 2, "two clusters fence each other"); }

static void fence_finds(unsigned self)
{
	if (self == 0) {
		control_claim(&control, control_word(LOST_LIFE, 0, CONTROL_RUNNING), 1);
		control_fence_begin(&control, 1, cores);
		reset();
	} else {
		while (!atomic_load_explicit(&resets, memory_order_acquire))
			explore_relax();
		EXPLORE_CHECK(control_must_park(&control), "an NMI of the fence is taken for the machine's");
	}
}

/* An NMI of the machine, not of a fence, while another cluster claims this one: it parks only where it is claimed. */
static void machines_nmi(unsigned self)
{
	if (self == 0) {
		control_claim(&control, control_word(LOST_LIFE, 0, CONTROL_RUNNING), 1);
		control_give_up(&control, 1);
	} else if (control_must_park(&control)) {
		EXPLORE_CHECK(control_state(control_read(&control)) != CONTROL_RUNNING,
		              "a core leaves a cluster that nobody has claimed");
	}
}

/* Both have seen the same word. */
static void both_claim(unsigned self)
{
	if (control_claim(&control, control_word(LOST_LIFE, 0, CONTROL_RUNNING), self + 1))
		__atomic_fetch_add(&claims, 1, __ATOMIC_RELAXED);
}
static void one_claimed(void) { EXPLORE_CHECK(claims == 1, "two clusters have one claim"); }

static void die(void) { longjmp(dead, 1); }

/* The first claimer dies; the second sees that, and goes on. */
static void dies(unsigned self, unsigned step)
{
	if (self == 0) {
		if (!setjmp(dead)) {
			explore_die_at(step, die);
			rescue(1);
		}
		explore_die_at(0, die);
		atomic_store_explicit(&is_dead, 1, memory_order_release);
	} else if (self == 1) {
		while (!atomic_load_explicit(&is_dead, memory_order_acquire))
			explore_relax();
		rescue(2);
	} else {
		core(self - 2);
	}
}

/* A reset that a claimer sent late: a core that it hits in a new life waits for the next one. */
static void late(unsigned self)
{
	if (self == 0) {
		uint32_t life = control_arrive(&control, 0);
		EXPLORE_CHECK(life != LOST_LIFE || !control_may_enter(control_read(&control), life),
		              "a core enters the life that it left");
	} else {
		control_loaded(&control, control_word(LOST_LIFE - 1, 1, CONTROL_LOADING));
	}
}
static void begin_late(void)
{
	begin_with(1);
	atomic_store_explicit(&control.word, control_word(LOST_LIFE - 1, 1, CONTROL_LOADING), memory_order_relaxed);
}

#define DIES(n) static void dies_##n(unsigned self) { dies(self, n); }
DIES(1) DIES(2) DIES(3) DIES(4) DIES(5) DIES(6) DIES(7) DIES(8) DIES(9) DIES(10) DIES(11) DIES(12)
_Static_assert(WORST == 12, "a case for each access");

#define CASE(n) { "a claimer dies before access " #n, 3, dies_##n, .begin = begin_one, .end = started }
static const struct explore_case cases[] = {
	{ "one rescues", 3, one_rescues, .begin = begin_two, .end = started },
	{ "the boot processor comes", 2, boot_core_comes, .begin = begin_one, .end = started },
	{ "two claim each other", 2, each_other, .begin = begin_each, .end = not_both },
	{ "the fence's NMI finds the claim", 2, fence_finds, .begin = begin_one },
	{ "an NMI of the machine", 2, machines_nmi, .begin = begin_one },
	{ "both claim", 2, both_claim, .begin = begin_one, .end = one_claimed },
	{ "a late reset", 2, late, .begin = begin_late },
	CASE(1), CASE(2), CASE(3), CASE(4), CASE(5), CASE(6), CASE(7), CASE(8), CASE(9), CASE(10), CASE(11), CASE(12),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
