/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariant: an interrupt is sent only where it changes what the core does. Otherwise a program could take a core
 * from threads of higher priority there, by system calls that interrupt it.
 *
 * A core that serves an interrupt of another one must run another thread then, begin or end a time slice, set its timer
 * anew, publish another priority, serve a remote call or visitors, say which threads' wake-ups do not concern it, or
 * look at a requeue list that it must look at. An interrupt that changes none of these ends the test. Checked are cores
 * that take turns, and those of their interrupts whose reason cannot have gone meanwhile: no other core was in the
 * kernel when the sender entered it, and none has entered it since. Not checked are interrupts of the lock regime
 * (kernel_interrupt_all()), about a state that only the regime knows, and those that are sent in the middle of an
 * entry, for a remote call or a bias.
 */
#include <stdio.h>
#include <string.h>
#include "arch.h"
#include "hosted.h"

void interrupts_enter(struct hosted_core *core)
{
	struct hosted *machine = core->machine;
	if (!machine->checks_interrupts)
		return;
	core->entry = ++machine->entered;
	core->alone = true;
	for (unsigned i = 0; i < machine->config.cores; i++)
		core->alone &= &machine->core[i] == core || !machine->core[i].inside;
}

static bool is_pending(const struct hosted_core *core)
{
	return atomic_load_explicit(&core->vectors[HOSTED_VECTOR_RESCHEDULE / 64],
	                            memory_order_relaxed) >> HOSTED_VECTOR_RESCHEDULE % 64 & 1;
}

void interrupts_send(const struct hosted_core *sender, const struct core_set *cores, bool with_reason)
{
	struct hosted *machine = sender->machine;
	bool checked = machine->checks_interrupts && with_reason && sender->alone && machine->entered == sender->entry;
	FOR_CORES (index, cores, machine->kernel.core_words) {
		struct hosted_core *core = &machine->core[index];
		if (machine->checks_interrupts)
			core->interrupted_by = checked &&
			                       (!is_pending(core) || core->interrupted_by) ? sender->entry : 0;
		hosted_interrupt(core, HOSTED_VECTOR_RESCHEDULE);
	}
}

/* Returns whether the core must look at its requeue list at any priority: a thread must go on, or the list is long. */
static bool is_asked(const struct cpu *cpu)
{
	return stack_level(thread_stack_word(&cpu->shared.requeue)) == STACK_ASKED;
}

static void view_core(const struct hosted_core *core, struct hosted_view *view)
{
	const struct cpu *cpu = core->cpu;
	memset(view, 0, sizeof(*view));
	view->current = cpu->shared.current;
	view->running = cpu->shared.running;
	view->slice_end = cpu->own.slice_end;
	view->timer = core->timer;
	view->housekeeping_at = cpu->own.housekeeping_at;
	view->vspace = cpu->own.loaded_vspace;
	view->request = core_group_asks(cpu->own.group, cpu->own.member) ? cpu->own.group->request : 0;
	view->flush_summary = cpu->shared.flush_summary;
	view->requeue = is_asked(cpu) ? thread_stack_word(&cpu->shared.requeue) : 0;
	view->requeue_level = cpu->own.requeue_level;
	view->visitors = cpu->shared.visitors.word;
	view->visited = cpu->shared.visited;
}

void interrupts_serve(struct hosted_core *core)
{
	if (!core->machine->checks_interrupts)
		return;
	core->observed = core->interrupted_by && core->interrupted_by + 1 == core->entry;
	core->interrupted_by = 0;
	if (core->observed)
		view_core(core, &core->before);
}

void interrupts_leave(struct hosted_core *core)
{
	struct hosted_view after;
	if (!core->observed)
		return;
	core->observed = false;
	view_core(core, &after);
	if (core->machine->entered != core->entry || memcmp(&after, &core->before, sizeof(after)))
		return;
	fprintf(stderr, "hosted machine: core %u was interrupted and did nothing else than before (seed %llu)\n",
	        core->cpu->own.index, (unsigned long long)core->machine->config.seed);
	arch_panic("an interrupt to a core changes nothing");
}
