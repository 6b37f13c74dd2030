/* SPDX-License-Identifier: BSD-2-Clause */
#include "protect.h"
#include "frame.h"
#include "kernel.h"
#include "message.h"
#include "vspace.h"
#include "work.h"

/* The invoked capability's own mapping. Only the holder of its address space may make it more than it was. */
static uint64_t protect_own(struct cpu *cpu, struct cap *cap, uint64_t info, unsigned rights)
{
	bool may_gain = message_caps(info) > 0;
	if (may_gain) {
		const struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_VSPACE);
		if (!slot)
			return SKERRY_BAD_CAP;
		if (!(slot->cap.rights & RIGHT_WRITE))
			return SKERRY_NO_RIGHTS;
		if (!(cap->flags & CAP_MAPPED))
			return SKERRY_NOT_MAPPED;
		if (((const struct vspace *)slot->cap.object)->id != cap->vspace)
			return SKERRY_BAD_ARGUMENT;
	}
	if (cap->flags & CAP_MAPPED)
		mapping_protect(cpu, cap, rights & cap->rights, may_gain);
	return SKERRY_OK;
}

/* The link behind which all is done once the descendant in `slot` is. */
static struct link *protect_slot(struct cpu *cpu, struct slot *slot, unsigned rights)
{
	struct cap *cap = &slot->cap;
	unsigned lost = cap->rights & ~rights;
	kernel_assert(cap->type >= OBJECT_FRAME_4K && cap->type <= OBJECT_FRAME_1G);
	work_done(cpu, WORK_EMPTY_SLOT);
	if (!lost)
		return &slot->open;
	if ((cap->flags & CAP_THREAD) && (lost & (RIGHT_READ | RIGHT_WRITE))) {
		struct link *after = slot->close.next; /* nothing derives from a thread's slot */
		kernel_assert(slot->open.next == &slot->close);
		slot_delete(cpu, slot);
		return after;
	}
	cap->rights &= rights;
	if (cap->flags & CAP_MAPPED)
		mapping_protect(cpu, cap, cap->rights, false);
	return &slot->open;
}

static void note(struct cpu *cpu, struct slot *frame, struct link *done, unsigned rights)
{
	cpu->shared.protection = (struct protection){ frame, done, rights };
	frame->cap.flags |= CAP_NOTED;
	link_slot(done)->cap.flags |= CAP_NOTED;
}

/* False when the budget is spent first. */
static bool protect_descendants(struct cpu *cpu, struct slot *frame, unsigned rights)
{
	struct protection *noted = &cpu->shared.protection;
	struct link *done = noted->frame == frame && noted->rights == rights ? noted->done : &frame->close;
	noted->frame = 0;
	while (done->previous != &frame->open) {
		done = done->previous;
		kernel_assert(done && link_slot(done) != frame);
		if (!link_opens(done))
			continue;
		done = protect_slot(cpu, link_slot(done), rights);
		if (work_over(cpu) && done->previous != &frame->open) {
			note(cpu, frame, done, rights);
			return false;
		}
	}
	return true;
}

uint64_t frame_protect(struct cpu *cpu, struct slot *frame, uint64_t info)
{
	assert_exclusive();
	kernel_assert(!(frame->cap.flags & CAP_THREAD));
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	unsigned rights = message_word(current(cpu), 0) & RIGHT_ALL;
	uint64_t error = protect_own(cpu, &frame->cap, info, rights);
	if (error)
		return error;
	return protect_descendants(cpu, frame, rights) ? SKERRY_OK : KERNEL_AGAIN;
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
