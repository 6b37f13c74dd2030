/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote.h"
#include "arch.h"
#include "kernel.h"
#include "schedule.h"
#include "vspace.h"

/*
 * Leaving the current thread: its state is saved, the kernel's own address
 * space is loaded, and the core is idle until it next schedules. The thread
 * itself is the asking core's to deal with.
 */
static void stall(struct cpu *cpu)
{
	arch_unload(cpu);
	context_restart(&current(cpu)->context);
	schedule_idle(cpu);
	cpu->own.pending |= PENDING_SWITCH;
}

/* The thread goes on, in the address space it still has; without one it faults at its first instruction. */
static void leave_vspace(struct cpu *cpu)
{
	arch_unload_vspace(cpu);
	if (current(cpu) != &cpu->shared.idle)
		vspace_retain_core(thread_vspace(current(cpu)), cpu->own.index);
}

void remote_serve(struct cpu *cpu)
{
	uint32_t requests = atomic_load_explicit(&cpu->shared.requests, memory_order_acquire);
	if (!requests)
		return;
	if (requests & REQUEST_STALL)
		stall(cpu);
	if (requests & REQUEST_LEAVE)
		leave_vspace(cpu);
	if (requests & REQUEST_FLUSH)
		arch_flush_tlb();
	atomic_store_explicit(&cpu->shared.requests, 0, memory_order_release);
}

void remote_request(struct cpu *cpu, uint64_t cores, unsigned request)
{
	struct kernel *kernel = kernel_of(cpu);
	uint64_t self = 1ull << cpu->own.index, others = cores & ~self;
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		if (others >> i & 1)
			atomic_fetch_or_explicit(&kernel->cpu[i]->shared.requests, request, memory_order_release);
	if (others)
		arch_interrupt_cores(cpu, others);
	if ((cores & self) && request == REQUEST_FLUSH)
		arch_flush_tlb();
	if ((cores & self) && request == REQUEST_LEAVE)
		leave_vspace(cpu);
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		while ((others >> i & 1) && atomic_load_explicit(&kernel->cpu[i]->shared.requests, memory_order_acquire))
			arch_relax();
}

void kernel_relax(struct cpu *cpu)
{
	remote_serve(cpu);
	arch_relax();
}
