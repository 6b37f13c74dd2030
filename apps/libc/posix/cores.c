/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On which of the program's cores its threads are (LAYER_CORES only). The cores have numbers from 0 on, in the order of
 * process_info.cores, as in a container. Where a thread runs matters for speed only: all locks are for threads of any
 * core.
 */
#include <errno.h>
#include <string.h>
#include <sys/membarrier.h>
#include "layer.h"
#include "platform.h"

/* An executable that has this note works on several cores (deploy/base/elf.py reads it). */
__asm__(".pushsection .note.skerry, \"a\", @note\n\t"
        ".balign 4\n\t"
        ".long 7, 0, 1\n\t" /* size of the name, size of the content, type */
        ".asciz \"Skerry\"\n\t"
        ".balign 4\n\t"
        ".popsection");

_Static_assert(PROCESS_CORES <= 64, "a mask of cores is one word");
static struct {
	uint64_t allowed; /* affinity; 0: all of them */
	unsigned core;
} place[THREADS_MAX];

static uint64_t all_cores(void)
{
	const uint32_t count = platform_info()->core_count;

	require(count && count <= PROCESS_CORES);
	return ~0ull >> (64 - count);
}

static uint64_t affinity_of(unsigned index) { return place[index].allowed ? place[index].allowed : all_cores(); }

unsigned core_of_thread(unsigned index)
{
	require(index < THREADS_MAX);
	return place[index].core;
}

/* Returns the core of a mask with the fewest threads; the first of these. */
static unsigned least_loaded(uint64_t mask, const struct thread *but)
{
	unsigned load[PROCESS_CORES] = { 0 }, best = (unsigned)__builtin_ctzll(mask);

	require(mask && !(mask & ~all_cores()));
	for (const struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid && t != but)
			load[place[t->index].core]++;
	for (uint64_t rest = mask; rest; rest &= rest - 1)
		if (load[__builtin_ctzll(rest)] < load[best])
			best = (unsigned)__builtin_ctzll(rest);
	return best;
}

void cores_choose(const struct thread *t, const struct thread *parent)
{
	const struct process_info *info = platform_info();
	const uint64_t allowed = affinity_of(parent->index);
	const unsigned turn = info->placement == PROCESS_FIRST ? 0 : t->index % info->core_count;

	require(layer_is_locked());
	place[t->index].allowed = allowed;
	place[t->index].core = allowed >> turn & 1 ? turn : least_loaded(allowed, t);
}

/* 0 is the calling thread. Null: there is no such thread. */
static struct thread *find(long tid)
{
	if (!tid)
		return thread_self();
	for (struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid == tid)
			return t;
	return 0;
}

static long set_affinity(struct thread *t, uint64_t mask)
{
	const unsigned core = mask >> place[t->index].core & 1 ? place[t->index].core : least_loaded(mask, t);

	if (core != place[t->index].core && platform_move(t->index, core))
		return -EPERM; /* not given by the deployment */
	place[t->index].core = core;
	place[t->index].allowed = mask;
	return 0;
}

long sys_sched_setaffinity(const long *a)
{
	uint64_t mask = 0;

	if (a[1] <= 0)
		return -EINVAL;
	memcpy(&mask, (const void *)a[2], (size_t)a[1] < sizeof(mask) ? (size_t)a[1] : sizeof(mask));
	mask &= all_cores();
	if (!mask)
		return -EINVAL;
	layer_lock();
	struct thread *t = find(a[0]);
	const long result = t ? set_affinity(t, mask) : -ESRCH;
	layer_unlock();
	return result;
}

long sys_sched_getaffinity(const long *a)
{
	if (a[1] < (long)sizeof(uint64_t) || a[1] % (long)sizeof(uint64_t))
		return -EINVAL;
	layer_lock();
	const struct thread *t = find(a[0]);
	const uint64_t mask = t ? affinity_of(t->index) : 0;
	layer_unlock();
	if (!mask)
		return -ESRCH;
	memset((void *)a[2], 0, (size_t)a[1]);
	memcpy((void *)a[2], &mask, sizeof(mask));
	return sizeof(mask);
}

/* A moment old when it returns, as everywhere. */
long sys_getcpu(const long *a)
{
	const unsigned core = place[thread_self()->index].core;

	if (a[0])
		*(unsigned *)a[0] = core;
	if (a[1])
		*(unsigned *)a[1] = platform_info()->cores[core].node;
	return 0;
}

long sys_membarrier(const long *a)
{
	enum {
		FENCES = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED |
		         MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
		REGISTRATIONS = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
		                MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
	};
	const long command = a[0];

	if (a[1] || command < 0 || (command & (command - 1)) || command & ~(long)(FENCES | REGISTRATIONS))
		return -EINVAL;
	if (!command)
		return FENCES | REGISTRATIONS;
	if (command & FENCES) {
		layer_lock();
		platform_fence();
		layer_unlock();
	}
	return 0;
}
