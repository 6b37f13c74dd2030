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

/* Serves the flushes that readers ask for. Several may ask at once, each for its own list of spaces. */
static void serve_flushes(struct cpu *cpu)
{
	if (!atomic_load_explicit(&cpu->shared.flush_askers, memory_order_relaxed))
		return;
	uint64_t askers = atomic_exchange_explicit(&cpu->shared.flush_askers, 0, memory_order_acquire);
	for (; askers; askers &= askers - 1) {
		struct cpu *asker = kernel_of(cpu)->cpu[__builtin_ctzll(askers)];
		flush_here(cpu, &asker->shared.owed, REQUEST_FLUSH);
		atomic_fetch_and_explicit(&asker->shared.flush_unanswered, ~cpu->own.bit, memory_order_release);
	}
}

void remote_serve(struct cpu *cpu)
{
	if (kernel_has_readers())
		serve_flushes(cpu);
	uint32_t request = atomic_load_explicit(&cpu->shared.request, memory_order_acquire);
	if (!request)
		return;
	kernel_assert(request <= REQUEST_FLUSH_KERNEL);
	if (request == REQUEST_DESCHEDULE)
		stall_here(cpu);
	else if (request == REQUEST_LEAVE)
		begin_leaving(cpu);
	else if (request == REQUEST_FLUSH_KERNEL)
		arch_flush_kernel();
	else
		flush_here(cpu, cpu->shared.request_spaces, request);
	atomic_store_explicit(&cpu->shared.request, 0, memory_order_release);
}

void remote_request(struct cpu *cpu, uint64_t cores, unsigned request, const struct tlb_spaces *spaces)
{
	assert_exclusive();
	kernel_assert(request >= REQUEST_DESCHEDULE && request <= REQUEST_FLUSH_KERNEL);
	kernel_assert((spaces && spaces->count > 0) ||
	              (request != REQUEST_FLUSH && request != REQUEST_FLUSH_AND_UNLOAD));
	struct kernel *kernel = kernel_of(cpu);
	uint64_t self = 1ull << cpu->own.index, others = cores & ~self;
	kernel_assert(kernel->cpu_count == 64 || !(cores >> kernel->cpu_count));
	if (!cores)
		return;
	kernel_irrevocable(cpu);
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		if (others >> i & 1) {
			struct cpu *other = kernel->cpu[i];
			kernel_assert(!atomic_load_explicit(&other->shared.request, memory_order_relaxed));
			other->shared.request_spaces = spaces;
			atomic_store_explicit(&other->shared.request, request, memory_order_release);
		}
	if (others)
		arch_interrupt_cores(cpu, others);
	if ((cores & self) && request == REQUEST_FLUSH_KERNEL)
		arch_flush_kernel();
	else if ((cores & self) && request != REQUEST_DESCHEDULE)
		flush_here(cpu, spaces, request);
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		while ((others >> i & 1) && atomic_load_explicit(&kernel->cpu[i]->shared.request, memory_order_acquire))
			arch_relax();
}

void remote_flush(struct cpu *cpu, uint64_t cores)
{
	const struct kernel *kernel = kernel_of(cpu);
	uint64_t others = cores & ~cpu->own.bit, interrupts = 0;
	assert_entered();
	kernel_assert(!kernel_exclusive(cpu) &&
	              !atomic_load_explicit(&cpu->shared.flush_unanswered, memory_order_relaxed));
	atomic_store_explicit(&cpu->shared.flush_unanswered, others, memory_order_relaxed);
	for (uint64_t left = others; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		/*
		 * release: publishes `owed` and `flush_unanswered` to the asked core; only the first asker interrupts
		 * it
		 */
		if (!atomic_fetch_or_explicit(&kernel->cpu[i]->shared.flush_askers, cpu->own.bit, memory_order_release))
			interrupts |= 1ull << i;
	}
	if (interrupts)
		arch_interrupt_cores(cpu, interrupts);
	if (cores & cpu->own.bit)
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

void kernel_interrupt_now(struct cpu *cpu, uint64_t cores)
{
	kernel_assert(!(cores & cpu->own.bit));
	arch_interrupt_cores(cpu, cores);
}

/* Makes the fast path decline: this may be its own entry, and it would not do the pending work. */
void kernel_interrupt_all(struct cpu *cpu)
{
	cpu_decline_fast(cpu);
	cpu->own.interrupt_cores |= kernel_of(cpu)->cores;
	cpu->own.preempt_cores = 0; /* none of them may be taken back */
	cpu->own.pending |= PENDING_INTERRUPT;
}
