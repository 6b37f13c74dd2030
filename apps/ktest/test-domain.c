/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapping domains: FRAME_SPLIT and DOMAIN_GRANULARITY, what inherits a domain, and what is left when it goes. */
#include <skerry/stubs.h>

#include "ktest.h"

#define NODE   ROOT_SLOT_CNODE
#define VSPACE ROOT_SLOT_VSPACE
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };

static enum frame_guard guard(uint64_t frame)
{
	enum frame_guard now;
	check_ok(frame_guard(frame, &now));
	return now;
}

static uint64_t domain(enum granularity granularity)
{
	uint64_t made = object(OBJECT_DOMAIN, 0);
	enum granularity before;
	check_ok(domain_granularity(made, granularity, &before));
	check_eq(before, GRANULARITY_COARSE);
	return made;
}

static int map(uint64_t frame, uint64_t address) { return frame_map(IPC, frame, VSPACE, address, READ_WRITE, 0); }

TEST(granularity, 1, 0,
     "domain: coarse at first, then what was ordered, for all frames in it; the answer says what was")
{
	uint64_t d = object(OBJECT_DOMAIN, 0), frame = object(OBJECT_FRAME_4K, 0), large = object(OBJECT_FRAME_2M, 0);
	enum granularity before;
	check_eq(guard(frame), FRAME_GUARD_KERNEL);
	check_ok(frame_split(IPC, frame, d));
	check_ok(frame_split(IPC, large, d));
	check_eq(guard(frame), FRAME_GUARD_DOMAIN);
	check_ok(domain_granularity(d, GRANULARITY_FINE, &before));
	check_eq(before, GRANULARITY_COARSE);
	check_eq(guard(frame), FRAME_GUARD_MAPPING);
	check_eq(guard(large), FRAME_GUARD_MAPPING);
	check_ok(domain_granularity(copy_of(d, RIGHT_WRITE), GRANULARITY_COARSE, &before));
	check_eq(before, GRANULARITY_FINE);
	check_eq(guard(large), FRAME_GUARD_DOMAIN);
	check_ok(frame_split(IPC, frame, 0));
	check_eq(guard(frame), FRAME_GUARD_KERNEL);
	check_eq(guard(large), FRAME_GUARD_DOMAIN);
}

TEST(inherited, 1, 0, "domain: copies inherit it, also when they are minted, moved, mutated and received")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), to = slot(), mutant = slot();
	check_ok(frame_split(IPC, frame, domain(GRANULARITY_FINE)));
	uint64_t copy = copy_of(frame, RIGHT_READ), second = copy_of(copy, RIGHT_READ), minted = slot();
	check_ok(cnode_mint(IPC, NODE, minted, NODE, frame, RIGHT_ALL, 0));
	check_eq(guard(copy), FRAME_GUARD_MAPPING);
	check_eq(guard(minted), FRAME_GUARD_MAPPING);
	check_ok(cnode_move(IPC, NODE, to, NODE, second));
	check_eq(guard(to), FRAME_GUARD_MAPPING);
	check_ok(cnode_mutate(IPC, NODE, mutant, NODE, to, RIGHT_READ, 0));
	check_eq(guard(mutant), FRAME_GUARD_MAPPING);
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), received = transfer_wanted();
	struct worker *sender = transfer_send(0, SYS_SEND, endpoint, 0, 1, copy, 0, 0);
	check_eq(transfer_receive(endpoint, sender), 1);
	check_eq(guard(received), FRAME_GUARD_MAPPING);
}

TEST(nested, 1, 0, "domain: what derives from a frame may be in a domain of its own, and keeps it")
{
	uint64_t outer = domain(GRANULARITY_COARSE), inner = domain(GRANULARITY_FINE),
	         frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_split(IPC, frame, outer));
	uint64_t child = copy_of(frame, RIGHT_ALL);
	check_ok(frame_split(IPC, child, inner));
	uint64_t grandchild = copy_of(child, RIGHT_ALL), other = copy_of(frame, RIGHT_ALL);
	check_eq(guard(frame), FRAME_GUARD_DOMAIN);
	check_eq(guard(grandchild), FRAME_GUARD_MAPPING);
	check_eq(guard(other), FRAME_GUARD_DOMAIN);
	check_ok(cnode_delete(NODE, child)); /* its child is the frame's then */
	check_eq(guard(grandchild), FRAME_GUARD_MAPPING);
	check_error(frame_split(IPC, frame, inner), BUSY);
	check_ok(cnode_revoke(NODE, frame));
	check_ok(frame_split(IPC, frame, inner));
	check_eq(guard(frame), FRAME_GUARD_MAPPING);
}

TEST(gone, 1, 0,
     "domain: frames of one that is gone are in the kernel's own, and stay there when another takes its memory")
{
	uint64_t memory = object(OBJECT_UNTYPED, DOMAIN_BITS), d = slot(), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(untyped_retype(IPC, memory, OBJECT_DOMAIN, 0, NODE, d, 1));
	uint64_t copy = copy_of(d, RIGHT_ALL);
	check_ok(frame_split(IPC, frame, d));
	uint64_t child = copy_of(frame, RIGHT_ALL);
	check_ok(map(child, WINDOW));
	check_ok(cnode_delete(NODE, d));
	check_eq(guard(frame), FRAME_GUARD_DOMAIN); /* it has another capability */
	check_ok(cnode_revoke(NODE, memory));
	check(is_empty(copy));
	check_eq(guard(frame), FRAME_GUARD_KERNEL);
	for (unsigned i = 0; i < 3; i++) {
		check_ok(untyped_retype(IPC, memory, OBJECT_DOMAIN, 0, NODE, d, 1));
		check_ok(domain_granularity(d, GRANULARITY_FINE, 0));
		check_eq(guard(frame), FRAME_GUARD_KERNEL);
		check_eq(guard(child), FRAME_GUARD_KERNEL);
		check_ok(cnode_revoke(NODE, memory));
	}
	*(volatile uint64_t *)place(WINDOW) = 7;
	check_ok(frame_protect(frame, RIGHT_READ));
	check_eq(*(volatile uint64_t *)place(WINDOW), 7);
	check_ok(frame_unmap(child));
	check_ok(map(child, WINDOW));
}

TEST(same_results, 1, 0, "domain: map, protect and unmap do the same under every guard, also across domains")
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t frame = object(OBJECT_FRAME_4K, 0);
		check_ok(frame_split(IPC, frame, i ? domain((enum granularity)(i - 1)) : 0));
		uint64_t child = copy_of(frame, RIGHT_ALL);
		check_ok(frame_split(IPC, child, domain(GRANULARITY_FINE)));
		uint64_t last = copy_of(child, RIGHT_ALL);
		check_ok(map(frame, WINDOW));
		check_ok(map(last, WINDOW + 4096));
		check_error(map(last, WINDOW + 8192), MAPPED);
		check_error(map(child, WINDOW), MAPPED);
		*(volatile uint64_t *)place(WINDOW + 4096) = 5 + i;
		check_eq(*(volatile uint64_t *)place(WINDOW), 5 + i);
		check_ok(frame_protect(frame, 0));
		check_error(frame_unmap(frame), NOT_MAPPED);
		check_error(frame_unmap(last), NOT_MAPPED);
		check_error(map(last, WINDOW), NO_RIGHTS);
		check_ok(map(frame, WINDOW));
		check_eq(*(volatile uint64_t *)place(WINDOW), 5 + i);
		check_ok(frame_unmap(frame));
	}
}

TEST(refused, 1, 0, "domain: FRAME_SPLIT: BAD_CAP, NO_RIGHTS, MAPPED, BUSY, and nothing happens")
{
	static const enum skerry_object others[] = { OBJECT_UNTYPED, OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_NOTIFICATION,
	                                             OBJECT_REPLY,
		                                     OBJECT_CNODE, OBJECT_VSPACE, OBJECT_PAGE_TABLE, OBJECT_FRAME_4K };
	static const uint8_t bits[] = { 12, 0, 0, 0, 0, 4, 0, 0, 0 };
	uint64_t frame = object(OBJECT_FRAME_4K, 0), d = domain(GRANULARITY_FINE), again = domain(GRANULARITY_COARSE);
	check_ok(frame_split(IPC, frame, again));
	for (unsigned i = 0; i < sizeof(bits); i++)
		check_error(frame_split(IPC, frame, object(others[i], bits[i])), BAD_CAP);
	check_error(frame_split(IPC, frame, slot()), BAD_CAP);
	check_error(frame_split(IPC, frame, ~0ull), BAD_CAP);
	check_error(frame_split(IPC, frame, copy_of(d, RIGHT_ALL & ~RIGHT_READ)), NO_RIGHTS);
	check_ok(map(frame, WINDOW));
	check_error(frame_split(IPC, frame, d), MAPPED);
	check_error(frame_split(IPC, frame, 0), MAPPED);
	check_ok(frame_unmap(frame));
	uint64_t child = copy_of(frame, RIGHT_READ);
	check_error(frame_split(IPC, frame, d), BUSY);
	check_error(frame_split(IPC, frame, 0), BUSY);
	check_eq(guard(frame), FRAME_GUARD_DOMAIN);
	check_ok(cnode_delete(NODE, child));
	check_ok(frame_split(IPC, frame, copy_of(d, RIGHT_READ)));
	check_eq(guard(frame), FRAME_GUARD_MAPPING);
}

TEST(buffer, 1, 0, "domain: a thread's IPC buffer counts as derived, and is in the domain")
{
	struct trial t = trial_make(spinner, 50, 0);
	uint64_t frame = object(OBJECT_FRAME_4K, 0), d = domain(GRANULARITY_FINE);
	check_ok(frame_split(IPC, frame, d));
	check_ok(tcb_configure(IPC, t.worker->tcb, NODE, VSPACE, frame, WINDOW, 0));
	check_error(frame_split(IPC, frame, 0), BUSY);
	check_ok(frame_protect(frame, RIGHT_READ));
	check_ok(frame_split(IPC, frame, 0));
}

TEST(orders_refused, 1, 0,
     "domain: DOMAIN_GRANULARITY: BAD_LABEL, TRUNCATED, NO_RIGHTS, BAD_ARGUMENT, and nothing changes")
{
	uint64_t d = object(OBJECT_DOMAIN, 0), reader = copy_of(d, RIGHT_ALL & ~RIGHT_WRITE),
	         frame = object(OBJECT_FRAME_4K, 0);
	const uint64_t bad[] = { GRANULARITY_FINE + 1, 1ull << 32 | GRANULARITY_FINE, ~0ull };
	check_ok(frame_split(IPC, frame, d));
	check_error(domain_granularity(reader, GRANULARITY_FINE, 0), NO_RIGHTS);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct message m = { .word = { bad[i] } };
		check_error(invoke(d, DOMAIN_GRANULARITY, 0, 1, &m), BAD_ARGUMENT);
	}
	check_error(invoke_only(d, DOMAIN_GRANULARITY), TRUNCATED);
	check_error(invoke_only(d, (enum skerry_invocation)(DOMAIN_GRANULARITY + 1)), BAD_LABEL);
	check_error(invoke_only(d, CONTROL_GRANULARITY), BAD_LABEL);
	check_error(invoke_only(frame, DOMAIN_GRANULARITY), BAD_LABEL);
	check_error(invoke_only(d, FRAME_SPLIT), BAD_LABEL);
	check_eq(guard(frame), FRAME_GUARD_DOMAIN);
}

TEST(no_use, 1, 0, "domain: BAD_CAP where a message, a signal or a wait goes to one, and no badge for it")
{
	uint64_t d = object(OBJECT_DOMAIN, 0);
	struct message m = { 0 };
	check_error(ipc_send(d, &m), BAD_CAP);
	check_error(notification_signal(d), BAD_CAP);
	check_error(notification_poll(d, &m.word[0]), BAD_CAP);
	check_error(cnode_mint(IPC, NODE, slot(), NODE, d, RIGHT_ALL, 1), BAD_ARGUMENT);
}

TEST(no_limit, 1, 0, "domain: a program makes all that its 4 MiB pay for, and others make theirs all the same")
{
	enum { BITS = 22, ALL = 1 << (BITS - DOMAIN_BITS) };
	uint64_t memory = object(OBJECT_UNTYPED, BITS), node = object(OBJECT_CNODE, BITS - DOMAIN_BITS + 1),
	         frame = object(OBJECT_FRAME_4K, 0), other = object(OBJECT_FRAME_4K, 0);
	for (uint64_t made = 0; made < ALL; made += RETYPE_COUNT_MAX)
		check_ok(untyped_retype(IPC, memory, OBJECT_DOMAIN, 0, node, 1 + made, RETYPE_COUNT_MAX));
	check_error(untyped_retype(IPC, memory, OBJECT_DOMAIN, 0, node, 1 + ALL, 1), NO_MEMORY);
	check_ok(frame_split(IPC, frame, domain(GRANULARITY_FINE)));
	check_ok(frame_split(IPC, other, domain(GRANULARITY_COARSE)));
	check_ok(map(frame, WINDOW));
	check_ok(cnode_revoke(NODE, memory));
	check_ok(frame_unmap(frame));
	check_eq(guard(frame), FRAME_GUARD_MAPPING);
	check_eq(guard(other), FRAME_GUARD_DOMAIN);
}

/*
 * Mapping domains under load: cores that map, unmap and protect side by side, what is each one's own and what they
 * share. The results are every regime's; where the regime has readers, and is fine, these calls are theirs.
 */

enum { ROUNDS = 150, MANY = 24, CORES = 8, SHARED_PAGE = CORES, MANY_PAGE };

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
