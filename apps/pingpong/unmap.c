/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unmapping on several cores at the same time (Uhlig 2007, section 4.2, Figure 8). One call of the main thread, on core
 * 0, takes the right to write from many mappings: a frame's own and those of copies of it. A thread on each other core
 * meanwhile does so with one page, and gives the right back, without end. Each core's frame is mapped in an address
 * space that no other core runs, so that cores share nothing but what guards the frames (enum frame_guard).
 *
 * A right that was taken from a copy does not come back, so the copies for all calls are made before the first: while
 * calls are measured nobody makes or deletes a capability. An emulator's plugin sees when they begin and end (MARK).
 */
#include <stdatomic.h>
#include <skerry/mark.h>
#include <skerry/stubs.h>
#include "bare.h"
#include "pingpong.h"

enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE, WARM_UP = 1, TABLE_PAGES = 512 };
/* calls of each core after its last invocation that is not one of these: a core then has its bias */
enum { SETTLED = 80 };
#define MAPPINGS   (WINDOW + TABLE_PAGES * 4096ull)
#define PAGE_THERE 0x500000ull /* a worker's page, in its address space */
/* MARK(1): a call comes. MARK(2): it has returned. As in deploy/bench/dynamic/unmap.py. */

struct worker {
	_Atomic uint64_t rounds;
	uint64_t errors;
};
_Static_assert(offsetof(struct worker, rounds) == UNMAP_ROUNDS && offsetof(struct worker, errors) == UNMAP_ERRORS,
               "as unmap.S has it");
_Static_assert(offsetof(struct ipc_buffer, caps) == UNMAP_CAPS, "as unmap.S has it");

_Static_assert(UNMAP_READ == RIGHT_READ && UNMAP_READ_WRITE == READ_WRITE, "as unmap.S has it");

extern const char unmap_start[], unmap_end[], unmap_worker[];
static const struct code code = { unmap_start, unmap_end };
static uint64_t worker_tcb[PINGPONG_CORES];

static struct worker *worker_of(unsigned core)
{
	return (struct worker *)((char *)shared + UNMAP_WORKERS + core * 4096ull);
}

static uint64_t domain_new(enum frame_guard guard)
{
	uint64_t made = object(OBJECT_DOMAIN, 0);
	check_ok(domain_granularity(made, guard == FRAME_GUARD_MAPPING ? GRANULARITY_FINE : GRANULARITY_COARSE, 0));
	return made;
}

/* A core's own frame: in a fine domain of its own, in the coarse one of all, or in the kernel's. */
static uint64_t frame_new(enum frame_guard guard, uint64_t common)
{
	enum frame_guard found;
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	if (guard != FRAME_GUARD_KERNEL)
		check_ok(frame_split(IPC, frame, guard == FRAME_GUARD_MAPPING ? domain_new(guard) : common));
	check_ok(frame_guard(frame, &found));
	check_eq(found, guard);
	return frame;
}

/* A copy of `frame` that is mapped, and copies of that one: so many mappings that one call protects. */
static uint64_t tree_new(uint64_t frame, uint64_t address, unsigned pages)
{
	uint64_t root = copy_of(frame, READ_WRITE);
	check_ok(frame_map(IPC, root, ROOT_SLOT_VSPACE, address, READ_WRITE, CACHE_WRITE_BACK));
	for (unsigned i = 1; i < pages; i++)
		check_ok(frame_map(IPC, copy_of(root, READ_WRITE), ROOT_SLOT_VSPACE, address + i * 4096ull, READ_WRITE,
		                   CACHE_WRITE_BACK));
	return root;
}

/* Returns the slot of the first; they are not together. */
static void trees_make(uint64_t *root, unsigned count, uint64_t frame, unsigned pages)
{
	unsigned tables = (count * pages + TABLE_PAGES - 1) / TABLE_PAGES;
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, tables);
	for (unsigned i = 0; i < tables; i++)
		check_ok(page_table_map(IPC, table + i, ROOT_SLOT_VSPACE, MAPPINGS + i * TABLE_PAGES * 4096ull));
	for (unsigned i = 0; i < count; i++)
		root[i] = tree_new(frame, MAPPINGS + i * pages * 4096ull, pages);
}

static void worker_make(unsigned core, uint64_t frame)
{
	uint64_t vspace = space_of(&code);
	*worker_of(core) = (struct worker){ 0 };
	check_ok(frame_map(IPC, frame, vspace, PAGE_THERE, READ_WRITE, CACHE_WRITE_BACK));
	struct thread_registers registers = {
		.rbx = SHARED_THERE + UNMAP_WORKERS + core * 4096ull, .rbp = message_info(FRAME_PROTECT, 1, 1),
		.r13 = SYS_CALL, .r14 = vspace, .r15 = frame,
	};
	worker_tcb[core] = thread_of(&code, vspace, 0, core, unmap_worker, registers);
}

/* Returns when all workers run, and neither they nor this thread have lately made anything but calls to protect. */
static void workers_settle(unsigned cores, uint64_t frame)
{
	for (unsigned core = 1; core < cores; core++)
		check_ok(tcb_resume(worker_tcb[core]));
	for (unsigned core = 1; core < cores; core++)
		while (atomic_load_explicit(&worker_of(core)->rounds, memory_order_relaxed) < SETTLED)
			__builtin_ia32_pause();
	for (unsigned i = 0; i < SETTLED; i++)
		check_ok(frame_protect(frame, RIGHT_READ));
}

static void run_workers(unsigned cores, const uint64_t *root, unsigned count)
{
	static uint64_t before[PINGPONG_CORES];
	for (unsigned core = 1; core < cores; core++)
		before[core] = atomic_load_explicit(&worker_of(core)->rounds, memory_order_relaxed);
	for (unsigned i = 0; i < count; i++) {
		MARK(1);
		int error = frame_protect(root[i], RIGHT_READ);
		MARK(2);
		check_ok(error);
	}
	for (unsigned core = 1; core < cores; core++)
		check(atomic_load_explicit(&worker_of(core)->rounds, memory_order_relaxed) > before[core]);
}

static void measure_pages(unsigned rounds, unsigned cores, unsigned pages, enum frame_guard guard)
{
	static uint64_t root[UNMAP_MOST_ROUNDS + WARM_UP];
	MARK(0);
	shared_make(1);
	uint64_t common = guard == FRAME_GUARD_DOMAIN ? domain_new(guard) : 0, frame = frame_new(guard, common);
	for (unsigned core = 1; core < cores; core++)
		worker_make(core, frame_new(guard, common));
	/* last, so that as much of them is in this core's caches with few workers as with many */
	trees_make(root, WARM_UP + rounds, frame, pages);
	workers_settle(cores, frame_new(guard, common));
	run_workers(cores, root, WARM_UP + rounds);
	for (unsigned core = 1; core < cores; core++) {
		check_ok(tcb_suspend(worker_tcb[core]));
		check_eq(worker_of(core)->errors, 0);
	}
	struct text line = LINE;
	text_format(&line, "{\"event\":\"unmap\",\"cores\":%u,\"pages\":%u,\"warm_up\":%u,\"rounds\":%u}\n", cores,
	            pages, WARM_UP, rounds);
	output_results(&line);
	memory_reset();
}

void unmap_measure(unsigned rounds, const uint32_t *cores, const uint32_t *pages, enum frame_guard guard)
{
	check(rounds <= UNMAP_MOST_ROUNDS);
	for (; *cores; cores++) {
		check(*cores <= ROOT->cpu_count);
		for (const uint32_t *p = pages; *p; p++) {
			check(*p <= UNMAP_MOST_PAGES);
			measure_pages(rounds, *cores, *p, guard);
		}
	}
}
