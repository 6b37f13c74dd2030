/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking the right to write from a page of an address space that runs on many cores, in programs: the kernel interrupts
 * each of them and waits until all have forgotten the translation, which they use all the time. The main thread, on
 * core 0, has a space of its own and makes the calls; an emulator's plugin sees when they begin and end (MARK).
 */
#include <stdatomic.h>
#include <skerry/mark.h>
#include "bare.h"
#include "pingpong.h"

enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE, ROUNDS = 8, WARM_UP = 2, ROUNDS_MOST = 64, LINE_BYTES = 64 };
enum { THREADS_MOST = 500 }; /* of a space: each has its IPC buffer in the page table of the code */
#define RUNNING_AT 0x10000ull  /* in the shared frames, a line for each core */
#define PAGE_THERE 0x600000ull /* in the space of the threads, below a page table of its own */
/* MARK(1): a call comes. MARK(2): it has returned. As in tests/long/many_cores.py. */

extern const char shootdown_start[], shootdown_end[], shootdown_thread[];
static const struct code code = { shootdown_start, shootdown_end };
static uint64_t thread[THREADS_MOST];

static _Atomic uint32_t *running(unsigned core)
{
	return (_Atomic uint32_t *)((char *)shared + RUNNING_AT + core * LINE_BYTES);
}

/* Returns when all threads run. */
static void waiting_start(unsigned cores, uint64_t vspace)
{
	for (unsigned core = 1; core < cores; core++) {
		struct thread_registers registers = { .rbx = SHARED_THERE + RUNNING_AT + core * LINE_BYTES,
		                                      .r12 = PAGE_THERE };
		*running(core) = 0;
		thread[core] = thread_of(&code, vspace, core, core, shootdown_thread, registers);
	}
	for (unsigned core = 1; core < cores; core++)
		check_ok(tcb_resume(thread[core]));
	for (unsigned core = 1; core < cores; core++)
		while (!atomic_load_explicit(running(core), memory_order_relaxed))
			__builtin_ia32_pause();
}

static void measure_cores(unsigned cores, unsigned rounds)
{
	MARK(0);
	shared_make(1);
	uint64_t vspace = space_of(&code), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(page_table_map(IPC, object(OBJECT_PAGE_TABLE, 0), vspace, PAGE_THERE));
	check_ok(frame_map(IPC, frame, vspace, PAGE_THERE, READ_WRITE, CACHE_WRITE_BACK));
	waiting_start(cores, vspace);
	for (unsigned i = 0; i < WARM_UP + rounds; i++) {
		MARK(1);
		int error = frame_protect(frame, RIGHT_READ);
		MARK(2);
		check_ok(error);
		check_ok(frame_protect_in(IPC, frame, vspace, READ_WRITE));
	}
	for (unsigned core = 1; core < cores; core++)
		check_ok(tcb_suspend(thread[core]));
	struct text line = LINE;
	text_format(&line, "{\"event\":\"shootdown\",\"cores\":%u,\"warm_up\":%u,\"rounds\":%u}\n", cores, WARM_UP,
	            rounds);
	output_results(&line);
	memory_reset();
}

void shootdown_measure(const struct cluster_map *map)
{
	static uint32_t list[64];
	unsigned rounds = (unsigned)argument_number(map, 1, ROUNDS);
	check(rounds && rounds <= ROUNDS_MOST && argument_list(map, 2, list, 63));
	for (const uint32_t *cores = list; *cores; cores++) {
		check(*cores <= ROOT->cpu_count && *cores <= THREADS_MOST);
		measure_cores(*cores, rounds);
	}
}
