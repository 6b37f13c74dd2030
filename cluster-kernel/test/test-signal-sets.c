/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals to a set of notifications in one call (SYS_SIGNAL_SET). */
#include "harness.h"
#include "notification.h"
#include "work.h"

enum { NOTES = 1000, COUNT = 64, BADGED = 1080, A = 1100, CORES = 4 };

static void objects(void) { make(OBJECT_NOTIFICATION, 0, NOTES, COUNT); }

static uint64_t signal_set(uint64_t first, uint64_t mask)
{
	return syscall_on(0, SYS_SIGNAL_SET, first, 0, W(mask), NONE, 0);
}

static uint64_t word_of(uint64_t slot) { return ((const struct notification *)slot_of(slot)->cap.object)->word; }
static uint64_t left(void) { return word(machine->root, 0); }

/* Those of the first 64 that are signalled. */
static uint64_t signalled(void)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < COUNT; i++)
		mask |= (uint64_t)(word_of(NOTES + i) == 1) << i;
	return mask;
}

static void each_member_and_no_other(void)
{
	static const uint64_t masks[] = { 0, 1, 1ull << 63, 0xaaaaaaaaaaaaaaaa, 5ull << 40, ~0ull };
	objects();
	uint64_t before = 0;
	for (unsigned i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		EXPECT(signal_set(NOTES, masks[i]), 0);
		EXPECT(left(), 0);
		before |= masks[i];
		EXPECT(signalled(), before);
	}
}

static void by_the_badge_of_each(void)
{
	objects();
	for (unsigned i = 0; i < 3; i++)
		copy(BADGED + i, NOTES + i, RIGHT_WRITE, 0x10 << i);
	EXPECT(signal_set(BADGED, 5), 0);
	EXPECT(signal_set(BADGED, 7), 0);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(word_of(NOTES + i), 0x10u << i);
}

/* Those before the refused one are signalled; RDX has the others. */
static void the_first_refused_ends_it(void)
{
	enum { EMPTY = BADGED, READ_ONLY = BADGED + 2 };
	objects();
	make(OBJECT_ENDPOINT, 0, BADGED + 1, 1);
	copy(READ_ONLY, NOTES, RIGHT_READ, 0);
	const uint64_t shift = BADGED - (NOTES + 60); /* bits 0 to 3 are the last notifications */
	EXPECT(shift >= 4 && shift + 3 < 64, true);
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t rest = 1ull << (shift + i) | 1ull << 63;
		EXPECT(signal_set(NOTES + 60, 5 | rest), i == 2 ? SKERRY_NO_RIGHTS : SKERRY_BAD_CAP);
		EXPECT(left(), rest);
		EXPECT(signalled(), 5ull << 60);
	}
	EXPECT(signal_set(0, 1), SKERRY_BAD_CAP);
	EXPECT(signal_set(~0ull, 1), SKERRY_BAD_CAP);
	EXPECT(signal_set(~0ull - 62, 1ull << 63), SKERRY_BAD_CAP);
	EXPECT(signal_set(~0ull, 0), 0);
}

/* All in one entry, and each core is interrupted once, for two threads. */
static void one_round_of_interrupts(void)
{
	enum { THREADS = 2 * (CORES - 1) };
	const struct thread *t[THREADS];
	uint32_t before[CORES];
	objects();
	machine->kernel.work_budget = WORK_BUDGET;
	for (unsigned i = 0; i < THREADS; i++) {
		t[i] = make_thread(A + 10 * i, 100 + i, 1 + i / 2);
		syscall_on(1 + i / 2, SYS_WAIT, NOTES + i, 0, W(0), NONE, 0);
	}
	for (unsigned core = 1; core < CORES; core++) {
		EXPECT(running(core), 0);
		before[core] = machine->core[core].entries;
	}
	EXPECT(signal_set(NOTES, (1 << THREADS) - 1), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		EXPECT(t[i]->state, THREAD_READY);
		EXPECT(badge(t[i]), 1);
	}
	for (unsigned core = 1; core < CORES; core++) {
		EXPECT(is_changing() || machine->core[core].entries - before[core] == 1, true);
		EXPECT(running(core), t[2 * (core - 1) + 1]); /* the higher of the two */
	}
}

static void post(uint64_t mask)
{
	hosted_post_call(machine, 0,
	                 &(struct hosted_call){ .number = SYS_SIGNAL_SET, .cptr = NOTES, .word = { mask } });
}

/* A call that stops signals nothing twice, and finds what has changed meanwhile. */
static void goes_on_where_it_stopped(void)
{
	objects();
	machine->kernel.work_budget = 1;
	post(0xf0);
	for (unsigned i = 0; i < 4; i++) {
		enter_once();
		EXPECT(machine->root->context.again, i < 3);
		EXPECT(signalled(), 0xf0u & ((2u << (4 + i)) - 1));
		EXPECT(left(), 0xf0u & -(2u << (4 + i)));
	}
	EXPECT(result(machine->root), 0);
	post(0x300);
	enter_once();
	((struct notification *)slot_of(NOTES + 8)->cap.object)->word = 0; /* as a thread takes it */
	enter_once();
	EXPECT(machine->root->context.again, false);
	EXPECT(signalled(), 0x2f0);
}

/* The longest call is some entries, and each does more than one. */
static void the_longest_stops(void)
{
	unsigned entries = 0;
	objects();
	machine->kernel.work_budget = WORK_BUDGET;
	post(~0ull);
	do {
		enter_once();
		entries++;
	} while (machine->root->context.again);
	EXPECT(signalled(), ~0ull);
	EXPECT(entries, (COUNT * WORK_WAKE_TIMED + WORK_BUDGET - 1) / WORK_BUDGET);
}

TESTS(signal_sets) = {
	{ "each member and no other", each_member_and_no_other, 1 },
	{ "by the badge of each", by_the_badge_of_each, 1 },
	{ "the first refused ends it", the_first_refused_ends_it, 1 },
	{ "one round of interrupts", one_round_of_interrupts, CORES },
	{ "goes on where it stopped", goes_on_where_it_stopped, 1 },
	{ "the longest stops", the_longest_stops, 1 },
	{ 0 },
};
