/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What cores remember of address spaces that they have left: TLBs keep it under
 * a tag. A space changes meanwhile; when it is loaded again nothing of what was
 * there may be used. kernel_check() looks at all that could be.
 */
#include "arch.h"
#include "harness.h"
#include "vspace.h"
#include "work.h"

enum { SPACE = 1000, TABLES = 1010, FRAME = 1020, TENANT = 1030, OTHER = 1040, EP = 1050, REPLY = 1051 };
#define AT 0x8000000000ull

static struct thread *tenant, *other;

static uint64_t map(uint64_t frame, uint64_t space) { return call(frame, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(space)); }

static void make_space(uint64_t space, uint64_t tables)
{
	make(OBJECT_VSPACE, 0, space, 1);
	make(OBJECT_PAGE_TABLE, 0, tables, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(tables + i, PAGE_TABLE_MAP, W(AT), W(space)), 0);
}

static uint64_t physical_at(unsigned core)
{
	uint64_t entry = hosted_touch(machine, core, AT);
	return entry ? arch_pte_address(entry, LEVEL_4K) : 0;
}

static uint64_t frame(unsigned i) { return slot_of(FRAME + i)->cap.object; }

/* The tenant lives in SPACE, where FRAME is mapped; the other in the root task's, with FRAME + 1 there. */
static void begin(unsigned core)
{
	make_space(SPACE, TABLES);
	make(OBJECT_PAGE_TABLE, 0, TABLES + 3, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + 3 + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	make(OBJECT_FRAME_4K, 0, FRAME, 3);
	EXPECT(map(FRAME, SPACE), 0);
	EXPECT(map(FRAME + 1, VSPACE), 0);
	tenant = make_thread(TENANT, 100, core);
	EXPECT(call(TENANT, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(TENANT, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, TENANT + 1)), 0);
	EXPECT(call(TENANT, TCB_RESUME, NONE, NONE), 0);
	if (core) {
		other = make_thread(OTHER, 100, core);
	} else {
		other = machine->root;
		root_priority(100);
	}
}

static void go_to(unsigned core, const struct thread *thread)
{
	while (running(core) != thread)
		simple(core, SYS_YIELD, 0);
}

/* Both have used the address; the other runs. */
static void fill(unsigned core)
{
	go_to(core, tenant);
	EXPECT(physical_at(core), frame(0));
	go_to(core, other);
	EXPECT(physical_at(core), frame(1));
	go_to(core, tenant);
	EXPECT(physical_at(core), frame(0));
	go_to(core, other);
}

static void unmapped(unsigned core)
{
	begin(core);
	fill(core);
	EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(physical_at(core), frame(1)); /* another space */
	go_to(core, tenant);
	EXPECT(physical_at(core), 0);
	go_to(core, other);
	EXPECT(physical_at(core), frame(1));
}

static void replaced(unsigned core)
{
	begin(core);
	fill(core);
	EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(map(FRAME + 2, SPACE), 0);
	go_to(core, tenant);
	EXPECT(physical_at(core), frame(2));
	go_to(core, other);
	delete(TABLES + 1); /* and all below it */
	go_to(core, tenant);
	EXPECT(physical_at(core), 0);
}

static void successor(unsigned core)
{
	begin(core);
	fill(core);
	uint64_t place = ((const struct vspace *)slot_of(SPACE)->cap.object)->id % KERNEL_VSPACES;
	EXPECT(call(TENANT, TCB_SUSPEND, NONE, NONE), 0);
	revoke(SPACE); /* what the thread has of it */
	delete(SPACE);
	make_space(SPACE + 1, TABLES + 6); /* its place, and with it its tag, are the next one's */
	EXPECT(((const struct vspace *)slot_of(SPACE + 1)->cap.object)->id % KERNEL_VSPACES, place);
	EXPECT(map(FRAME + 2, SPACE + 1), 0);
	EXPECT(call(TENANT, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE + 1, TENANT + 1)), 0);
	EXPECT(call(TENANT, TCB_RESUME, NONE, NONE), 0);
	go_to(core, tenant);
	EXPECT(physical_at(core), frame(2));
}

static void unmapped_here(void) { unmapped(0); }
static void unmapped_by_another_core(void) { unmapped(1); }
static void replaced_here(void) { replaced(0); }
static void replaced_by_another_core(void) { replaced(1); }
static void successor_here(void) { successor(0); }
static void successor_on_another_core(void) { successor(1); }

/* The client's space changes while its server works for it; the answer goes back by the fast path if it may. */
static void changed_during_a_call(void)
{
	begin(0);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	go_to(0, other);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	for (unsigned round = 0; round < 4; round++) {
		bool changes = round % 2;
		EXPECT(running(0), tenant);
		EXPECT(physical_at(0), round < 2 ? frame(0) : 0);
		syscall_on(0, SYS_CALL, EP, 0, NONE, NONE, 0);
		EXPECT(running(0), other);
		EXPECT(physical_at(0), frame(1));
		if (changes)
			EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), round == 1 ? 0 : SKERRY_NOT_MAPPED);
		syscall_on(0, SYS_REPLY_RECV, EP, 0, NONE, NONE, REPLY);
	}
}

/* A capability that was mapped in a space that is gone says nothing about the one at the same place. */
static void a_stale_capability_unmaps_nothing(void)
{
	unsigned missing;
	make_space(SPACE, TABLES);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	copy(FRAME + 1, FRAME, RIGHT_ALL, 0);
	copy(FRAME + 2, FRAME, RIGHT_ALL, 0);
	EXPECT(map(FRAME + 1, SPACE), 0);
	uint64_t place = ((const struct vspace *)slot_of(SPACE)->cap.object)->id % KERNEL_VSPACES;
	delete(SPACE);
	make_space(SPACE + 1, TABLES + 3);
	struct vspace *next = (struct vspace *)slot_of(SPACE + 1)->cap.object;
	EXPECT(next->id % KERNEL_VSPACES, place);
	EXPECT(map(FRAME + 2, SPACE + 1), 0);
	delete(FRAME + 1);
	EXPECT(arch_pte_address(*vspace_entry(next, AT, LEVEL_4K, &missing), LEVEL_4K), frame(0));
	EXPECT(call(FRAME + 2, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(*vspace_entry(next, AT, LEVEL_4K, &missing), 0);
}

/* Rounds in which cores forget what goes with `slot`, with this budget of each entry. */
static uint64_t rounds_to_revoke(uint64_t slot, int budget)
{
	uint64_t before = machine->kernel.tlb_round;
	machine->kernel.work_budget = budget;
	revoke(slot);
	return machine->kernel.tlb_round - before;
}

enum { MANY = 120, COPIES = 1100, HERE_AND_THERE = 10, SPACES = 1300, SPACE_TABLES = 1320, TENANTS = 1360 };

/* Core 1 runs in the root task's space, where many pages are at once: one round for each budget, not for each page. */
static void many_pages(void)
{
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	make_thread(OTHER, 100, 1);
	for (unsigned i = 0; i < MANY; i++) {
		copy(COPIES + i, FRAME, RIGHT_ALL, 0);
		EXPECT(call(COPIES + i, FRAME_MAP, W(AT + i * 4096ull, RIGHT_ALL, 0), W(VSPACE)), 0);
	}
	for (unsigned i = 0; i < MANY; i += 8)
		EXPECT(hosted_touch(machine, 1, AT + i * 4096ull) != 0, true);
	EXPECT(rounds_to_revoke(FRAME, WORK_BUDGET) <= MANY / 10, true);
	for (unsigned i = 0; i < MANY; i++)
		EXPECT(hosted_touch(machine, 1, AT + i * 4096ull), 0);
}

/* Threads of core 1, each in a space of its own, in which the frame is mapped. */
static void make_tenants(struct thread **thread)
{
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	for (unsigned i = 0; i < HERE_AND_THERE; i++) {
		make_space(SPACES + i, SPACE_TABLES + 3 * i);
		copy(COPIES + i, FRAME, RIGHT_ALL, 0);
		EXPECT(map(COPIES + i, SPACES + i), 0);
		thread[i] = make_thread(TENANTS + 2 * i, 100, 1);
		EXPECT(call(TENANTS + 2 * i, TCB_SUSPEND, NONE, NONE), 0);
		EXPECT(call(TENANTS + 2 * i, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACES + i, TENANTS + 2 * i + 1)), 0);
		EXPECT(call(TENANTS + 2 * i, TCB_RESUME, NONE, NONE), 0);
	}
	for (unsigned i = 0; i < HERE_AND_THERE; i++) {
		go_to(1, thread[i]);
		EXPECT(physical_at(1), frame(0));
	}
}

/* More spaces than a round has room for. */
static void many_spaces(void)
{
	struct thread *thread[HERE_AND_THERE];
	make_tenants(thread);
	EXPECT(rounds_to_revoke(FRAME, WORK_BUDGET), 2);
	for (unsigned i = 0; i < HERE_AND_THERE; i++) {
		go_to(1, thread[i]);
		EXPECT(physical_at(1), 0);
	}
}

/* An entry that stops at a preemption point leaves nothing to forget behind. */
static void a_page_at_a_time(void)
{
	struct thread *thread[HERE_AND_THERE];
	make_tenants(thread);
	EXPECT(rounds_to_revoke(FRAME, 1), HERE_AND_THERE);
}

/* A page is taken from a space, and the space goes, in one entry: nothing is left to forget of it. */
static void page_and_space(void)
{
	enum { POOL = 1090 };
	make(OBJECT_UNTYPED, 16, POOL, 1);
	begin(1);
	fill(1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, SPACE + 1, 1), W(CNODE)), 0);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_FRAME_4K, 0, FRAME + 5, 1), W(CNODE)), 0);
	make(OBJECT_PAGE_TABLE, 0, TABLES + 6, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + 6 + i, PAGE_TABLE_MAP, W(AT), W(SPACE + 1)), 0);
	EXPECT(map(FRAME + 5, SPACE + 1), 0);
	EXPECT(call(TENANT, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(TENANT, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE + 1, TENANT + 1)), 0);
	EXPECT(call(TENANT, TCB_RESUME, NONE, NONE), 0);
	go_to(1, tenant);
	EXPECT(physical_at(1), frame(5));
	EXPECT(call(TENANT, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(rounds_to_revoke(POOL, WORK_BUDGET), 0); /* the end of the space was one already */
	EXPECT(running(1), other);
}

/* A page's capability lies in a CNode that is doomed and that nobody can go on deleting: the core's timer does. */
static void page_by_the_clock(void)
{
	enum { MEMORY = 1080, NODE, INSIDE = 2, LAST = 15 };
	begin(1);
	fill(1);
	make(OBJECT_UNTYPED, 16, MEMORY, 1);
	EXPECT(call(MEMORY, UNTYPED_RETYPE, W(OBJECT_CNODE, 4, NODE, 1), W(CNODE)), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(INSIDE, MEMORY), W(CNODE)), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(LAST, FRAME), W(CNODE)), 0);
	machine->kernel.work_budget = 1;
	EXPECT(call(NODE, CNODE_REVOKE, W(INSIDE), NONE), SKERRY_BAD_CAP);
	EXPECT(machine->kernel.reap_list != 0, true);
	for (unsigned i = 0; i < 100 && machine->kernel.reap_list; i++) {
		hosted_advance(machine, machine->kernel.tsc_hz / 1000);
		settle();
	}
	EXPECT(machine->kernel.reap_list == 0, true);
	go_to(1, tenant);
	EXPECT(physical_at(1), 0);
}

TESTS(translations) = {
	{ "a space that is not loaded loses a page", unmapped_here, 1 },
	{ "a space that is not loaded loses a page by another core", unmapped_by_another_core, 2 },
	{ "a space that is not loaded gets another page", replaced_here, 1 },
	{ "a space that is not loaded gets another page by another core", replaced_by_another_core, 2 },
	{ "a space takes another's place", successor_here, 1 },
	{ "a space takes another's place under another core", successor_on_another_core, 2 },
	{ "a space changes during a call", changed_during_a_call, 1 },
	{ "a stale capability unmaps nothing", a_stale_capability_unmaps_nothing, 1 },
	{ "many pages of a running space go in few rounds", many_pages, 2 },
	{ "pages of more spaces go than a round has room for", many_spaces, 2 },
	{ "pages go one at a time", a_page_at_a_time, 2 },
	{ "a space goes together with its pages", page_and_space, 2 },
	{ "a page goes by the clock", page_by_the_clock, 2 },
	{ 0 },
};
