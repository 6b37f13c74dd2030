/* SPDX-License-Identifier: BSD-2-Clause */
#include "cap.h"
#include "channel.h"
#include "domain.h"
#include "endpoint.h"
#include "irq.h"
#include "kernel.h"
#include "locality.h"
#include "notification.h"
#include "protect.h"
#include "reply.h"
#include "thread.h"
#include "vspace.h"
#include "work.h"
#include "zombie.h"
#include LOCKING_HEADER

/* Returns the object's count of capabilities; null for types that have none. */
static uint32_t *cap_references(const struct cap *cap)
{
	switch (cap->type) {
	case OBJECT_TCB: return &((struct thread *)cap->object)->references;
	case OBJECT_ENDPOINT: return &((struct endpoint *)cap->object)->references;
	case OBJECT_NOTIFICATION: return &((struct notification *)cap->object)->references;
	case OBJECT_REPLY: return &((struct reply *)cap->object)->references;
	case OBJECT_VSPACE: return &((struct vspace *)cap->object)->references;
	case OBJECT_CNODE: return &((struct slot *)cap->object)->cap.references;
	case OBJECT_DOMAIN: return &((struct domain *)cap->object)->references;
	default: return 0;
	}
}

bool cap_may_be_copied(const struct cap *cap)
{
	const uint32_t *references = cap_references(cap);
	return !references || *references < UINT32_MAX - CAP_COPIES_LEFT;
}

void slot_insert(struct slot *slot, const struct cap *cap, struct slot *parent)
{
	assert_exclusive();
	kernel_assert(slot_empty(slot) && !slot->open.next && !slot->close.previous);
	kernel_assert(cap->type != CAP_NULL && cap->type != CAP_ZOMBIE);
	kernel_assert(!parent || (parent != slot && !slot_empty(parent) && parent->open.next));
	struct link *before = parent ? &parent->open : 0;
	slot->cap = *cap;
	slot->open = (struct link){ before, &slot->close };
	slot->close = (struct link){ &slot->open, parent ? before->next : 0 };
	if (parent) {
		before->next->previous = &slot->close;
		before->next = &slot->open;
	}
	uint32_t *references = cap_references(cap);
	kernel_assert(!references || *references != UINT32_MAX);
	if (references)
		++*references;
}

void slot_move(struct slot *to, struct slot *from)
{
	assert_exclusive();
	kernel_assert(to != from && slot_empty(to) && !slot_empty(from));
	kernel_assert(!to->open.next && !to->close.previous);
	kernel_assert(from->open.next->previous == &from->open && from->close.previous->next == &from->close);
	bool leaf = from->open.next == &from->close;
	*to = *from;
	if (leaf) {
		to->open.next = &to->close;
		to->close.previous = &to->open;
	}
	to->open.next->previous = &to->open;
	to->close.previous->next = &to->close;
	if (to->open.previous)
		to->open.previous->next = &to->open;
	if (to->close.next)
		to->close.next->previous = &to->close;
	*from = (struct slot){ 0 };
}

static void link_remove(const struct link *link)
{
	kernel_assert(!link->previous || link->previous->next == link);
	kernel_assert(!link->next || link->next->previous == link);
	if (link->previous)
		link->previous->next = link->next;
	if (link->next)
		link->next->previous = link->previous;
}

void slot_remove(struct slot *slot)
{
	assert_exclusive();
	kernel_assert(!slot_empty(slot) && slot->open.next && slot->close.previous);
	link_remove(&slot->open);
	link_remove(&slot->close);
	*slot = (struct slot){ 0 };
}

/*
 * The long part of deletion runs while the capability is still in its slot. The last capability loses its rights first,
 * so no new thread can wait for the object.
 */
static bool cap_finalise(struct cpu *cpu, struct cap *cap, bool last)
{
	kernel_assert(!last || *cap_references(cap) == 1);
	if (cap->type == OBJECT_IRQ_HANDLER)
		return irq_release(cpu, cap);
	if (!last || (cap->type != OBJECT_ENDPOINT && cap->type != OBJECT_NOTIFICATION))
		return true;
	cap->rights = 0;
	return cap->type == OBJECT_ENDPOINT ? endpoint_destroy(cpu, (struct endpoint *)cap->object)
	                                    : notification_destroy(cpu, (struct notification *)cap->object);
}

/* The last capability to an object is gone. */
static void object_destroy(struct cpu *cpu, const struct cap *cap)
{
	kernel_assert(cap_references(cap) && *cap_references(cap) == 0);
	object_locks_change(cpu, (enum skerry_object)cap->type, -1);
	locality_forget(kernel_of(cpu), cap);
	switch (cap->type) {
	case OBJECT_TCB: thread_destroy(cpu, (struct thread *)cap->object); break;
	case OBJECT_REPLY: reply_destroy(cpu, (struct reply *)cap->object); break;
	case OBJECT_VSPACE: vspace_destroy(cpu, (struct vspace *)cap->object); break;
	case OBJECT_DOMAIN: domain_destroy(cpu, (struct domain *)cap->object); break;
	}
}

bool slot_delete(struct cpu *cpu, struct slot *slot)
{
	assert_exclusive();
	if (slot_empty(slot))
		return true;
	uint32_t *references = cap_references(&slot->cap);
	bool last = references && *references == 1;
	kernel_assert(slot->cap.type != CAP_ZOMBIE);
	kernel_assert(!references || *references > 0);
	if (!cap_finalise(cpu, &slot->cap, last))
		return false;
	work_done(cpu, WORK_DELETE);
	if (slot->cap.type == OBJECT_CNODE && last) {
		zombie_make(kernel_of(cpu), slot);
		return true;
	}
	struct cap cap = slot->cap;
	if (cap.flags & CAP_NOTED)
		protection_remove(cpu, slot);
	slot_remove(slot);
	if (cap.flags & CAP_MAPPED)
		vspace_unmap_cap(cpu, &cap);
	if ((cap.flags & CAP_THREAD) && cap.type == OBJECT_VSPACE)
		thread_leave_vspace(cpu, slot, (struct vspace *)cap.object);
	if (cap.flags & CAP_LISTENER)
		channel_unlisten(cpu, slot);
	if (references && --*references == 0)
		object_destroy(cpu, &cap);
	return true;
}

bool slot_revoke(struct cpu *cpu, struct slot *slot)
{
	assert_exclusive();
	while (slot_has_children(slot)) {
		struct slot *child = link_slot(slot->open.next);
		kernel_assert(child != slot && !slot_empty(child));
		kernel_assert(link_opens(slot->open.next));
		if (work_over(cpu))
			return false;
		if (!(child->cap.type == CAP_ZOMBIE ? zombies_reap(cpu) : slot_delete(cpu, child)))
			return false;
	}
	return true;
}
