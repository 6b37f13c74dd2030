/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware work after the lock, done to a model of the hardware: compare arch-x86_64/finish.c. */
#include "arch.h"
#include "arch_switch.h"
#include "hosted.h"
#include "vspace.h"

/* The first word of a thread's FPU area is its address; what a core holds must be the loaded thread's. */
static uint64_t *fpu_stamp(struct thread *thread) { return (uint64_t *)thread->fpu; }

void arch_fpu_init(uint8_t *fpu) { *(uint64_t *)fpu = (uint64_t)fpu; }

static void save_thread(struct cpu *cpu)
{
	struct thread *thread = cpu->own.loaded_thread;
	if (!thread)
		return;
	if (!atomic_load_explicit(&thread->loaded, memory_order_relaxed) || *fpu_stamp(thread))
		arch_panic("a thread is saved that was not loaded, or its memory was taken while it was");
	*fpu_stamp(thread) = (uint64_t)thread->fpu;
	cpu->own.loaded_thread = 0;
	atomic_store_explicit(&thread->loaded, 0, memory_order_release);
}

static void set_vspace(struct cpu *cpu, struct vspace *vspace)
{
	if (cpu->own.loaded_vspace == vspace)
		return;
	cpu->own.loaded_vspace = vspace;
	if (vspace && !vspace_tlb_validate(cpu, vspace))
		hosted_flush_tag(vspace->loads);
	hosted_pause();
}

static void load_thread(struct cpu *cpu, struct thread *thread, struct vspace *vspace)
{
	if (cpu->own.loaded_thread != thread) {
		save_thread(cpu);
		while (atomic_load_explicit(&thread->loaded, memory_order_acquire))
			arch_relax();
		if (*fpu_stamp(thread) != (uint64_t)thread->fpu)
			arch_panic("a thread is loaded whose FPU state was never saved");
		*fpu_stamp(thread) = 0;
		atomic_store_explicit(&thread->loaded, 1, memory_order_relaxed);
		cpu->own.loaded_thread = thread;
	}
	set_vspace(cpu, vspace);
	hosted_self->tls = thread->context.registers.fs_base;
}

void arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace)
{
	if (cpu->own.loaded_thread != from || atomic_load_explicit(&to->loaded, memory_order_relaxed) ||
	    !vspace_tlb_is_valid(cpu, vspace))
		arch_panic("the fast path goes where it may not");
	if (cpu->own.pending)
		arch_panic("the fast path switches with hardware work pending");
	load_thread(cpu, to, vspace);
}

void arch_finish(struct cpu *cpu)
{
	uint32_t pending = cpu->own.pending;
	cpu->own.pending = 0;
	if (pending & PENDING_INTERRUPT) {
		interrupts_send(hosted_self, &cpu->own.interrupt_cores, !(pending & PENDING_FAST));
		cpu->own.interrupt_cores = (struct core_set){ 0 };
	}
	if (pending & PENDING_FAST)
		cpu_allow_fast(cpu);
	if (pending & PENDING_DOORBELL) {
		struct hosted_core *peer = hosted_core_by_apic(cpu->own.doorbell_apic);
		if (peer) /* else: the other cluster has gone */
			hosted_interrupt(peer, HOSTED_VECTOR_DOORBELL);
	}
	hosted_pause();
	if (pending & PENDING_SWITCH) {
		if (cpu->shared.current == &cpu->shared.idle)
			save_thread(cpu);
		else
			load_thread(cpu, cpu->shared.current, cpu->own.vspace_wanted);
	}
	if (pending & PENDING_TIMER)
		hosted_self->timer = cpu->own.timer_armed = cpu->own.timer_wanted;
	atomic_store_explicit(&hosted_self->owes_visits, cpu->own.visits_at != 0, memory_order_relaxed);
	if (pending & PENDING_LEAVE)
		arch_leave_kernel(cpu);
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
	(void)cpu;
	interrupts_send(hosted_self, cores, false);
}
