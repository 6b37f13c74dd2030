/* SPDX-License-Identifier: BSD-2-Clause */
#include "cap.h"
#include "cnode.h"
#include "endpoint.h"
#include "frame.h"
#include "irq.h"
#include "notification.h"
#include "reply.h"
#include "thread.h"
#include "vspace.h"

static uint32_t *cap_references(const struct cap *cap)
{
	switch (cap->type) {
	case OBJECT_TCB: return &((struct thread *)cap->object)->references;
	case OBJECT_ENDPOINT: return &((struct endpoint *)cap->object)->references;
	case OBJECT_NOTIFICATION: return &((struct notification *)cap->object)->references;
	case OBJECT_REPLY: return &((struct reply *)cap->object)->references;
	case OBJECT_VSPACE: return &((struct vspace *)cap->object)->references;
	case OBJECT_CNODE: return &((struct slot *)cap->object)->references;
	default: return 0;
	}
}

void slot_insert(struct slot *slot, const struct cap *cap, struct slot *parent)
{
	slot->cap = *cap;
	slot->previous = parent;
	slot->depth = parent ? parent->depth + 1 : 0;
	slot->next = parent ? parent->next : 0;
	if (slot->next)
		slot->next->previous = slot;
	if (parent)
		parent->next = slot;
	uint32_t *references = cap_references(cap);
	if (references)
		++*references;
}

void slot_move(struct slot *to, struct slot *from)
{
	to->cap = from->cap;
	to->previous = from->previous;
	to->next = from->next;
	to->depth = from->depth;
	if (to->previous)
		to->previous->next = to;
	if (to->next)
		to->next->previous = to;
	from->cap = (struct cap){ 0 };
	from->previous = from->next = 0;
}

/* The last capability to an object is gone. */
static void destroy(struct cpu *cpu, const struct cap *cap)
{
	switch (cap->type) {
	case OBJECT_TCB: thread_destroy(cpu, (struct thread *)cap->object); break;
	case OBJECT_ENDPOINT: endpoint_destroy(cpu, (struct endpoint *)cap->object); break;
	case OBJECT_NOTIFICATION: notification_destroy(cpu, (struct notification *)cap->object); break;
	case OBJECT_REPLY: reply_destroy(cpu, (struct reply *)cap->object); break;
	case OBJECT_VSPACE: vspace_destroy(cpu, (struct vspace *)cap->object); break;
	case OBJECT_CNODE: cnode_doom(cpu, (struct slot *)cap->object, cap->size_bits); break;
	}
}

void slot_delete(struct cpu *cpu, struct slot *slot)
{
	struct cap cap = slot->cap;
	if (cap.type == CAP_NULL)
		return;
	for (struct slot *s = slot->next; s && s->depth > slot->depth; s = s->next)
		s->depth--; /* children become the parent's */
	if (slot->previous)
		slot->previous->next = slot->next;
	if (slot->next)
		slot->next->previous = slot->previous;
	slot->cap = (struct cap){ 0 };
	slot->previous = slot->next = 0;

	if (cap.flags & CAP_MAPPED)
		vspace_unmap_cap(cpu, &cap);
	if (cap.type == OBJECT_IRQ_HANDLER)
		irq_release(cpu, &cap);
	uint32_t *references = cap_references(&cap);
	if (references && --*references == 0)
		destroy(cpu, &cap);
	cnode_destroy_doomed(cpu);
}

void slot_revoke(struct cpu *cpu, struct slot *slot)
{
	while (slot_has_children(slot))
		slot_delete(cpu, slot->next);
}
