/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include <skerry/core_control.h>
#include <skerry/memory_control.h>
#include "endpoint.h"
#include "notification.h"
#include "reply.h"

enum { QUARTERS = 4, LONG_AGO = 1, OTHER = 2 }; /* of entries: interrupts.c numbers them from 1 on */

static struct {
	uint64_t kernel[sizeof(struct lock_kernel) / 8 + 1], core[STEP_CORES][sizeof(struct lock_cpu) / 8 + 1];
	bool same; /* locks that no core holds are always as at first, but for which memory stands for which core */
} free_locks;

static bool anybody_inside(void)
{
	bool inside = false;
	for (unsigned core = 0; core < tiny->config.cores; core++)
		inside |= step_inside(core);
	return inside;
}

void canonical_begin(void)
{
	require(!anybody_inside());
	free_locks.same = strcmp(REGIME_HEADER, "dynamic.h") != 0; /* its lock says which granularity there is */
	memcpy(free_locks.kernel, &tiny->kernel.lock, sizeof(struct lock_kernel));
	for (unsigned core = 0; core < tiny->config.cores; core++)
		memcpy(free_locks.core[core], &tiny_cpu(core)->own.lock, sizeof(struct lock_cpu));
}

static void put_words(void *at, const uint64_t *words, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		log_put((uint64_t *)at + i, words[i]);
}

static void free_kernel_lock(void)
{
	if (!free_locks.same)
		return;
	put_words(&tiny->kernel.lock, free_locks.kernel, sizeof(struct lock_kernel));
	for (unsigned core = 0; core < tiny->config.cores; core++)
		put_words(&tiny_cpu(core)->own.lock, free_locks.core[core], sizeof(struct lock_cpu));
}

/* A ticket lock that is free, at the head of an object's lock: both counters become 0. */
static void free_ticket(void *lock, size_t size)
{
	uint32_t *counter = lock;
	if (size >= 8 && counter[0] == counter[1])
		log_put(lock, 0);
}
#define FREE_LOCK(lock) free_ticket(&(lock), sizeof(lock))

static void free_object_locks(const struct census *census)
{
	for (unsigned i = 0; i < census->count; i++) {
		const struct cap *cap = &census->entry[i].cap;
		switch (cap->type) {
		case OBJECT_TCB: FREE_LOCK(((struct thread *)cap->object)->lock); break;
		case OBJECT_ENDPOINT: FREE_LOCK(((struct endpoint *)cap->object)->lock); break;
		case OBJECT_NOTIFICATION: FREE_LOCK(((struct notification *)cap->object)->lock); break;
		case OBJECT_REPLY: FREE_LOCK(((struct reply *)cap->object)->lock); break;
		case OBJECT_DOMAIN: FREE_LOCK(((struct domain *)cap->object)->lock); break;
		default: break;
		}
	}
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		FREE_LOCK(tiny_cpu(core)->shared.ready.lock);
		FREE_LOCK(tiny_cpu(core)->shared.idle.lock);
	}
}

/* A moment, less what the clock goes back; 0 stays: never. */
#define EARLIER(field, by)                               \
	do {                                             \
		if (field)                               \
			LOG_SET(field, (field) - (by));  \
	} while (0)

static void stop_clock(const struct census *census)
{
	const uint64_t by = tiny->time - tiny_now;
	if (!by)
		return;
	LOG_SET(tiny->time, tiny_now);
	EARLIER(tiny->kernel.missed_since, by);
	LOG_SET(tiny->kernel.reports_until, tiny->kernel.reports_until > tiny_now + by ?
	        tiny->kernel.reports_until - by : 0);
	for (unsigned i = 0; i < census->threads; i++) {
		struct thread *thread = census->thread[i].thread;
		if (thread->in_timers || thread->timer.kept)
			EARLIER(thread->deadline, by);
	}
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		struct cpu_private *own = &tiny_cpu(core)->own;
		struct timers *timers = &tiny_cpu(core)->shared.timers;
		EARLIER(tiny->core[core].timer, by);
		EARLIER(own->timer_armed, by);
		EARLIER(own->timer_wanted, by);
		EARLIER(own->slice_end, by);
		EARLIER(own->cleanup_at, by);
		EARLIER(own->poll_at, by);
		EARLIER(own->report_at, by);
		EARLIER(own->visits_at, by);
		EARLIER(own->housekeeping_at, by);
		LOG_SET(own->visits_until, own->visits_until > tiny_now + by ? own->visits_until - by : 0);
		for (unsigned i = 1; timers->first[1] && i < 2 * PRIORITIES; i++)
			EARLIER(timers->first[i], by);
	}
}

static bool is_inside(const struct thread *thread)
{
	for (unsigned core = 0; core < tiny->config.cores; core++)
		if (step_inside(core) && current(tiny_cpu(core)) == thread)
			return true;
	return false;
}

/* A thread that is in no call: its program may have left anything in its registers and its IPC buffer. */
static void forget_registers(struct thread *thread)
{
	struct context *context = &thread->context;
	const uint64_t fs_base = context->registers.fs_base;
	for (size_t i = 0; i < sizeof(context->registers) / 8; i++) {
		uint64_t *word = (uint64_t *)&context->registers + i;
		log_put(word, word == &context->registers.rflags ? RFLAGS_FIXED
		        : word == &context->registers.fs_base ? fs_base : 0);
	}
	LOG_SET(context->syscall, false);
	LOG_SET(context->trap, false);
	struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	if (!buffer)
		return;
	for (unsigned i = 0; i < OPERATION_WORDS; i++)
		log_put(&buffer->words[i], 0);
	for (unsigned i = 0; i < OPERATION_CAPS; i++)
		log_put(&buffer->caps[i], 0);
}

static void make_thread_canonical(struct thread *thread)
{
	const uint64_t quarter = tiny->kernel.slice / QUARTERS;
	if (is_inside(thread))
		return;
	log_put(&thread->time, 0);
	log_put(&thread->slice_left, (thread->slice_left + quarter - 1) / quarter * quarter);
	if (!thread->in_timers && !thread->timer.kept)
		log_put(&thread->deadline, 0);
	if (thread->context.again || thread->context.raise || thread_waits(thread))
		log_put(&thread->context.registers.rip, SYSCALL_SIZE);
	else
		forget_registers(thread);
}

static void make_stat(struct core_stat *stat)
{
	if (stat->sequence % 2)
		return; /* being written */
	if (stat->idle_since)
		LOG_SET(stat->idle_since, tiny_now);
	LOG_SET(stat->idle_cycles, 0);
	LOG_SET(stat->updated, 0);
	LOG_SET(stat->sequence, 0);
}

/* Entries have numbers; of an interrupt it matters whether it was sent by the last one (interrupts.c). */
static void make_numbers(struct hosted_core *core)
{
	const uint64_t entered = tiny->entered, last = UINT32_MAX;
	if (core->interrupted_by)
		LOG_SET(core->interrupted_by, core->interrupted_by == entered ? last : LONG_AGO);
	const bool is_last = core->inside && core->entry == entered && (core->alone || core->observed);
	LOG_SET(core->entry, !core->inside ? 0 : is_last ? last : OTHER); /* nothing else is asked of the last one */
	if (core->inside && !is_last)
		LOG_SET(core->alone, false);
}

static void make_core(unsigned index)
{
	struct hosted_core *core = &tiny->core[index];
	struct cpu *cpu = tiny_cpu(index);
	make_numbers(core);
	log_put(&core->fiber.caller, 0);
	LOG_SET(core->entries, 0);
	LOG_SET(core->spins, 0);
	LOG_SET(core->done, false);
	LOG_SET(core->kernel_flushes, 0);
	LOG_SET(core->tlb_next, core->tlb_next % HOSTED_TLB);
	if (core->inside)
		return;
	LOG_SET(core->fast, false);
	LOG_SET(core->alone, false);
	log_put(&core->thread, 0);
	for (unsigned i = 0; i < sizeof(core->words) / 8; i++)
		log_put(&core->words[i], 0);
	LOG_SET(core->fault, 0);
	LOG_SET(core->fault_count, 0);
	log_zero(&core->before, sizeof(core->before));
	for (unsigned i = 0; i < HOSTED_TLB; i++)
		if (!core->tlb[i].tag)
			log_zero(&core->tlb[i], sizeof(core->tlb[i]));
	LOG_SET(cpu->own.work_left, 0);
	log_put(&cpu->shared.idle.time, 0);
	make_stat(cpu->own.stat);
}

/* How often cores and memory have moved is compared with what it was, by cores inside the kernel only. */
static void forget_moves(void)
{
	const uint32_t losses = tiny->direct_losses;
	LOG_SET(tiny->direct_losses, 1);
	LOG_SET(hosted_memory_control()->changes, 0);
	for (unsigned i = 0; i < tiny->config.cores; i++) {
		struct core_control *control = hosted_core_control(hosted_apic(tiny->config.cluster, i));
		LOG_SET(tiny->core[i].direct_seen, tiny->core[i].direct_seen == losses);
		LOG_SET(control->word, control->word & UINT32_MAX);
	}
}

void canonical_make(const struct census *census)
{
	if (!anybody_inside()) { /* else a core may have read the clock, or be in a queue for a lock */
		stop_clock(census);
		free_kernel_lock();
		free_object_locks(census);
		if (tiny_place)
			forget_moves();
	}
	for (unsigned i = 0; i < census->threads; i++)
		make_thread_canonical(census->thread[i].thread);
	for (unsigned core = 0; core < tiny->config.cores; core++)
		make_core(core);
	LOG_SET(tiny->entered, UINT32_MAX);
}
