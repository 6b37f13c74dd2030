/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translations that other cores still hold. A thread on another core writes to
 * a page without pause; after the invocation that takes the page away has
 * returned, no write of it may arrive.
 */
#include <skerry/stubs.h>
#include "ktest.h"

enum { ROUNDS = 40, PAGE = 100 };
#define TARGET (WINDOW + PAGE * 4096)

static void writer(struct worker *self)
{
	for (;;) {
		*(volatile uint64_t *)TARGET += 1;
		self->count++;
	}
}

struct victim {
	uint64_t endpoint, reply;
	struct worker *worker;
};

static struct victim victim(unsigned core)
{
	struct victim v = { object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0), 0 };
	v.worker = worker_make(writer, 50, core);
	worker_fault_to(v.worker, v.endpoint);
	check_ok(tcb_resume(v.worker->tcb));
	return v;
}

static void await_fault(struct victim *v, uint64_t address)
{
	struct message m = { 0 };
	struct timeout timeout = timeout_begin();
	while (ipc_nb_receive(v->endpoint, v->reply, &m)) {
		check(!timeout_over(&timeout));
		pause_main();
	}
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[2], address);
}

static void resume(struct victim *v)
{
	struct message m = { 0 };
	check_ok(ipc_reply(v->reply, &m));
}

/*
 * `take` makes the frame's mapping at TARGET, which is that of its copy `target`, go, or one that can be read only. The
 * frames are in `domain`; 0: the kernel's own.
 */
static void rounds_in(uint64_t domain, unsigned core, void (*take)(uint64_t frame, uint64_t target))
{
	struct victim v = victim(core);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t frame = object(OBJECT_FRAME_4K, 0);
		check_ok(frame_split(IPC, frame, domain));
		uint64_t window = copy_of(frame, RIGHT_ALL), target = copy_of(frame, RIGHT_ALL);
		check_ok(frame_map(IPC, window, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
		await_fault(&v, TARGET);
		check_ok(frame_map(IPC, target, ROOT_SLOT_VSPACE, TARGET, RIGHT_READ | RIGHT_WRITE, 0));
		volatile uint64_t *seen = (volatile uint64_t *)WINDOW;
		resume(&v);
		until(*seen > 10);
		take(frame, target);
		uint64_t last = *seen;
		for (unsigned j = 0; j < 20000; j++)
			check_eq(*seen, last);
		check_ok(frame_unmap(window));
		check_ok(cnode_delete(ROOT_SLOT_CNODE, target));
	}
}

static void rounds(unsigned core, void (*take)(uint64_t frame, uint64_t target)) { rounds_in(0, core, take); }

static void by_unmap(uint64_t frame, uint64_t target)
{
	(void)frame;
	check_ok(frame_unmap(target));
}

static void by_delete(uint64_t frame, uint64_t target)
{
	(void)frame;
	check_ok(cnode_delete(ROOT_SLOT_CNODE, target));
}

static void by_protect(uint64_t frame, uint64_t target)
{
	(void)target;
	check_ok(frame_protect(frame, RIGHT_READ));
}

TEST(unmap, 2, 0, "shootdown: no write of another core arrives after UNMAP") { rounds(last_core(), by_unmap); }
TEST(delete, 2, 0, "shootdown: no write of another core arrives after the capability's end")
{
	rounds(last_core(), by_delete);
}
TEST(protect, 2, 0, "shootdown: no write of another core arrives after PROTECT") { rounds(last_core(), by_protect); }
/* By a reader, where the regime has readers. */
static void rounds_of_reader(enum granularity granularity, void (*take)(uint64_t frame, uint64_t target))
{
	uint64_t domain = object(OBJECT_DOMAIN, 0);
	check_ok(domain_granularity(domain, granularity, 0));
	homes_begin();
	rounds_in(domain, last_core(), take);
	homes_end();
}

TEST(unmap_fine, 2, 0, "shootdown: the same after UNMAP in a fine domain")
{
	rounds_of_reader(GRANULARITY_FINE, by_unmap);
}
TEST(protect_fine, 2, 0, "shootdown: the same after PROTECT in a fine domain")
{
	rounds_of_reader(GRANULARITY_FINE, by_protect);
}
TEST(protect_coarse, 2, 0, "shootdown: the same after PROTECT in a coarse domain")
{
	rounds_of_reader(GRANULARITY_COARSE, by_protect);
}
TEST(local, 1, 0, "shootdown: no write of another thread of this core arrives after UNMAP") { rounds(0, by_unmap); }

/* Each new frame at the same address: a translation that stayed would lead to the old one. */
TEST(replaced, 1, 0, "shootdown: a new frame at an old address is the one that is seen")
{
	volatile uint64_t *at = (volatile uint64_t *)TARGET;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t frame = map_page(PAGE, RIGHT_READ | RIGHT_WRITE);
		check_eq(*at, 0);
		*at = i + 1;
		check_ok(frame_unmap(frame));
	}
}

TEST(tables, 2, 0, "shootdown: no write of another core arrives after a page table is unmapped")
{
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 3), frame = object(OBJECT_FRAME_4K, 0),
	         window = copy_of(frame, RIGHT_ALL);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, table + i, ROOT_SLOT_VSPACE, NO_TABLES));
	check_ok(frame_map(IPC, window, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES, RIGHT_READ | RIGHT_WRITE, 0));
	struct space s = space_make(foreign_store, 50, last_core(), NO_TABLES, 0);
	check_ok(tcb_configure(IPC, s.tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0)); /* our own space, after all */
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, s.tcb, &r));
	uint64_t code = object(OBJECT_FRAME_4K, 0), code_here = copy_of(code, RIGHT_ALL);
	check_ok(frame_map(IPC, code_here, ROOT_SLOT_VSPACE, WINDOW + 4096, RIGHT_READ | RIGHT_WRITE, 0));
	char *text = (char *)WINDOW + 4096;
	for (const char *c = foreign_start; c < foreign_end; c++)
		*text++ = *c;
	check_ok(frame_map(IPC, code, ROOT_SLOT_VSPACE, WINDOW + 8192, RIGHT_READ | RIGHT_EXECUTE, 0));
	r.rip = WINDOW + 8192 + (uint64_t)(foreign_store - foreign_start);
	r.rbx = (uint64_t)s.data;
	volatile uint64_t *seen = (volatile uint64_t *)WINDOW;
	for (r.rsi = 1; r.rsi < 10; r.rsi++) {
		check_ok(tcb_write_registers(IPC, s.tcb, 1, &r));
		until(*seen == r.rsi);
		check_ok(page_table_unmap(table + 1));
		uint64_t count = s.data[0];
		sleep_ms(1);
		check(s.data[0] - count <= 1); /* it has stopped at its next store */
		check_ok(tcb_suspend(s.tcb));
		check_ok(page_table_unmap(table + 2));
		check_ok(frame_unmap(frame));
		check_ok(page_table_map(IPC, table + 1, ROOT_SLOT_VSPACE, NO_TABLES));
		check_ok(page_table_map(IPC, table + 2, ROOT_SLOT_VSPACE, NO_TABLES));
		check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, NO_TABLES, RIGHT_READ | RIGHT_WRITE, 0));
	}
}

TEST(reused, 2, 0, "shootdown: memory that is used again is written by nobody else")
{
	struct victim v = victim(last_core());
	uint64_t memory = object(OBJECT_UNTYPED, 12), frame = slot();
	for (unsigned i = 0; i < ROUNDS; i++) {
		await_fault(&v, TARGET);
		check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, frame, 1));
		check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, TARGET, RIGHT_READ | RIGHT_WRITE, 0));
		uint64_t count = v.worker->count;
		resume(&v);
		until(v.worker->count > count + 10);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, memory));
		check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, frame, 1));
		check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
		for (unsigned j = 0; j < 10000; j++)
			check_eq(*(volatile uint64_t *)WINDOW, 0);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, memory));
	}
}
