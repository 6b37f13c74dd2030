/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces that come, change and go while threads run in them, here and on other cores. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE
#define TARGET (FOREIGN_DATA + 4096)
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };

/* A space with a thread that runs `entry` on `core` and faults to the endpoint. */
struct guest {
	struct space space;
	uint64_t endpoint, reply;
};

static struct guest guest(const void *entry, unsigned core, uint64_t arg0, uint64_t arg1)
{
	struct guest g = { space_make(entry, 50, core, arg0, arg1), object(OBJECT_ENDPOINT, 0),
	                   object(OBJECT_REPLY, 0) };
	check_ok(tcb_configure(IPC, g.space.tcb, NODE, g.space.vspace, 0, 0, g.endpoint));
	return g;
}

static struct message fault(const struct guest *g)
{
	struct message m = { 0 };
	struct timeout timeout = timeout_begin();
	while (ipc_nb_receive(g->endpoint, g->reply, &m)) {
		check(!timeout_over(&timeout));
		pause_main();
	}
	check_eq(message_label(m.info), FAULT_PAGE);
	return m;
}

static void answer(const struct guest *g)
{
	struct message m = { 0 };
	check_ok(ipc_reply(g->reply, &m));
}

/* A new frame at TARGET there, and at WINDOW here with this value in it. */
static uint64_t show(const struct guest *g, uint64_t value)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), there = copy_of(frame, READ_WRITE);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, READ_WRITE, 0));
	*(volatile uint64_t *)WINDOW = value;
	check_ok(frame_unmap(frame));
	check_ok(frame_map(IPC, there, g->space.vspace, TARGET, READ_WRITE, 0));
	return there;
}

/* The guest reads TARGET for ever. Its space is not loaded while the frame there is exchanged. */
static void exchanged(unsigned core, bool by_table)
{
	struct guest g = guest(foreign_load, core, TARGET, 0);
	struct space other = space_make(foreign_count, 60, core, 0, 0);
	uint64_t frame = show(&g, 1);
	check_ok(tcb_resume(g.space.tcb));
	until(g.space.data[1] == 1);
	for (uint64_t value = 2; value < 20; value++) {
		check_ok(tcb_suspend(g.space.tcb));
		if (value % 3 == 0) { /* something else runs there meanwhile, in another space */
			uint64_t before = other.data[0];
			check_ok(tcb_resume(other.tcb));
			until(other.data[0] > before + 100);
			check_ok(tcb_suspend(other.tcb));
		}
		if (by_table && value % 2)
			check_ok(cnode_delete(NODE, frame));
		else
			check_ok(frame_unmap(frame));
		frame = show(&g, value);
		uint64_t count = g.space.data[0];
		check_ok(tcb_resume(g.space.tcb));
		until(g.space.data[0] > count + 3);
		check_eq(g.space.data[1], value);
	}
	check_ok(tcb_suspend(g.space.tcb));
}

TEST(not_loaded, 1, 0, "space: a page that is exchanged while its space is not loaded is the new one, on every core")
{
	for (unsigned core = 0; core < cores(); core++) {
		exchanged(core, false);
		exchanged(core, true);
	}
}

/* Many spaces with different pages at the same address, on one core: tags or not, each sees its own. */
TEST(many, 1, 0, "space: twelve spaces take turns on a core, each with its own page at the same address")
{
	enum { COUNT = 12 };
	struct guest g[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		g[i] = guest(foreign_load, last_core(), TARGET, 0);
		show(&g[i], 100 + i);
		check_ok(tcb_resume(g[i].space.tcb));
	}
	for (unsigned i = 0; i < COUNT; i++)
		until(g[i].space.data[0] > 10);
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t count = g[i].space.data[0];
		until(g[i].space.data[0] > count + 10);
		check_eq(g[i].space.data[1], 100 + i);
	}
}

/* A guest in a space all of whose tables are made of `memory` (32 KiB), with `value` at TARGET; it is started. */
static struct guest guest_in(uint64_t memory, const void *entry, unsigned core, uint64_t arg0, uint64_t arg1,
                             uint64_t value)
{
	struct guest g = guest(entry, core, arg0, arg1);
	uint64_t table = slots(3), frame = show(&g, value), text = object(OBJECT_FRAME_4K, 0),
	         text_here = copy_of(text, RIGHT_ALL);
	g.space.vspace = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_VSPACE, 0, NODE, g.space.vspace, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_PAGE_TABLE, 0, NODE, table, 3));
	for (unsigned level = 0; level < 3; level++)
		check_ok(page_table_map(IPC, table + level, g.space.vspace, FOREIGN_CODE));
	check_ok(frame_unmap(frame));
	check_ok(frame_map(IPC, frame, g.space.vspace, TARGET, READ_WRITE, 0));
	check_ok(frame_map(IPC, copy_of(g.space.data_frame, READ_WRITE), g.space.vspace, FOREIGN_DATA, READ_WRITE, 0));
	check_ok(frame_map(IPC, text_here, ROOT_SLOT_VSPACE, WINDOW + 8192, READ_WRITE, 0));
	for (unsigned c = 0; c < (unsigned)(foreign_end - foreign_start); c++)
		((char *)WINDOW)[8192 + c] = foreign_start[c];
	check_ok(frame_unmap(text_here));
	check_ok(frame_map(IPC, text, g.space.vspace, FOREIGN_CODE, RIGHT_READ | RIGHT_EXECUTE, 0));
	check_ok(tcb_configure(IPC, g.space.tcb, NODE, g.space.vspace, 0, 0, g.endpoint));
	check_ok(tcb_resume(g.space.tcb));
	return g;
}

/* Tags are used again: a new space must not see what the TLB holds of the old one with its tag. */
TEST(reborn, 1, 0, "space: spaces that come and go in the same memory never see the pages of those before")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t memory = object(OBJECT_UNTYPED, 15); /* there is room for the pages of 32 spaces in a test */
		for (unsigned i = 1; i <= 24 / cores(); i++) {
			struct guest g = guest_in(memory, foreign_load, core, TARGET, 0, i);
			until(g.space.data[0] > 3);
			check_eq(g.space.data[1], i);
			check_ok(cnode_revoke(NODE, memory));
			fault(&g);
			check_eq(g.space.data[1], i);
			check_ok(cnode_delete(NODE, g.space.tcb));
		}
	}
}

static void come_and_go(struct worker *self) { self->out[0] = *(volatile uint64_t *)self->arg[0]; }

/* A core that idles keeps its address space; the memory of its tables, the kernel's half among them, is written
 * full. */
TEST(idle_in_it, 1, 0, "space: memory of a space that is deleted while a core idles in it can be used for anything")
{
	for (unsigned core = 0; core < cores(); core++) {
		for (unsigned turn = 1; turn < 4; turn++) {
			uint64_t memory = object(OBJECT_UNTYPED, 15), frame = slots(8);
			struct thread_registers r;
			struct guest g = guest_in(memory, foreign_reply, core, object(OBJECT_ENDPOINT, 0),
			                          object(OBJECT_REPLY, 0), turn);
			until(tcb_read_registers(IPC, g.space.tcb, &r) == 0); /* it receives */
			check_ok(cnode_revoke(NODE, memory));
			check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, frame, 8));
			for (unsigned i = 0; i < 8; i++) {
				check_ok(frame_map(IPC, frame + i, ROOT_SLOT_VSPACE, WINDOW + 4096 * i, READ_WRITE, 0));
				for (unsigned word = 0; word < 512; word++)
					((uint64_t *)WINDOW)[512 * i + word] = 0xfff0000000000000 | i << 12;
			}
			for (unsigned i = 0; i < 3; i++) { /* new threads, in memory that this core has never seen */
				struct worker *w = worker_start(come_and_go, 50, core, WINDOW + 4096 * i, 0);
				until(w->done);
				check_eq(w->out[0], 0xfff0000000000000 | i << 12);
			}
			for (unsigned i = 0; i < 8; i++)
				check_ok(frame_unmap(frame + i));
			workers_drop();
		}
	}
}

TEST(deleted_everywhere, 1, 0,
     "space: one that is deleted while threads run in it on all cores: each faults, none gets on")
{
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0), tcb[8], before[8];
		struct space s = space_make(foreign_count, 50, 0, 0, 0);
		unsigned count = cores() < 8 ? cores() : 8, faults = 0;
		struct thread_registers r;
		check_ok(tcb_read_registers(IPC, s.tcb, &r));
		for (unsigned i = 0; i < count; i++) {
			tcb[i] = object(OBJECT_TCB, 0);
			check_ok(tcb_configure(IPC, tcb[i], NODE, s.vspace, 0, 0, endpoint));
			check_ok(tcb_schedule(IPC, tcb[i], ROOT_SLOT_TCB, 50, i));
			r.rbx = FOREIGN_DATA + 64 * i;
			check_ok(tcb_write_registers(IPC, tcb[i], 1, &r));
		}
		for (unsigned i = 0; i < count; i++)
			until(s.data[8 * i] > 100);
		if (turn % 2) {
			/* the threads' capabilities; the space is still there */
			check_ok(cnode_revoke(NODE, s.vspace));
		} else {
			for (unsigned i = 0; i < count; i++) /* copies of it keep nothing alive */
				copy_of(s.vspace, 0);
			check_ok(cnode_revoke(NODE, s.vspace));
			check_ok(cnode_delete(NODE, s.vspace));
		}
		for (unsigned i = 0; i < count; i++)
			before[i] = s.data[8 * i];
		struct timeout timeout = timeout_begin();
		while (faults < count) {
			struct message m = { 0 };
			if (ipc_nb_receive(endpoint, 0, &m) == 0) {
				check_eq(message_label(m.info), FAULT_PAGE);
				faults++;
			} else {
				check(!timeout_over(&timeout));
				pause_main();
			}
		}
		for (unsigned i = 0; i < count; i++)
			check_eq(s.data[8 * i], before[i]);
	}
}

TEST(given_back, 1, 0,
     "space: a thread whose VSpace capability was revoked goes on where it was when it gets one again")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct guest g = guest(foreign_count, core, 0, 0);
		check_ok(tcb_resume(g.space.tcb));
		until(g.space.data[0] > 100);
		check_ok(cnode_revoke(NODE, g.space.vspace));
		uint64_t count = g.space.data[0];
		fault(&g);
		check_eq(g.space.data[0], count);
		check_ok(tcb_suspend(g.space.tcb));
		check_ok(tcb_configure(IPC, g.space.tcb, NODE, g.space.vspace, 0, 0, g.endpoint));
		check_ok(tcb_resume(g.space.tcb));
		until(g.space.data[0] > count);
	}
}

TEST(one_copy, 1, 0, "space: revoking one copy stops the threads that were given it, and no other")
{
	struct guest a = guest(foreign_count, last_core(), 0, 0);
	uint64_t copy = copy_of(a.space.vspace, RIGHT_ALL), tcb = object(OBJECT_TCB, 0);
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, a.space.tcb, &r));
	check_ok(tcb_resume(a.space.tcb));
	check_ok(tcb_configure(IPC, tcb, NODE, copy, 0, 0, 0));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 50, 0));
	r.rbx = FOREIGN_DATA + 64;
	check_ok(tcb_write_registers(IPC, tcb, 1, &r));
	until(a.space.data[0] > 10 && a.space.data[8] > 10);
	check_ok(cnode_revoke(NODE, copy));
	uint64_t stopped = a.space.data[8], goes_on = a.space.data[0];
	until(a.space.data[0] > goes_on + 100);
	check_eq(a.space.data[8], stopped);
}

/* Deletes the table of one level below a thread that stores by it, and gives it another. */
static void table_deleted(unsigned core, unsigned level)
{
	struct guest g = guest(foreign_store, core, NO_TABLES, 7);
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 6), frame = object(OBJECT_FRAME_4K, 0), next = table + 3;
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, table + i, g.space.vspace, NO_TABLES));
	check_ok(frame_map(IPC, frame, g.space.vspace, NO_TABLES, READ_WRITE, 0));
	check_ok(tcb_resume(g.space.tcb));
	until(g.space.data[0] > 10);
	check_ok(cnode_delete(NODE, table + level));
	check_eq(fault(&g).word[2], NO_TABLES);
	check_ok(frame_unmap(frame));
	while (frame_map(IPC, frame, g.space.vspace, NO_TABLES, READ_WRITE, 0))
		check_ok(page_table_map(IPC, next++, g.space.vspace, NO_TABLES));
	uint64_t before = g.space.data[0];
	answer(&g);
	until(g.space.data[0] > before + 10);
	check_ok(tcb_suspend(g.space.tcb));
}

TEST(tables_gone, 1, 0, "space: a thread faults when a page table it runs by is deleted, and goes on with a new one")
{
	for (unsigned core = 0; core < cores(); core++)
		for (unsigned level = 0; level < 3; level++)
			table_deleted(core, level);
}

/* Where the cache attribute goes wrong, memory would differ between two mappings of it. */
TEST(attributes, 1, 0, "space: one frame mapped with every cache attribute is one frame")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), other = object(OBJECT_FRAME_4K, 0);
	for (unsigned i = 0; i <= CACHE_WRITE_COMBINING; i++)
		check_ok(frame_map(IPC, copy_of(frame, RIGHT_ALL), ROOT_SLOT_VSPACE, WINDOW + 4096 * i, READ_WRITE, i));
	for (unsigned i = 0; i <= CACHE_WRITE_COMBINING; i++) {
		*(volatile uint64_t *)(WINDOW + 4096 * i) = 0x55 + i;
		__asm__ volatile("mfence" ::: "memory");
		for (unsigned j = 0; j <= CACHE_WRITE_COMBINING; j++)
			check_eq(*(volatile uint64_t *)(WINDOW + 4096 * j), 0x55 + i);
	}
	for (unsigned bit = 2; bit < 64; bit++) {
		struct message m = { .word = { WINDOW + 16384, RIGHT_READ, 1ull << bit } };
		IPC->caps[0] = ROOT_SLOT_VSPACE;
		check_error(invoke(other, FRAME_MAP, 1, 3, &m), BAD_ARGUMENT);
	}
}

#define GIGABYTE (1ull << 30)

TEST(gigabyte, 1, NEEDS_GIGABYTE, "space: a frame of 1 GiB is zero, written and read from end to end, and unmapped")
{
	uint64_t memory = gigabyte_memory(), frame = slot(), table = objects(OBJECT_PAGE_TABLE, 0, 2), address;
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_1G, 0, NODE, frame, 1));
	check_ok(frame_address(frame, &address));
	check_eq(address % GIGABYTE, 0);
	check_error(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES + (2 << 20), READ_WRITE, 0), ALIGNMENT);
	check_error(frame_map(IPC, frame, ROOT_SLOT_VSPACE, 0x7fffc0000000, READ_WRITE, 0), BAD_ARGUMENT);
	check_error(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES, READ_WRITE, 0), MISSING_TABLE);
	check_ok(page_table_map(IPC, table, ROOT_SLOT_VSPACE, NO_TABLES));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES, READ_WRITE, 0));
	check_error(page_table_map(IPC, table + 1, ROOT_SLOT_VSPACE, NO_TABLES), MAPPED);
	check_error(frame_map(IPC, object(OBJECT_FRAME_2M, 0), ROOT_SLOT_VSPACE, NO_TABLES, READ_WRITE, 0),
	            MISSING_TABLE);
	for (uint64_t offset = 0; offset < GIGABYTE; offset += 4096 + 8) {
		volatile uint64_t *at = (volatile uint64_t *)(NO_TABLES + offset);
		check_eq(*at, 0);
		*at = offset;
	}
	for (uint64_t offset = 0; offset < GIGABYTE; offset += 4096 + 8)
		check_eq(*(volatile uint64_t *)(NO_TABLES + offset), offset);
	check_eq(*(volatile uint64_t *)(NO_TABLES + GIGABYTE - 8), 0);
	check_ok(frame_unmap(frame));
	check_ok(page_table_map(IPC, table + 1, ROOT_SLOT_VSPACE, NO_TABLES)); /* the place is free */
	check_ok(cnode_delete(NODE, frame));
}

static void touch(struct worker *self) { self->out[0] = *(volatile uint64_t *)(NO_TABLES + self->arg[0]); }

TEST(gigabyte_gone, 1, NEEDS_GIGABYTE,
     "space: an unmapped frame of 1 GiB is gone on every core, and its memory can be cut up")
{
	uint64_t memory = gigabyte_memory(), frame = slot(), table = object(OBJECT_PAGE_TABLE, 0), small = slots(2);
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_1G, 0, NODE, frame, 1));
	check_ok(page_table_map(IPC, table, ROOT_SLOT_VSPACE, NO_TABLES));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES, READ_WRITE, 0));
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_start(touch, 50, core, 4096, 0);
		until(w->done);
	}
	check_ok(frame_unmap(frame));
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(touch, 50, core);
		t.worker->arg[0] = GIGABYTE - 4096;
		check_ok(tcb_resume(t.worker->tcb));
		struct message m = trial_fault(&t);
		check_eq(message_label(m.info), FAULT_PAGE);
		check_eq(m.word[2], NO_TABLES + GIGABYTE - 4096);
	}
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_2M, 0, NODE, small, 2));
	check_ok(cnode_revoke(NODE, memory));
}
