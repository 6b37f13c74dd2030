/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a load takes when its line is in a cache of this core, of another, or
 * in memory (Table 1 of Elphinstone 2016): one core writes so many lines that
 * the first of them are in the cache in question, then a core reads those.
 */
#include <skerry/mark.h>
#include "bare.h"
#include "pingpong.h"

#define LARGE        (2ull << 20)
#define CHAIN_THERE  (SHARED_THERE + LARGE) /* in the agents' address space: below the same table as the shared frame */
#define CHAIN_HERE   (LARGE_WINDOW + LARGE)
/* in the shared frame; shares no place in a TLB with the chain's first pages */
#define AGENTS       0x10000ull
enum { FRAMES_MOST = 500 };

/* A thread on one core. */
struct agent {
	uint64_t start;
	uint32_t writes, reads;
	uint64_t cycles, errors;
	uint64_t done_call, done_cap;
	uint64_t itself, rest;
};
_Static_assert(offsetof(struct agent, start) == CACHES_START && offsetof(struct agent, writes) == CACHES_WRITES &&
               offsetof(struct agent, reads) == CACHES_READS && offsetof(struct agent, cycles) == CACHES_CYCLES &&
               offsetof(struct agent, errors) == CACHES_ERRORS && offsetof(struct agent, done_call) == CACHES_DONE &&
               offsetof(struct agent, itself) == CACHES_ITSELF &&
               sizeof(struct agent) == CACHES_AGENT,
               "as caches.S has it");

extern const char caches_start[], caches_end[], caches_agent[];
static const struct code code = { caches_start, caches_end };
static uint64_t orders[FEW_CORES]; /* the notification of a core's agent; 0: none yet */
static uint64_t memory;                /* physical address of the untyped memory that the chain is in */

static struct agent *agent_of(unsigned core) { return (struct agent *)((char *)shared + AGENTS) + core; }

/* Returns the largest piece of ordinary memory below `end`, of which the chain needs `size` bytes. */
static uint64_t chain_untyped(uint64_t size, uint64_t end)
{
	const struct root_untyped *best = 0;
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind == ROOT_UNTYPED_ORDINARY && u->paddr + (1ull << u->size_bits) <= end &&
		    (!best || u->size_bits > best->size_bits))
			best = u;
	}
	check(best && 1ull << best->size_bits >= 2 * size);
	memory = best->paddr;
	return ROOT_SLOT_UNTYPED + (uint64_t)(best - ROOT->untyped);
}

/* Each of a page's first lines has the address of the next one, as the agents map it. */
static void chain_link(unsigned pages)
{
	for (uint64_t page = 0; page < pages; page++)
		for (uint64_t line = 0; line < CACHES_LINES; line++) {
			uint64_t next = line + 1 < CACHES_LINES ? page * 4096 + (line + 1) * 64 : (page + 1) * 4096;
			*(uint64_t *)(CHAIN_HERE + page * 4096 + line * 64) = CHAIN_THERE + next;
		}
}

/* Maps the chain here and in the agents' address space. */
static void chain_make(unsigned pages, uint64_t end, uint64_t vspace)
{
	unsigned frames = (unsigned)((pages * 4096ull + LARGE - 1) / LARGE);
	check(frames <= FRAMES_MOST);
	uint64_t first = slots(frames);
	check_ok(untyped_retype(IPC, chain_untyped(frames * LARGE, end), OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, first,
	                        frames));
	for (unsigned i = 0; i < frames; i++) {
		uint64_t at = i * LARGE;
		check_ok(frame_map(IPC, copy_of(first + i, RIGHT_ALL), vspace, CHAIN_THERE + at,
		                   RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
		check_ok(frame_map(IPC, first + i, ROOT_SLOT_VSPACE, CHAIN_HERE + at, RIGHT_READ | RIGHT_WRITE,
		                   CACHE_WRITE_BACK));
	}
	chain_link(pages);
}

static void agent_make(unsigned core, uint64_t vspace)
{
	check(core < ROOT->cpu_count);
	if (orders[core])
		return;
	orders[core] = object(OBJECT_NOTIFICATION, 0);
	uint64_t there = SHARED_THERE + AGENTS + core * CACHES_AGENT;
	*agent_of(core) = (struct agent){ .start = CHAIN_THERE, .done_call = SYS_SIGNAL, .done_cap = shared_done(),
	                                  .itself = there + CACHES_ITSELF };
	struct thread_registers registers = { .rbx = there, .r13 = SYS_WAIT, .r15 = orders[core] };
	check_ok(tcb_resume(thread_of(&code, vspace, core, core, caches_agent, registers)));
}

/* Returns the cycles of what is read. */
static uint64_t agent_run(unsigned core, unsigned writes, unsigned reads)
{
	struct agent *agent = agent_of(core);
	agent->writes = writes;
	agent->reads = reads;
	check_ok(notification_signal(orders[core]));
	shared_wait();
	check_eq(agent->errors, 0);
	return agent->cycles;
}

static void measure_pair(unsigned writer, unsigned reader, unsigned pages)
{
	uint64_t empty = agent_run(reader, 0, 1), cycles;
	if (writer == reader) { /* nothing else runs in between */
		cycles = agent_run(reader, pages, 2);
	} else {
		agent_run(writer, pages, 0);
		cycles = agent_run(reader, 0, 2);
	}
	check(cycles >= empty);
	struct text line = LINE;
	text_format(&line, "{\"event\":\"latency-of-line\",\"writer\":%u,\"reader\":%u,\"pages\":%u,\"loads\":%u",
	            writer, reader, pages, (unsigned)(CACHES_TIMED * CACHES_LINES));
	text_format(&line, ",\"memory\":%lu,\"cycles\":%lu}\n", memory, cycles - empty);
	output_results(&line);
}

void caches_measure(const struct caches *caches)
{
	unsigned most = CACHES_TIMED;
	shared_make(1);
	uint64_t vspace = space_of(&code);
	for (unsigned i = 0; caches->pages[i]; i++) {
		check(caches->writers[i] && caches->readers[i] && caches->pages[i] >= CACHES_TIMED);
		most = caches->pages[i] > most ? caches->pages[i] : most;
		agent_make(caches->writers[i] - 1, vspace);
		agent_make(caches->readers[i] - 1, vspace);
	}
	chain_make(most, caches->end_mib << 20, vspace);
	MARK(0);
	for (unsigned i = 0; caches->pages[i]; i++)
		measure_pair(caches->writers[i] - 1, caches->readers[i] - 1, caches->pages[i]);
}
