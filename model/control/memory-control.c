/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of two pieces that moves from cluster A to cluster B (skerry/memory_control.h), as both kernels, both managers
 * and the loader do it. `user` is what a kernel writes that has a piece mapped: two at a time are a data race.
 *
 * Each dies before each of its accesses. Then it is fenced, so that it does nothing any more, and the loader begins its
 * next life; that dies likewise, and another claimer begins with it once more. The other cluster goes on all the while.
 */
#include <setjmp.h>
#include <string.h>
#include "explore.h"
#include <skerry/ledger.h>
#include <skerry/memory_control.h>

enum { A = 1, B = 2, C = 3, PIECES = 2, ORDER = 5 };

static union {
	struct memory_control control;
	uint8_t bytes[sizeof(struct memory_control) + PIECES];
} words;
static uint64_t user[PIECES];
static struct ledger_kernel ledger; /* A's */
static uint32_t takes;              /* that had all of it */
static jmp_buf dead;

static struct memory_control *control(void) { return &words.control; }

static void begin(enum memory_state state, uint32_t cluster)
{
	memset(&words, 0, sizeof(words));
	memset(&ledger, 0, sizeof(ledger));
	for (unsigned i = 0; i < PIECES; i++) {
		atomic_store_explicit(&control()->piece[i], memory_byte(state, cluster), memory_order_relaxed);
		user[i] = state == MEMORY_OWNED ? cluster : 0;
	}
	explore_name(&words, sizeof(words), "words");
	explore_name(user, sizeof(user), "user");
	explore_name(&ledger, sizeof(ledger), "ledger");
}
static void begin_owned(void) { begin(MEMORY_OWNED, A); }
static void begin_parked(void) { begin(MEMORY_PARKED, B); }
static void begin_ordered(void)
{
	begin_owned();
	atomic_store_explicit(&ledger.memory, LEDGER_MEMORY_MAGIC | (uint64_t)ORDER << 36 | PIECES << 8 | B,
	                      memory_order_relaxed);
}

static void use(unsigned piece, uint32_t cluster) { user[piece] = cluster; }

/* As give() of core/memory_move.c: the piece is in no page table when the words change. */
static void give(uint32_t own, uint32_t to)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (memory_read(control(), i) != memory_byte(MEMORY_OWNED, own))
			return;
	for (unsigned i = 0; i < PIECES; i++)
		use(i, own);
	memory_give_all(control(), 0, PIECES, own, to);
	memory_changed(control());
}

/* The manager at a tick, by its order; one that was obeyed in a former life gives nothing twice. */
static void obey(void)
{
	uint64_t word = atomic_load_explicit(&ledger.memory, memory_order_relaxed);
	if (ledger_memory_is(word) && ledger_memory_pieces(word) == PIECES)
		give(A, ledger_memory_to(word));
}

/* As take() of core/memory_move.c. */
static bool take(uint32_t own, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		if (memory_state(memory_read(control(), i)) != MEMORY_PARKED)
			return false;
	if (!memory_take_all(control(), first, count, own))
		return false;
	for (unsigned i = first; i < first + count; i++)
		use(i, own);
	memory_changed(control());
	return true;
}

/* The loader's part of a next life (loader/moves.c): A had both pieces at boot. */
static void begin_life(uint32_t own)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (memory_read(control(), i) == memory_byte(MEMORY_OWNED, own)) {
			use(i, own); /* it is written, or is no boot memory, and its manager takes it */
			if (own != A)
				memory_give(control(), i, own, own);
		}
	memory_changed(control());
}

/* What is parked for it, piece by piece. */
static uint32_t take_own(uint32_t own)
{
	uint32_t taken = 0;
	for (unsigned i = 0; i < PIECES; i++)
		if (memory_read(control(), i) == memory_byte(MEMORY_PARKED, own))
			taken += take(own, i, 1);
	return taken;
}

/* The manager's look(): it looks at the pieces only when the count of changes says so, until it has them all. */
static void takes_when_told(uint32_t own)
{
	uint64_t seen = 0;
	for (uint32_t taken = 0; taken < PIECES;) {
		if (memory_changes(control()) == seen) {
			explore_relax();
			continue;
		}
		seen = memory_changes(control());
		taken += take_own(own);
	}
}

/* Nothing is lost, and what is parked can be had; the cluster that has a piece was the last to use it. */
static void all_there(void)
{
	for (unsigned i = 0; i < PIECES; i++) {
		uint8_t byte = memory_read(control(), i);
		EXPLORE_CHECK(memory_state(byte) == MEMORY_OWNED || memory_state(byte) == MEMORY_PARKED,
		              "a piece is nobody's");
		if (memory_state(byte) == MEMORY_PARKED)
			EXPLORE_CHECK(take(C, i, 1), "a parked piece cannot be had");
		else
			EXPLORE_CHECK(user[i] == memory_cluster(byte), "a cluster has what its kernel does not use");
	}
}
static void all_are_of_b(void)
{
	for (unsigned i = 0; i < PIECES; i++)
		EXPLORE_CHECK(memory_read(control(), i) == memory_byte(MEMORY_OWNED, B), "a piece did not arrive");
	all_there();
}

static void moves(unsigned self) { self ? takes_when_told(B) : obey(); }

/* A takes it back while B takes it, as one or by pieces. */
static void as_one(unsigned self)
{
	if (take(A + self, 0, PIECES))
		__atomic_fetch_add(&takes, 1, __ATOMIC_RELAXED);
}
static void one_has_all(void)
{
	EXPLORE_CHECK(takes < 2, "two clusters have one piece");
	for (unsigned i = 0; takes && i < PIECES; i++)
		EXPLORE_CHECK(memory_read(control(), i) == memory_read(control(), 0),
		              "one has taken all, and has not got it");
	for (unsigned i = 0; !takes && i < PIECES; i++)
		EXPLORE_CHECK(memory_state(memory_read(control(), i)) == MEMORY_PARKED,
		              "a cluster has a piece that its kernel refused");
	all_there();
}
static void one_by_pieces(unsigned self) { self ? (void)take(A, 0, PIECES) : (void)(take(B, 1, 1) + take(B, 0, 1)); }

static void die(void) { longjmp(dead, 1); }
static void until_death(unsigned step, void (*what)(uint32_t), uint32_t cluster)
{
	if (!setjmp(dead)) {
		explore_die_at(step, die);
		what(cluster);
	}
	explore_die_at(0, die);
}

static void gives(uint32_t cluster) { (void)cluster; obey(); }
static void lives_again(uint32_t cluster)
{
	begin_life(cluster);
	take_own(cluster);
}

/* The giver; then its next life, while B takes what it finds. */
static void giver_dies(unsigned self, unsigned step)
{
	if (self) {
		take_own(B);
		return;
	}
	until_death(step, gives, A);
	lives_again(A);
}

static void takes_all(uint32_t cluster) { take(cluster, 0, PIECES); }

/* The taker; then its next life, while A takes back what it finds parked for B. */
static void taker_dies(unsigned self, unsigned step)
{
	if (self) {
		take(A, 0, PIECES);
		return;
	}
	until_death(step, takes_all, B);
	lives_again(B);
}

/* B has the pieces, or has half of them; its next life dies, and the one after it begins, while A takes back. */
static void rescuer_dies(unsigned self, unsigned step)
{
	if (self) {
		take(A, 0, 1);
		return;
	}
	take(B, 0, PIECES);
	until_death(step, lives_again, B);
	lives_again(B);
}

#define DIES(n) \
	static void giver_dies_##n(unsigned self) { giver_dies(self, n); } \
	static void taker_dies_##n(unsigned self) { taker_dies(self, n); } \
	static void rescuer_dies_##n(unsigned self) { rescuer_dies(self, n); }
DIES(1) DIES(2) DIES(3) DIES(4) DIES(5) DIES(6) DIES(7) DIES(8) DIES(9) DIES(10) DIES(11) DIES(12)

#define CASE(n) \
	{ "the giver dies before access " #n, 2, giver_dies_##n, .begin = begin_ordered, .end = all_there }, \
	{ "the taker dies before access " #n, 2, taker_dies_##n, .begin = begin_parked, .end = all_there }, \
	{ "a next life dies before access " #n, 2, rescuer_dies_##n, .begin = begin_parked, .end = all_there }
static const struct explore_case cases[] = {
	{ "by order", 2, moves, .begin = begin_ordered, .end = all_are_of_b },
	{ "both take", 2, as_one, .begin = begin_parked, .end = one_has_all },
	{ "one by pieces", 2, one_by_pieces, .begin = begin_parked, .end = all_there },
	CASE(1), CASE(2), CASE(3), CASE(4), CASE(5), CASE(6), CASE(7), CASE(8), CASE(9), CASE(10), CASE(11), CASE(12),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
