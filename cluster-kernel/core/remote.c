/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote.h"
#include "arch.h"
#include "kernel.h"
#include "memory.h"
#include "schedule.h"
#include "tlb.h"
#include "vspace.h"
#include LOCKING_HEADER

/*
 * Leaves the current thread: saves its state and loads the kernel's address space. The core idles until it next
 * schedules. The asking core decides what becomes of the thread.
 */
static void stall_here(struct cpu *cpu)
{
	arch_unload(cpu);
	context_restart(&current(cpu)->context);
	schedule_idle(cpu);
	cpu->own.pending |= PENDING_SWITCH;
}

/*
 * This core idles, and no thread will be woken on it (core_move.h). It drops what is under a tag when it next loads the
 * space.
 */
static void begin_leaving(struct cpu *cpu)
{
	kernel_assert(current(cpu) == &cpu->shared.idle);
	arch_unload(cpu);
	memory_zero(cpu->own.tlb_valid, sizeof(cpu->own.tlb_valid));
	cpu->own.pending |= PENDING_LEAVE;
}

static void flush_here(struct cpu *cpu, const struct tlb_spaces *spaces, unsigned request)
{
	for (uint32_t i = 0; i < spaces->count; i++)
		vspace_flush_here(cpu, spaces->vspace[i], request);
}

/* Serves the readers that have a bit in word `word`. There are none if an earlier call has taken their bits. */
static void serve_askers(struct cpu *cpu, uint32_t word)
{
	uint64_t askers = atomic_exchange_explicit(&cpu->shared.flush_askers[word], 0, memory_order_acquire);
	for (; askers; askers &= askers - 1) {
		struct cpu *asker = kernel_of(cpu)->cpu[core_set_lowest(word, askers)];
		flush_here(cpu, &asker->shared.owed, REQUEST_FLUSH);
		atomic_fetch_sub_explicit(&asker->shared.flush_unanswered, 1, memory_order_release);
	}
}

/* Serves the flushes that readers ask for. Several may ask at once, each for its own list of spaces. */
static void serve_flushes(struct cpu *cpu)
{
	if (!atomic_load_explicit(&cpu->shared.flush_summary, memory_order_relaxed))
		return;
	/* acquire: a bit in a word was set before the word's bit here */
	uint64_t words = atomic_exchange_explicit(&cpu->shared.flush_summary, 0, memory_order_acquire);
	for (; words; words &= words - 1)
		serve_askers(cpu, (uint32_t)__builtin_ctzll(words));
}

/* Apart from the look, which a waiting core makes again and again: that has no registers to save. */
static __attribute__((noinline)) void serve_group(struct cpu *cpu, struct core_group *group)
{
	const uint32_t request = group->request;
	kernel_assert(request >= REQUEST_DESCHEDULE && request <= REQUEST_FLUSH_KERNEL);
	if (request == REQUEST_DESCHEDULE)
		stall_here(cpu);
	else if (request == REQUEST_LEAVE)
		begin_leaving(cpu);
	else if (request == REQUEST_FLUSH_KERNEL)
		arch_flush_kernel();
	else
		flush_here(cpu, group->spaces, request);
	atomic_fetch_and_explicit(&group->asked, ~cpu->own.member, memory_order_release);
}

void remote_serve(struct cpu *cpu)
{
	if (kernel_has_readers())
		serve_flushes(cpu);
	if (core_group_asks(cpu->own.group, cpu->own.member))
		serve_group(cpu, cpu->own.group);
}

/* Serves a request of this core's own. */
static void serve_own(struct cpu *cpu, unsigned request, const struct tlb_spaces *spaces)
{
	if (request == REQUEST_FLUSH_KERNEL)
		arch_flush_kernel();
	else if (request != REQUEST_DESCHEDULE)
		flush_here(cpu, spaces, request);
}

static void ask(struct core_group *group, uint32_t members, unsigned request, const struct tlb_spaces *spaces)
{
	kernel_assert(members && !atomic_load_explicit(&group->asked, memory_order_relaxed));
	group->request = request;
	group->spaces = spaces;
	atomic_store_explicit(&group->asked, members, memory_order_release);
}

/* Waits for all members of the group that are asked. */
static void await_answers(const struct core_group *group)
{
	while (atomic_load_explicit(&group->asked, memory_order_acquire))
		arch_relax();
}

static void ask_all(const struct kernel *kernel, const struct core_set *cores, unsigned request,
                    const struct tlb_spaces *spaces)
{
	struct core_set left = *cores;
	FOR_CORES (core, &left, kernel->core_words)
		ask(core_group_of(kernel, core), core_group_take(kernel, &left, core), request, spaces);
}

static void await_all(const struct kernel *kernel, const struct core_set *cores)
{
	struct core_set left = *cores;
	FOR_CORES (core, &left, kernel->core_words) {
		core_group_take(kernel, &left, core);
		await_answers(core_group_of(kernel, core));
	}
}

void remote_request(struct cpu *cpu, const struct core_set *cores, unsigned request, const struct tlb_spaces *spaces)
{
	assert_exclusive();
	kernel_assert(request >= REQUEST_DESCHEDULE && request <= REQUEST_FLUSH_KERNEL);
	kernel_assert((spaces && spaces->count > 0) ||
	              (request != REQUEST_FLUSH && request != REQUEST_FLUSH_AND_UNLOAD));
	const struct kernel *kernel = kernel_of(cpu);
	const uint32_t words = kernel->core_words;
	struct core_set others = *cores;
	kernel_assert(core_set_next(cores, words, kernel->cpu_count) == words * CORE_SET_BITS);
	if (!core_set_any(cores, words))
		return;
	kernel_irrevocable(cpu);
	core_set_remove(&others, cpu->own.index);
	const bool asks = core_set_any(&others, words);
	if (asks) {
		ask_all(kernel, &others, request, spaces);
		arch_interrupt_cores(cpu, &others);
	}
	if (core_set_has(cores, cpu->own.index))
		serve_own(cpu, request, spaces);
	if (asks)
		await_all(kernel, &others);
}

void remote_request_core(struct cpu *cpu, uint32_t core, unsigned request, const struct tlb_spaces *spaces)
{
	struct core_set one = { 0 };
	core_set_add(&one, core);
	remote_request(cpu, &one, request, spaces);
}

/* Asks a core to flush. Returns whether it must be interrupted: only its first asker interrupts it. */
static bool ask_to_flush(const struct cpu *cpu, struct cpu *other)
{
	/* release: publishes `owed` and `flush_unanswered` to the asked core */
	atomic_fetch_or_explicit(&other->shared.flush_askers[cpu->own.word], cpu->own.bit, memory_order_release);
	return !atomic_fetch_or_explicit(&other->shared.flush_summary, 1ull << cpu->own.word, memory_order_release);
}

void remote_flush(struct cpu *cpu, const struct core_set *cores)
{
	const struct kernel *kernel = kernel_of(cpu);
	const uint32_t words = kernel->core_words;
	struct core_set others = *cores, interrupts = { 0 };
	uint32_t asked = 0;
	assert_entered();
	kernel_assert(!kernel_exclusive(cpu) &&
	              !atomic_load_explicit(&cpu->shared.flush_unanswered, memory_order_relaxed));
	core_set_remove(&others, cpu->own.index);
	FOR_CORES (core, &others, words)
		asked++;
	atomic_store_explicit(&cpu->shared.flush_unanswered, asked, memory_order_relaxed);
	FOR_CORES (core, &others, words)
		if (ask_to_flush(cpu, kernel->cpu[core]))
			core_set_add(&interrupts, core);
	if (core_set_any(&interrupts, words))
		arch_interrupt_cores(cpu, &interrupts);
	if (core_set_has(cores, cpu->own.index))
		flush_here(cpu, &cpu->shared.owed, REQUEST_FLUSH);
	while (atomic_load_explicit(&cpu->shared.flush_unanswered, memory_order_acquire))
		kernel_relax(cpu);
}

void kernel_relax(struct cpu *cpu)
{
	if (cpu)
		remote_serve(cpu);
	arch_relax();
}

void kernel_interrupt_now(struct cpu *cpu, const struct core_set *cores)
{
	kernel_assert(!core_set_has(cores, cpu->own.index));
	arch_interrupt_cores(cpu, cores);
}

/* Makes the fast path decline: this may be its own entry, and it would not do the pending work. */
void kernel_interrupt_all(struct cpu *cpu)
{
	const struct kernel *kernel = kernel_of(cpu);
	cpu_decline_fast(cpu);
	for (uint32_t i = 0; i < kernel->core_words; i++) {
		cpu->own.interrupt_cores.word[i] |= kernel->cores.word[i];
		cpu->own.preempt_cores.word[i] = 0; /* none of them may be taken back */
	}
	cpu->own.pending |= PENDING_INTERRUPT;
}
