/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapping domains: the ids that frames keep, and the kernel's tree. kernel_check() finds dead domains in it. */
#include "check.h"
#include "domain.h"
#include "harness.h"
#include "kernel.h"
#include "programs.h"

enum { POOL = 1100, NODE = 1105, D = 1110, F = 1200, FIRST = 1300, RW = RIGHT_READ | RIGHT_WRITE };
#define AT 0x8000000000ull

static const struct cap *cap_of(uint64_t slot) { return &slot_of(slot)->cap; }
static uint64_t id_of(uint64_t slot) { return ((const struct domain *)cap_of(slot)->object)->id; }
static uint64_t split(uint64_t frame, uint64_t domain) { return call(frame, FRAME_SPLIT, NONE, W(domain)); }
static unsigned guard(uint64_t frame) { return domain_guard(&machine->kernel, cap_of(frame)); }

static void begin(void)
{
	make(OBJECT_DOMAIN, 0, D, 2);
	make(OBJECT_FRAME_4K, 0, F, 2);
	EXPECT(split(F, D), 0);
}

static void ids(void)
{
	begin();
	EXPECT(id_of(D) != 0 && id_of(D) != id_of(D + 1), true);
	EXPECT(cap_of(F)->domain, id_of(D));
	EXPECT(cap_of(F + 1)->domain, 0);
	EXPECT(domain_of(&machine->kernel, cap_of(F)) == (const struct domain *)cap_of(D)->object, true);
	EXPECT(domain_of(&machine->kernel, cap_of(F + 1)) == 0, true);
	EXPECT(call(F, FRAME_SPLIT, NONE, NONE), 0);
	EXPECT(cap_of(F)->domain, 0);
}

/* What a thread that receives a frame, or lives by it, has of it. */
static void copies_inherit(void)
{
	enum { COPY = F + 10, MINTED, MOVED, THREAD = 1150 };
	begin();
	copy(COPY, F, RW, 0);
	copy(MINTED, COPY, RW, 1);
	EXPECT(call(CNODE, CNODE_MOVE, W(MOVED, MINTED), W(CNODE)), 0);
	EXPECT(cap_of(COPY)->domain, id_of(D));
	EXPECT(cap_of(MOVED)->domain, id_of(D));
	struct thread *thread = make_thread(THREAD, 100, 0);
	EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(THREAD, TCB_CONFIGURE, W(AT, 0), W(CNODE, VSPACE, COPY)), 0);
	EXPECT(thread->slot[THREAD_IPC_BUFFER].cap.domain, id_of(D));
	EXPECT(split(COPY, D + 1), SKERRY_BUSY);
	EXPECT(split(MOVED, D + 1), 0);
	EXPECT(cap_of(COPY)->domain, id_of(D));
	EXPECT(cap_of(MOVED)->domain, id_of(D + 1));
}

/* A slot's other kinds keep what they have in that place: a CNode its guard, and how many capabilities lead to it. */
static void other_kinds_keep_theirs(void)
{
	begin();
	make(OBJECT_CNODE, 4, NODE, 1);
	EXPECT(cap_of(NODE)->guard_bits, 60);
	EXPECT(call(NODE, FRAME_SPLIT, NONE, W(D)), SKERRY_BAD_LABEL);
	EXPECT(cap_of(NODE)->guard_bits, 60);
}

static void the_last_capability_ends_it(void)
{
	begin();
	copy(D + 2, D, RIGHT_ALL, 0);
	EXPECT(((const struct domain *)cap_of(D)->object)->references, 2);
	delete(D);
	EXPECT(guard(F), FRAME_GUARD_DOMAIN);
	delete(D + 2);
	EXPECT(guard(F), FRAME_GUARD_KERNEL);
}

/* A program makes as many domains as its 256 KiB pay for, and another one makes its own all the same. */
static void one_program_leaves_domains_to_others(void)
{
	enum { PROGRAM_BITS = 18, NODE_BITS = PROGRAM_BITS - DOMAIN_BITS + 1, ALL = 1 << (PROGRAM_BITS - DOMAIN_BITS) };
	check_every(100);
	make(OBJECT_UNTYPED, PROGRAM_BITS, POOL, 2);
	make(OBJECT_CNODE, NODE_BITS, NODE, 1);
	make(OBJECT_FRAME_4K, 0, F, 2);
	for (unsigned i = 0; i < ALL; i += RETYPE_COUNT_MAX)
		EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_DOMAIN, 0, 1 + i, RETYPE_COUNT_MAX), W(NODE)), 0);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_DOMAIN, 0, 1 + ALL, 1), W(NODE)), SKERRY_NO_MEMORY);
	EXPECT(call(POOL + 1, UNTYPED_RETYPE, W(OBJECT_DOMAIN, 0, D, 2), W(CNODE)), 0);
	EXPECT(call(D, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
	EXPECT(split(F, D), 0);
	EXPECT(split(F + 1, D + 1), 0);
	revoke(POOL);
	EXPECT(guard(F), FRAME_GUARD_MAPPING);
	EXPECT(guard(F + 1), FRAME_GUARD_DOMAIN);
}

/* Each frame finds its own domain while others come and go in any order; all bits of their ids count. */
static void found_in_any_order(void)
{
	enum { DOMAINS = 40, STEPS = 400 };
	uint64_t seed = 1;
	bool lives[DOMAINS] = { false };
	make(OBJECT_FRAME_4K, 0, F, DOMAINS);
	for (unsigned step = 0; step < STEPS; step++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		unsigned i = (seed >> 33) % DOMAINS;
		if (lives[i])
			delete(FIRST + i);
		else
			make(OBJECT_DOMAIN, 0, FIRST + i, 1);
		lives[i] = !lives[i];
		EXPECT(guard(F + i), FRAME_GUARD_KERNEL);
		if (lives[i])
			EXPECT(split(F + i, FIRST + i), 0);
		for (unsigned j = 0; j < DOMAINS; j++)
			EXPECT(guard(F + j), lives[j] ? FRAME_GUARD_DOMAIN : FRAME_GUARD_KERNEL);
		machine->kernel.domains_made += seed >> 60 == 0 ? 1ull << (seed >> 54 & 31) : 0;
	}
}

/* The next domain at the same place of the table and of memory is another. */
static void ids_are_not_reused(void)
{
	make(OBJECT_UNTYPED, DOMAIN_BITS, POOL, 1);
	make(OBJECT_FRAME_4K, 0, F, 1);
	for (unsigned i = 0; i < 5; i++) {
		EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_DOMAIN, 0, D, 1), W(CNODE)), 0);
		EXPECT(guard(F), FRAME_GUARD_KERNEL);
		EXPECT(split(F, D), 0);
		EXPECT(call(D, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
		EXPECT(guard(F), FRAME_GUARD_MAPPING);
		revoke(POOL);
		EXPECT(guard(F), FRAME_GUARD_KERNEL);
	}
}

/* A frame of a domain that is gone names none of those that are made 2^32 domains later. */
static void ids_do_not_begin_again(void)
{
	begin();
	uint64_t gone = id_of(D);
	delete(D);
	machine->kernel.domains_made = (1ull << 32) + gone - 1;
	make(OBJECT_DOMAIN, 0, D, 1);
	EXPECT(id_of(D), (1ull << 32) + gone);
	EXPECT(guard(F), FRAME_GUARD_KERNEL);
	EXPECT(split(F + 1, D), 0);
	EXPECT(guard(F + 1), FRAME_GUARD_DOMAIN);
}

/* A frame in a domain that is gone is mapped, protected and unmapped as any, and may be split again. */
static void mapped_while_it_goes(void)
{
	enum { TABLES = 1130 };
	begin();
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	copy(F + 10, F, RW, 0);
	EXPECT(call(F + 10, FRAME_MAP, W(AT, RW, 0), W(VSPACE)), 0);
	delete(D);
	EXPECT(split(F + 10, D + 1), SKERRY_MAPPED);
	EXPECT(call(F, FRAME_PROTECT, W(RIGHT_READ), NONE), 0);
	EXPECT(hosted_store(machine, 0, AT, 1), false);
	EXPECT(call(F + 10, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(split(F + 10, D + 1), 0);
	EXPECT(guard(F + 10), FRAME_GUARD_DOMAIN);
}

enum { WORKER = 1300, OWN = 1400, SHARED = 1500, PAGES = 1600, ROUNDS = 60 };

static bool is_or(const struct program *self, uint64_t error) { return last(self) == 0 || last(self) == error; }

/* Its own copy, at self->vaddr, does as it is told, whatever others do with theirs and with the one that all share. */
static bool mapper_next(struct program *self, unsigned core)
{
	uint64_t own = self->slot, page = buffer_at(PAGES + 2 + self->index);
	switch (self->step++ % 6) {
	case 0:
		EXPECT(self->step == 1 || last(self) == 0, true);
		EXPECT(hosted_touch(machine, core, page), 0);
		if (self->step > 1 && --self->left == 0)
			return false;
		return invoke_on(self, core, own, FRAME_MAP, W(page, RW, 0), W(VSPACE));
	case 1:
		EXPECT(last(self), 0);
		EXPECT(hosted_store(machine, core, page, self->left), true);
		return invoke_on(self, core, own, FRAME_PROTECT, W(RIGHT_READ), W(VSPACE));
	case 2:
		EXPECT(last(self), 0);
		EXPECT(hosted_store(machine, core, page, 0), false);
		EXPECT(hosted_load(machine, core, page, &self->value) && self->value == self->left, true);
		return invoke_on(self, core, SHARED, FRAME_MAP, W(buffer_at(PAGES), RW, 0), W(VSPACE));
	case 3: EXPECT(is_or(self, SKERRY_MAPPED), true);
		return invoke_on(self, core, SHARED, FRAME_PROTECT, W(RIGHT_READ), NONE);
	case 4: EXPECT(last(self), 0); return invoke_on(self, core, SHARED, FRAME_UNMAP, NONE, NONE);
	default: EXPECT(is_or(self, SKERRY_NOT_MAPPED), true);
		return invoke_on(self, core, own, FRAME_UNMAP, NONE, NONE);
	}
}

/* The others' domains become fine and coarse; all that derives from the shared frame loses WRITE, and is mapped
 * again. */
static bool changer_next(struct program *self, unsigned core)
{
	EXPECT(self->step == 0 || last(self) == 0 || self->step % 4 == 3, true);
	switch (self->step++ % 4) {
	case 0: return invoke_on(self, core, D, DOMAIN_GRANULARITY, W(self->left / 2 % 2), NONE);
	case 1: return invoke_on(self, core, F, FRAME_PROTECT, W(RIGHT_READ | RIGHT_EXECUTE), NONE);
	case 2: return invoke_on(self, core, SHARED + 1, FRAME_MAP, W(buffer_at(PAGES + 1), RW, 0), W(VSPACE));
	default:
		if (--self->left == 0)
			return false;
		return invoke_on(self, core, SHARED + 1, FRAME_UNMAP, NONE, NONE);
	}
}

static void side_by_side(void)
{
	struct program p[5] = { { .thread = machine->root, .next = changer_next, .left = ROUNDS,
	                          .vaddr = ROOT_IPC_BUFFER_VADDR } };
	begin();
	EXPECT(call(D, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
	copy(SHARED, F, RW, 0);
	copy(SHARED + 1, F, RW, 0);
	for (unsigned i = 1; i < 5; i++) {
		/* root's priority: it takes turns with them */
		struct thread *thread = spawn(WORKER + 10 * i, 255, i % 3);
		make(OBJECT_FRAME_4K, 0, OWN + 2 * i, 1);
		EXPECT(split(OWN + 2 * i, D), 0);
		copy(OWN + 2 * i + 1, OWN + 2 * i, RW, 0);
		p[i] = (struct program){ .thread = thread, .next = mapper_next, .left = ROUNDS, .slot = OWN + 2 * i + 1,
			              .vaddr = buffer_at(WORKER + 10 * i), .index = i };
	}
	if (objects_have_homes())
		while (order_granularity(GRANULARITY_FINE))
			settle();
	run_programs(p, 5, 100000);
	EXPECT(cap_of(SHARED)->rights | cap_of(SHARED + 1)->rights, RIGHT_READ);
}

TESTS(domains) = {
	{ "cores map, protect and unmap side by side", side_by_side, 3 | TEST_ONCE },
	{ "frames name domains by their ids", ids, 1 },
	{ "one program leaves domains to others", one_program_leaves_domains_to_others, 1 },
	{ "copies inherit the domain", copies_inherit, 1 },
	{ "other kinds keep what they have in its place", other_kinds_keep_theirs, 1 },
	{ "the last capability ends a domain", the_last_capability_ends_it, 1 },
	{ "ids are not reused", ids_are_not_reused, 1 },
	{ "ids do not begin again", ids_do_not_begin_again, 1 },
	{ "domains are found in any order", found_in_any_order, 1 | TEST_ONCE },
	{ "a domain goes while its frames are mapped", mapped_while_it_goes, 1 },
	{ 0 },
};
