/* SPDX-License-Identifier: BSD-2-Clause */
#include "core_move.h"
#include <skerry/core_control.h>
#include <skerry/ledger.h>
#include "arch.h"
#include "beat.h"
#include "cap.h"
#include "fault.h"
#include "kernel.h"
#include "message.h"
#include "remote.h"
#include "timer.h"
#include "tlb.h"
#include "vspace.h"
#include LOCKING_HEADER

/* Returns the core's index in this cluster; cpu_count if there is no room for it. */
static uint32_t core_index_of(const struct kernel *kernel, uint64_t number)
{
	uint32_t i = 0;
	while (i < kernel->cpu_count && kernel->map_core[i].number != number)
		i++;
	return i;
}

static struct core_control *core_control_of(const struct kernel *kernel, uint32_t index)
{
	return (struct core_control *)direct(kernel->boot->core_control) + kernel->map_core[index].number;
}

bool is_neighbour(const struct kernel *kernel, uint64_t cluster)
{
	bool found = false;
	for (unsigned i = 0; i < kernel->boot->controlled_count; i++)
		found |= kernel->boot->controlled[i].cluster == cluster;
	return found && cluster != kernel->boot->cluster;
}

static bool has_deadlines(const struct cpu *core)
{
	for (unsigned i = 0; i < PRIORITIES; i++)
		if (core->shared.timers.heap[i])
			return true;
	return core->own.cleanup_at;
}

/*
 * Interrupts of a core whose APIC id devices cannot name go to another core (io_apic.c), so no core leaves while such a
 * core has a handler.
 */
static bool has_interrupts(const struct kernel *kernel, uint32_t index)
{
	for (unsigned i = 0; i < KERNEL_IRQS; i++)
		if (kernel->irq[i].used &&
		    (kernel->irq[i].core == index || kernel->map_core[kernel->irq[i].core].apic > BOOT_MAX_DEVICE_APIC))
			return true;
	return kernel->doorbells[index];
}

bool kernel_cores_move(struct cpu *cpu)
{
	const struct kernel *kernel = kernel_of(cpu);
	for (unsigned i = 0; kernel->boot->core_control && i < kernel->cpu_count; i++) {
		uint64_t word = core_read(core_control_of(kernel, i));
		if (core_owner(word) == kernel->boot->cluster &&
		    (core_state(word) == CORE_LEAVING || core_state(word) == CORE_JOINING))
			return true;
	}
	return false;
}

/* An object is at home there, or a call of another core's thread is to be made there. */
static bool has_visitors(const struct kernel *kernel, uint32_t index)
{
	const struct cpu_public *core = &kernel->cpu[index]->shared;
	return kernel->homes[index] || thread_stack_word(&core->visitors) || core->visited;
}

static bool can_leave(const struct kernel *kernel, uint32_t index)
{
	const struct cpu *core = kernel->cpu[index];
	return index && kernel_has_core(kernel, index) && !kernel->placed[index] &&
	       core->shared.current == &core->shared.idle && core->shared.ready.highest < 0 &&
	       thread_stack_empty(&core->shared.requeue) && !has_deadlines(core) && !has_interrupts(kernel, index) &&
	       !has_visitors(kernel, index);
}

/* The core has answered REQUEST_LEAVE: its TLB holds no valid translation of this cluster's spaces any more. */
static void forget_spaces(struct kernel *kernel, const struct cpu *core)
{
	for (unsigned i = 0; i < KERNEL_VSPACES; i++)
		if (kernel->vspace[i])
			atomic_fetch_and_explicit(&kernel->vspace[i]->active_mask[core->own.word], ~core->own.bit,
			                          memory_order_relaxed);
}

static uint64_t core_let_go(struct cpu *cpu, uint32_t index, uint64_t to)
{
	struct kernel *kernel = kernel_of(cpu);
	struct core_control *control = core_control_of(kernel, index);
	struct cpu *core = kernel->cpu[index];
	if (!can_leave(kernel, index) || !kernel_count_core(cpu, core, false))
		return SKERRY_BUSY;
	if (!core_leave(control, kernel->boot->cluster, (uint32_t)to)) {
		kernel_count_core(cpu, core, true);
		return SKERRY_BUSY;
	}
	core_set_remove(&kernel->cores, index);
	faults_take_over(cpu, core);
	beats_tell_cores(kernel);
	remote_request_core(cpu, index, REQUEST_LEAVE, 0);
	forget_spaces(kernel, core);
	return SKERRY_OK;
}

static uint64_t core_gain(struct cpu *cpu, uint32_t index)
{
	struct core_control *control = core_control_of(kernel_of(cpu), index);
	struct cpu *core = kernel_of(cpu)->cpu[index];
	if (core_state(core_read(control)) != CORE_PARKED || !kernel_count_core(cpu, core, true))
		return SKERRY_BUSY;
	if (core_take(control, kernel_cluster(kernel_of(cpu))))
		return SKERRY_OK;
	kernel_count_core(cpu, core, false);
	return SKERRY_BUSY;
}

uint64_t invoke_core_control(struct cpu *cpu, const struct slot *slot, uint64_t info)
{
	assert_exclusive();
	struct kernel *kernel = kernel_of(cpu);
	struct thread *thread = current(cpu);
	uint64_t label = message_label(info);
	kernel_assert(slot->cap.type == OBJECT_CLUSTER_CONTROL && label >= CORE_READ && label <= CORE_TAKE);
	if (message_words(info) < (label == CORE_LEAVE ? 2u : 1u))
		return SKERRY_TRUNCATED;
	if (!(slot->cap.rights & (label == CORE_READ ? RIGHT_READ : RIGHT_WRITE)))
		return SKERRY_NO_RIGHTS;
	uint32_t index = core_index_of(kernel, message_word(thread, 0));
	uint64_t to = label == CORE_LEAVE ? message_word(thread, 1) : 0;
	if (!kernel->boot->core_control || index == kernel->cpu_count ||
	    (label == CORE_LEAVE && !is_neighbour(kernel, to)))
		return SKERRY_BAD_ARGUMENT;

	kernel_irrevocable(cpu);
	if (label == CORE_LEAVE)
		return core_let_go(cpu, index, to);
	if (label == CORE_TAKE)
		return core_gain(cpu, index);
	message_set_word(thread, 0, core_read(core_control_of(kernel, index)));
	message_set_word(thread, 1, index);
	return SKERRY_OK;
}

void core_forget(struct cpu *cpu)
{
	kernel_assert(current(cpu) == &cpu->shared.idle && !cpu->own.handoff && !cpu->own.loaded_vspace &&
	              !cpu->own.loaded_thread);
	kernel_assert(!cpu->own.visits_at);
	cpu->own.pending = 0;
	cpu->own.interrupt_cores = cpu->own.preempt_cores = (struct core_set){ 0 };
	cpu->shared.slice_asked = false;
	cpu->own.timer_armed = cpu->own.timer_wanted = cpu->own.slice_end = cpu->own.beat_at = 0;
	cpu->own.poll_at = cpu->own.report_at = cpu->own.visits_until = cpu->own.housekeeping_at = 0;
}

bool core_arrive(struct cpu *cpu)
{
	struct kernel *kernel = kernel_of(cpu);
	kernel_enter(cpu);
	if (!kernel_exclusive(cpu)) {
		kernel_exit(cpu);
		kernel_enter_exclusive(cpu);
	}
	assert_exclusive();
	kernel_irrevocable(cpu);
	arch_flush_kernel(); /* it was not asked to while it was away */
	kernel_assert(cpu->own.index < kernel->cpu_count && !kernel_has_core(kernel, cpu->own.index) &&
	              !kernel->placed[cpu->own.index]);
	bool joins = core_joined(core_control_of(kernel, cpu->own.index), kernel->boot->cluster);
	if (joins) {
		core_set_add(&kernel->cores, cpu->own.index);
		/* so that schedule() sets the timer */
		cpu->own.beat_at = cpu->own.housekeeping_at = kernel->ledger ? arch_time() : 0;
		beats_tell_cores(kernel);
	} else {
		kernel_count_core(cpu, cpu, false);
	}
	kernel_exit(cpu);
	return joins;
}
