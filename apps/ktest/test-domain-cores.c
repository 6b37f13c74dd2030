/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping domains under load: cores that map, unmap and protect side by side, what is each one's own and what they
 * share. The results are every regime's; where the regime has readers, and is fine, these calls are theirs.
 */
#include <skerry/stubs.h>
#include "homes.h"
#include "ktest.h"

#define NODE   ROOT_SLOT_CNODE
#define VSPACE ROOT_SLOT_VSPACE
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE, ROUNDS = 150, MANY = 24, CORES = 8, SHARED_PAGE = CORES, MANY_PAGE };

static uint64_t domain(enum granularity granularity)
{
	uint64_t made = object(OBJECT_DOMAIN, 0);
	check_ok(domain_granularity(made, granularity, 0));
	return made;
}

static uint64_t address_of_page(unsigned page) { return WINDOW + page * 4096ull; }
static volatile uint64_t *at(unsigned page) { return place(address_of_page(page)); }
static unsigned workers(void) { return cores() < CORES ? cores() : CORES; }

static bool fine_or(int result, int error) { return result == 0 || result == -error; }

/*
 * arg: a copy of its own, a copy that all share, the page of the own one, rounds. Whatever the others do, the own page
 * is as this thread has left it.
 */
static void own_and_shared(struct worker *self)
{
	uint64_t own = self->arg[0], shared = self->arg[1];
	unsigned page = (unsigned)self->arg[2];
	for (uint64_t i = 1; i <= self->arg[3]; i++) {
		check_ok(frame_map(self->ipc, own, VSPACE, address_of_page(page), READ_WRITE, 0));
		*at(page) = i;
		check_ok(frame_protect_in(self->ipc, own, VSPACE, RIGHT_READ));
		check_eq(*at(page), i);
		check_ok(frame_protect_in(self->ipc, own, VSPACE, READ_WRITE));
		*at(page) += 1;
		check(fine_or(frame_map(self->ipc, shared, VSPACE, address_of_page(SHARED_PAGE), READ_WRITE, 0),
		              SKERRY_MAPPED));
		check_ok(frame_protect(shared, RIGHT_READ));
		check(fine_or(frame_unmap(shared), SKERRY_NOT_MAPPED));
		check_eq(*at(page), i + 1);
		check_ok(frame_unmap(own));
		check_error(frame_unmap(own), NOT_MAPPED);
		self->count = i;
	}
}

/* A tree with `MANY` leaves, mapped writable; in the end none is, and none can be. */
static void protect_many(uint64_t frame, unsigned round)
{
	uint64_t branch = copy_of(frame, READ_WRITE), leaf[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		leaf[i] = copy_of(i % 3 ? leaf[i - 1] : branch, READ_WRITE);
		check_ok(frame_map(IPC, leaf[i], VSPACE, address_of_page(MANY_PAGE + i), READ_WRITE, 0));
		*at(MANY_PAGE + i) = round + i;
	}
	check_ok(frame_protect(branch, RIGHT_READ));
	for (unsigned i = 0; i < MANY; i++) {
		check_eq(*at(MANY_PAGE + i), round + MANY - 1);
		check_ok(frame_unmap(leaf[i]));
		check_ok(frame_map(IPC, leaf[i], VSPACE, address_of_page(MANY_PAGE + i), READ_WRITE, 0));
	}
	check_ok(frame_protect(branch, 0));
	for (unsigned i = 0; i < MANY; i++) {
		check_error(frame_unmap(leaf[i]), NOT_MAPPED);
		check_error(frame_map(IPC, leaf[i], VSPACE, address_of_page(MANY_PAGE + i), READ_WRITE, 0), NO_RIGHTS);
	}
	check_ok(cnode_revoke(NODE, frame)); /* a writer among them */
}

/* `change`: what the main thread does with the domain meanwhile. */
static void side_by_side(enum granularity granularity, void (*change)(uint64_t domain, unsigned round))
{
	uint64_t d = domain(granularity), frame = object(OBJECT_FRAME_4K, 0), many = object(OBJECT_FRAME_4K, 0);
	struct worker *w[CORES];
	homes_begin();
	check_ok(frame_split(IPC, frame, d));
	check_ok(frame_split(IPC, many, d));
	uint64_t shared = copy_of(frame, READ_WRITE);
	for (unsigned i = 0; i < workers(); i++) {
		uint64_t own = object(OBJECT_FRAME_4K, 0);
		check_ok(frame_split(IPC, own, d));
		w[i] = worker_make(own_and_shared, 50, i);
		w[i]->arg[0] = copy_of(own, READ_WRITE);
		w[i]->arg[1] = shared;
		w[i]->arg[2] = i;
		w[i]->arg[3] = ROUNDS;
		check_ok(tcb_resume(w[i]->tcb));
	}
	for (unsigned round = 0; round < 8; round++) {
		protect_many(many, round);
		if (change)
			change(d, round);
		for (unsigned i = 0; i < workers(); i++)
			until(w[i]->count >= round * (ROUNDS / 8));
	}
	for (unsigned i = 0; i < workers(); i++)
		until(w[i]->done);
	for (unsigned i = 0; i < workers(); i++)
		check_eq(w[i]->count, ROUNDS);
	homes_end();
}

static void switch_grain(uint64_t d, unsigned round)
{
	check_ok(domain_granularity(d, (enum granularity)(round % 2), 0));
}

static void end_domain(uint64_t d, unsigned round)
{
	if (round == 3)
		check_ok(cnode_delete(NODE, d));
}

TEST(fine, 1, 0, "domain: cores map, protect and unmap side by side in a fine domain")
{
	side_by_side(GRANULARITY_FINE, 0);
}
TEST(coarse, 1, 0, "domain: the same in a coarse one") { side_by_side(GRANULARITY_COARSE, 0); }
TEST(switched, 1, 0, "domain: the same while its granularity changes")
{
	side_by_side(GRANULARITY_COARSE, switch_grain);
}
TEST(ended, 1, 0, "domain: the same while it is deleted") { side_by_side(GRANULARITY_FINE, end_domain); }
