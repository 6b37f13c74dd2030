/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every task has the same frames in REGION, read-only. A write faults; the
 * pager gives the task a copy. After each round all copies are revoked, and
 * the shared frames mapped again.
 */
#include "stress.h"

enum { PAGES_MAX = 256 };

struct pager {
	struct ipc_buffer *ipc;
	uint64_t endpoint, reply;
	uint64_t pool;      /* untyped: copies are made of it */
	uint64_t temporary; /* slot: of a copy, while it is being filled */
	uint64_t window;    /* address: where */
	_Atomic uint64_t faults;
};

static struct pager pager[STRESS_CORES];
static struct {
	uint64_t vspace, go;
	uint64_t shared, copies; /* slots, one a page: what maps the shared frame, and its copy */
} task[TASKS_MAX];
static const uint64_t *original; /* the shared pages, as this program has them */
static unsigned page_count, pager_count;

/* The badge is the task's number and one. */
static void serve_fault(struct pager *p, const struct message *m)
{
	uint64_t of = m->badge - 1, address = m->word[2], page = (address - REGION) / 4096;
	check_eq(message_label(m->info), FAULT_PAGE);
	check(of < TASKS_MAX && page < page_count);
	uint64_t copy = task[of].copies + page;
	check_ok(frame_unmap(task[of].shared + page));
	check_ok(untyped_retype(p->ipc, p->pool, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, copy, 1));
	check_ok(cnode_copy(p->ipc, ROOT_SLOT_CNODE, p->temporary, ROOT_SLOT_CNODE, copy, RIGHT_ALL));
	check_ok(frame_map(p->ipc, p->temporary, ROOT_SLOT_VSPACE, p->window, RIGHT_READ | RIGHT_WRITE,
	                   CACHE_WRITE_BACK));
	memcpy((void *)p->window, original + page * 512, 4096);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, p->temporary));
	check_ok(frame_map(p->ipc, copy, task[of].vspace, REGION + page * 4096, RIGHT_READ | RIGHT_WRITE,
	                   CACHE_WRITE_BACK));
	p->faults++;
}

static void serve(void *argument)
{
	struct pager *p = argument;
	struct message m = { 0 };
	check_ok(ipc_receive(p->endpoint, p->reply, &m));
	for (;;) {
		serve_fault(p, &m);
		m = (struct message){ 0 };
		check_ok(ipc_reply_receive(p->endpoint, p->reply, &m));
	}
}

static void make_pagers(unsigned pool_bits)
{
	for (unsigned i = 0; i < pager_count; i++) {
		struct pager *p = &pager[i];
		p->endpoint = object(OBJECT_ENDPOINT, 0);
		p->reply = object(OBJECT_REPLY, 0);
		p->pool = object(OBJECT_UNTYPED, pool_bits);
		p->temporary = slot();
		p->window = WINDOW + page_new() * 4096ull;
		thread_new(i % ROOT->cpu_count, serve, p, &p->ipc);
	}
}

static void share(unsigned i)
{
	for (unsigned page = 0; page < page_count; page++)
		check_ok(frame_map(IPC, task[i].shared + page, task[i].vspace, REGION + page * 4096ull, RIGHT_READ,
		                   CACHE_WRITE_BACK));
}

static void make_task(unsigned i, unsigned rounds, uint64_t frames, uint64_t done)
{
	task[i].vspace = space_new();
	task[i].go = object(OBJECT_NOTIFICATION, 0);
	task[i].shared = slots(page_count);
	task[i].copies = slots(page_count);
	for (unsigned page = 0; page < page_count; page++)
		check_ok(cnode_copy(IPC, ROOT_SLOT_CNODE, task[i].shared + page, ROOT_SLOT_CNODE, frames + page,
		                    RIGHT_READ));
	share(i);
	struct thread_registers writes = { .r14 = rounds, .r15 = page_count, .r12 = REGION, .r13 = i + 1,
	                                   .rbx = badged(done, 1ull << i, RIGHT_WRITE), .rbp = task[i].go };
	task_new(task[i].vspace, i % ROOT->cpu_count, task_writer, writes,
	         badged(pager[i % pager_count].endpoint, i + 1, RIGHT_ALL));
}

static uint64_t make_region(void)
{
	uint64_t frames = objects(OBJECT_FRAME_4K, 0, page_count);
	for (unsigned page = 0; page < page_count; page++) {
		unsigned at = page_new();
		uint64_t *words = (uint64_t *)(WINDOW + at * 4096ull);
		if (page == 0)
			original = words;
		check_ok(frame_map(IPC, frames + page, ROOT_SLOT_VSPACE, (uint64_t)words, RIGHT_READ | RIGHT_WRITE,
		                   CACHE_WRITE_BACK));
		words[1] = page;
	}
	return frames;
}

void memory_measure(unsigned tasks, unsigned pages, unsigned rounds, unsigned pagers)
{
	uint64_t done = object(OBJECT_NOTIFICATION, 0), all = (1ull << tasks) - 1, faults = 0;
	unsigned pool_bits = 12;
	check(pages <= PAGES_MAX);
	page_count = pages;
	pager_count = pagers;
	while (1ull << pool_bits < (uint64_t)(tasks + pagers - 1) / pagers * pages * 4096)
		pool_bits++;
	uint64_t frames = make_region();
	make_pagers(pool_bits);
	for (unsigned i = 0; i < tasks; i++)
		make_task(i, rounds, frames, done);

	report_begin();
	tasks_resume();
	for (unsigned round = 0; round < rounds; round++) {
		wait_all(done, all);
		for (unsigned i = 0; i < pagers; i++)
			check_ok(cnode_revoke(ROOT_SLOT_CNODE, pager[i].pool));
		for (unsigned i = 0; i < tasks; i++)
			share(i);
		for (unsigned i = 0; i < tasks; i++)
			check_ok(notification_signal(task[i].go));
	}
	wait_all(done, all);
	report_end();
	for (unsigned i = 0; i < pagers; i++)
		faults += pager[i].faults;
	check_eq(faults, (uint64_t)tasks * pages * rounds);
	report_done("memory", tasks, pagers, faults);
}
