/* SPDX-License-Identifier: BSD-2-Clause */
#include "protect.h"
#include "frame.h"
#include "guard.h"
#include "kernel.h"
#include "message.h"
#include "outcome.h"
#include "tlb.h"
#include "vspace.h"
#include "work.h"

/* Checks that only a caller with the mapping's address space may give the mapping rights. Returns an error, or
 * SKERRY_OK. */
static uint64_t check_gain(struct cpu *cpu, const struct cap *cap, uint64_t info)
{
	if (!message_caps(info))
		return SKERRY_OK;
	const struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_VSPACE);
	if (!slot)
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	if (!(cap_flags(cap) & CAP_MAPPED))
		return SKERRY_NOT_MAPPED;
	if (((const struct vspace *)slot->cap.object)->id != cap->vspace)
		return SKERRY_BAD_ARGUMENT;
	return SKERRY_OK;
}

/*
 * Protects the invoked capability's own mapping. Called last: a call that continues after a preemption point would
 * otherwise find what it has done itself, and wait for all other cores' debts (tlb_doubt()).
 */
static uint64_t protect_own(struct cpu *cpu, struct guard *guard, struct cap *cap, uint64_t info, unsigned rights)
{
	if (!guard_take(cpu, guard, cap))
		return KERNEL_EXCLUSIVE;
	uint64_t error = check_gain(cpu, cap, info);
	if (!error && (cap_flags(cap) & CAP_MAPPED))
		mapping_protect(cpu, cap, rights & cap->rights, message_caps(info) > 0);
	else if (!error)
		tlb_doubt(cpu);
	guard_drop(cpu, guard, cap);
	return error;
}

/*
 * Protects the descendant in `slot`, which is guarded. Returns the link from which on all is done then; null, with
 * nothing done, if this needs the writer: a reader cannot delete a thread's IPC buffer.
 */
static struct link *protect_slot(struct cpu *cpu, struct slot *slot, unsigned rights)
{
	struct cap *cap = &slot->cap;
	unsigned lost = cap->rights & ~rights;
	kernel_assert(cap->type >= OBJECT_FRAME_4K && cap->type <= OBJECT_FRAME_1G);
	work_done(cpu, WORK_EMPTY_SLOT);
	if (!lost) {
		tlb_doubt(cpu);
		return &slot->open;
	}
	if ((cap_flags(cap) & CAP_THREAD) && (lost & (RIGHT_READ | RIGHT_WRITE))) {
		if (!kernel_exclusive(cpu))
			return 0;
		struct link *after = slot->close.next; /* nothing derives from a thread's slot */
		kernel_assert(slot->open.next == &slot->close);
		slot_delete(cpu, slot);
		return after;
	}
	cap->rights &= rights;
	if (cap_flags(cap) & CAP_MAPPED)
		mapping_protect(cpu, cap, cap->rights, false);
	else
		tlb_doubt(cpu);
	return &slot->open;
}

/* The same with its guard taken and dropped. Returns null, too, if a reader may not take the guard. */
static struct link *protect_guarded(struct cpu *cpu, struct guard *guard, struct slot *slot, unsigned rights)
{
	if (!guard_take(cpu, guard, &slot->cap))
		return 0;
	struct link *done = protect_slot(cpu, slot, rights);
	guard_drop(cpu, guard, &slot->cap);
	return done;
}

static void note_frame(struct cpu *cpu, struct slot *frame, struct link *done, unsigned rights)
{
	cpu->shared.protection = (struct protection){ frame, done, rights };
	cap_set_flag(cpu, &frame->cap, CAP_NOTED);
	cap_set_flag(cpu, &link_slot(done)->cap, CAP_NOTED);
}

/*
 * Returns an error of check_gain(), KERNEL_AGAIN when the budget is spent first, KERNEL_EXCLUSIVE if a writer must
 * continue.
 */
static uint64_t protect_descendants(struct cpu *cpu, struct guard *guard, struct slot *frame, uint64_t info,
                                    unsigned rights)
{
	struct protection *noted = &cpu->shared.protection;
	if (!guard_take(cpu, guard, &frame->cap))
		return KERNEL_EXCLUSIVE;
	uint64_t error = check_gain(cpu, &frame->cap, info);
	guard_drop(cpu, guard, &frame->cap);
	if (error)
		return error;
	struct link *done = noted->frame == frame && noted->rights == rights ? noted->done : &frame->close;
	noted->frame = 0;
	while (done->previous != &frame->open) {
		done = done->previous;
		kernel_assert(done && link_slot(done) != frame);
		if (!link_opens(done))
			continue;
		done = protect_guarded(cpu, guard, link_slot(done), rights);
		if (!done)
			return KERNEL_EXCLUSIVE;
		if (work_over(cpu) && done->previous != &frame->open) {
			note_frame(cpu, frame, done, rights);
			return KERNEL_AGAIN;
		}
	}
	return SKERRY_OK;
}

uint64_t frame_protect(struct cpu *cpu, struct slot *frame, uint64_t info)
{
	struct guard guard = { 0 };
	assert_entered();
	kernel_assert(!(cap_flags(&frame->cap) & CAP_THREAD));
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	unsigned rights = message_word(current(cpu), 0) & RIGHT_ALL;
	uint64_t result = slot_has_children(frame) ? protect_descendants(cpu, &guard, frame, info, rights) : SKERRY_OK;
	if (!result)
		result = protect_own(cpu, &guard, &frame->cap, info, rights);
	guard_end(cpu, &guard);
	return result;
}

void protection_remove(struct cpu *cpu, const struct slot *slot)
{
	const struct kernel *kernel = kernel_of(cpu);
	assert_exclusive();
	for (unsigned c = 0; c < kernel->cpu_count; c++) {
		struct protection *noted = &kernel->cpu[c]->shared.protection;
		if (!noted->frame)
			continue;
		if (noted->frame == slot) {
			noted->frame = 0;
			continue;
		}
		while (link_slot(noted->done) == slot)
			noted->done = noted->done->next;
		link_slot(noted->done)->cap.flags |= CAP_NOTED;
	}
}

void protection_move(struct cpu *cpu, struct slot *to, const struct slot *from)
{
	const struct kernel *kernel = kernel_of(cpu);
	assert_exclusive();
	for (unsigned c = 0; c < kernel->cpu_count; c++) {
		struct protection *noted = &kernel->cpu[c]->shared.protection;
		if (!noted->frame)
			continue;
		if (noted->frame == from)
			noted->frame = to;
		if (link_slot(noted->done) == from)
			noted->done = noted->done == &from->open ? &to->open : &to->close;
	}
}
