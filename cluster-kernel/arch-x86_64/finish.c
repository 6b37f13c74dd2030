/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware work of a kernel entry, after the lock (core/arch.h: arch_finish). */
#include "arch.h"
#include "arch_switch.h"
#include "assert.h"
#include "core_local.h"
#include "fpu.h"
#include "kernel.h"
#include "local_apic.h"
#include "paging.h"
#include "vspace.h"

static void save_thread(struct cpu *cpu)
{
	struct thread *thread = cpu->own.loaded_thread;
	if (!thread)
		return;
	kernel_assert(atomic_load_explicit(&thread->loaded, memory_order_relaxed));
	fpu_save(thread->fpu);
	cpu->own.loaded_thread = 0;
	atomic_store_explicit(&thread->loaded, 0, memory_order_release); /* another core may load it now */
}

static void set_vspace(struct cpu *cpu, struct vspace *vspace)
{
	if (cpu->own.loaded_vspace == vspace)
		return;
	cpu->own.loaded_vspace = vspace;
	if (vspace)
		write_cr3(vspace_tlb_validate(cpu, vspace) ? vspace->loads : vspace->loads & ~CR3_KEEP);
	else
		paging_load_kernel();
}

/* GS is the kernel's here; SWAPGS exchanges it with the user's, which is in KERNEL_GS_BASE. */
static void load_user_bases(uint64_t fs, uint64_t gs)
{
	if (this_core_read32(fsgsbase)) {
		asm volatile("wrfsbase %0; swapgs; wrgsbase %1; swapgs" ::"r"(fs), "r"(gs) : "memory");
	} else {
		write_msr(MSR_FS_BASE, fs);
		write_msr(MSR_KERNEL_GS_BASE, gs);
	}
}

/* From one user thread to another, or from idleness. */
static void load_thread(struct cpu *cpu, struct thread *thread)
{
	kernel_assert(thread != &cpu->shared.idle);
	if (cpu->own.loaded_thread != thread) {
		save_thread(cpu);
		while (atomic_load_explicit(&thread->loaded, memory_order_acquire))
			arch_relax(); /* the core it ran on is saving it right now */
		atomic_store_explicit(&thread->loaded, 1, memory_order_relaxed);
		cpu->own.loaded_thread = thread;
		fpu_load(thread->fpu);
	}
	set_vspace(cpu, cpu->own.vspace_wanted);
	/* always: a program may have changed them with WRFSBASE, and the next program must not see that */
	load_user_bases(thread->context.fs_base, thread->context.gs_base);
	set_entry_context(thread);
}

static void send_interrupts(struct cpu *cpu)
{
	arch_interrupt_cores(cpu, &cpu->own.interrupt_cores);
	for (uint32_t i = 0; i < kernel_of(cpu)->core_words; i++)
		cpu->own.interrupt_cores.word[i] = 0;
}

/*
 * `rest`: the timer's last entry has left overdue deadlines. One pending interrupt is taken before them: the timer
 * counts as not set, so the entry of that interrupt sets it.
 */
static void set_timer(struct cpu *cpu, bool rest)
{
	kernel_assert(cpu->own.timer_wanted);
	cpu->own.timer_armed = rest ? 0 : cpu->own.timer_wanted;
	if (rest)
		local_apic_send(kernel_of(cpu)->map_core[cpu->own.index].apic, VECTOR_REST);
	else
		local_apic_set_timer(cpu->own.timer_armed, kernel_of(cpu)->tsc_hz);
}

/* What is rare. */
static __attribute__((noinline)) void finish_other(struct cpu *cpu, uint32_t pending)
{
	if (pending & PENDING_INTERRUPT)
		send_interrupts(cpu);
	if (pending & PENDING_DOORBELL)
		local_apic_send(cpu->own.doorbell_apic, VECTOR_DOORBELL);
	if (pending & PENDING_FAST)
		cpu_allow_fast(cpu);
	if (pending & PENDING_TIMER)
		set_timer(cpu, (pending & PENDING_REST) && cpu->own.timer_wanted <= arch_time());
	if (pending & PENDING_LEAVE)
		arch_leave_kernel(cpu);
}

void arch_finish(struct cpu *cpu)
{
	uint32_t pending = cpu->own.pending;
	cpu->own.pending = 0;
	if (pending & ~PENDING_SWITCH)
		finish_other(cpu, pending);
	if (!(pending & PENDING_SWITCH))
		return;
	kernel_assert(!cpu->own.handoff && !cpu->own.pending);
	struct thread *thread = cpu->shared.current;
	if (thread == &cpu->shared.idle)
		save_thread(cpu); /* the address space stays: most likely it comes back */
	else
		load_thread(cpu, thread);
}

void arch_unload(struct cpu *cpu)
{
	save_thread(cpu);
	set_vspace(cpu, 0);
}

void arch_unload_vspace(struct cpu *cpu)
{
	set_vspace(cpu, 0);
	cpu->own.pending |= PENDING_SWITCH;
}

void arch_interrupt_cores(struct cpu *cpu, const struct core_set *cores)
{
	const struct kernel *kernel = kernel_of(cpu);
	struct core_set left;
	for (uint32_t i = 0; i < kernel->core_words; i++)
		left.word[i] = cores->word[i];
	FOR_CORES (core, &left, kernel->core_words) {
		kernel_assert(core < kernel->cpu_count);
		local_apic_send_members(kernel->map_core[core].apic, core_group_take(kernel, &left, core),
		                        VECTOR_RESCHEDULE);
	}
}
