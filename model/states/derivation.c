/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of derivation, authority and new memory: the capabilities before a step and after it, side by side. */
#include "check.h"
#include "cnode.h"
#include "message.h"
#include "states.h"
#include "vspace.h"

enum { GONE = -1, CAP_BITS = 1 << SLOT_BITS };

/* What of the step the functions below need. */
struct comparison {
	const struct rules_before *before;
	const struct census *old, *new;
	bool complete, ok; /* the call has ended; with SKERRY_OK */
	int at[CENSUS_MAX]; /* by entry of `old`: where in `new` it is, GONE */
	struct slot *target, *source; /* slots that a CNode invocation names, or null */
	struct slot *node;            /* slot 0 of the CNode that new capabilities go to, or null */
};

static const char *type_name(unsigned type)
{
	static const char *const names[] = { "nothing", "untyped", "TCB", "endpoint", "notification", "reply", "CNode",
		"VSpace", "page table", "frame", "frame", "frame", "IRQ handler", "IRQ control", "I/O port", "channel",
		"doorbell", "cluster control", "control", "domain" };
	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "zombie";
}

static bool invokes(const struct comparison *c, unsigned label)
{
	const struct cause *cause = &c->before->cause;
	return cause->caller && cause->number == SYS_CALL && cause->label == label;
}

static const struct cap *cap_at(const struct census *census, uint64_t cptr)
{
	const int index = cptr < 1u << ROOT_CNODE_BITS ? census_find(census, &tiny->root_cnode[cptr]) : GONE;
	return index < 0 ? 0 : &census->entry[index].cap;
}

/* Slot `index` of the CNode that the capability pointer names; null where there is none. */
static struct slot *slot_in(const struct census *census, uint64_t cptr, uint64_t index)
{
	const struct cap *cap = cap_at(census, cptr);
	if (!cap || cap->type != OBJECT_CNODE || !index || index >= 1ull << cap->size_bits)
		return 0;
	return (struct slot *)cap->object + index;
}

static bool is_cnode_call(const struct comparison *c)
{
	const struct cause *cause = &c->before->cause;
	const struct cap *cap = cap_at(c->old, cause->cptr);
	return cause->caller && cause->number == SYS_CALL && cap && cap->type == OBJECT_CNODE;
}

static void find_slots(struct comparison *c)
{
	const struct cause *cause = &c->before->cause;
	c->target = is_cnode_call(c) ? slot_in(c->old, cause->cptr, cause->word[0]) : 0;
	c->source = is_cnode_call(c) && cause->label <= CNODE_MOVE ? slot_in(c->old, cause->cap[0], cause->word[1]) : 0;
	const bool fills = invokes(c, UNTYPED_RETYPE) || invokes(c, IRQ_GET_IOAPIC) || invokes(c, MEMORY_TAKE);
	const struct cap *node = fills ? cap_at(c->old, cause->cap[0]) : 0;
	c->node = node && node->type == OBJECT_CNODE ? (struct slot *)node->object : 0;
}

/* Returns where the capability of entry `index` is now. Moves are followed; the last one of a CNode may be a zombie. */
static int follow(const struct comparison *c, int index)
{
	const struct census_entry *entry = &c->old->entry[index];
	const int same = census_find(c->new, entry->slot);
	if (invokes(c, CNODE_MOVE) && c->ok && entry->slot == c->source)
		return census_find(c->new, c->target);
	if (same >= 0 && c->new->entry[same].cap.type == entry->cap.type)
		return same;
	if (same < 0 && entry->cap.type == OBJECT_CNODE) {
		const int zombie = census_find(c->new, (struct slot *)entry->cap.object);
		if (zombie >= 0 && c->new->entry[zombie].cap.type == CAP_ZOMBIE)
			return zombie;
	}
	return GONE;
}

static bool is_frame(unsigned type) { return type >= OBJECT_FRAME_4K && type <= OBJECT_FRAME_1G; }

/* A capability that is still there is the same; where it was to lose rights, it has no others. */
static void check_kept(const struct comparison *c, int index)
{
	const struct cap *was = &c->old->entry[index].cap, *is = &c->new->entry[c->at[index]].cap;
	const bool badged = was->type == OBJECT_ENDPOINT || was->type == OBJECT_NOTIFICATION;
	if (is->type == CAP_ZOMBIE)
		return;
	if (is->object != was->object || (badged && is->badge != was->badge))
		fail("the capability to a %s has become one to another", type_name(was->type));
	if (is->rights & ~was->rights)
		fail("the capability to a %s has got rights", type_name(was->type));
	const bool dies = badged && !is->rights; /* the last one, of an object that is being destroyed */
	if (is->rights != was->rights && !dies && !(is_frame(was->type) && invokes(c, FRAME_PROTECT)))
		fail("the capability to a %s has lost rights, and nobody took them", type_name(was->type));
}

/* The parent is what it was, or the nearest ancestor that is left. */
static void check_parent(const struct comparison *c, int index)
{
	int above = c->old->entry[index].parent;
	while (above >= 0 && c->at[above] == GONE)
		above = c->old->entry[above].parent;
	const int expected = above < 0 ? -1 : c->at[above];
	if (c->new->entry[c->at[index]].parent != expected)
		fail("the capability to a %s is derived from another one than before",
		     type_name(c->old->entry[index].cap.type));
}

/* Returns whether the slot lies in a TCB or CNode that is gone, or is a zombie. */
static bool in_dead_object(const struct comparison *c, const struct slot *slot)
{
	for (unsigned i = 0; i < c->old->count; i++) {
		const struct cap *cap = &c->old->entry[i].cap;
		const uint64_t size = cap->type == OBJECT_TCB ? 1ull << TCB_BITS
		                      : cap->type == OBJECT_CNODE || cap->type == CAP_ZOMBIE
		                      ? 1ull << (cap->size_bits + SLOT_BITS) : 0;
		if ((uint64_t)slot - cap->object >= size)
			continue;
		if (cap->type == CAP_ZOMBIE)
			return true;
		bool alive = false;
		for (unsigned j = 0; j < c->new->count && !alive; j++)
			alive = c->new->entry[j].cap.type == cap->type && c->new->entry[j].cap.object == cap->object;
		return !alive;
	}
	return false;
}

static bool in_kernel(const struct slot *slot)
{
	return (uint64_t)slot - (uint64_t)&tiny->kernel < sizeof(tiny->kernel);
}

static bool is_of_thread(const struct slot *slot, uint64_t thread)
{
	return (uint64_t)slot - thread < 1ull << TCB_BITS;
}

/* What an earlier call, or the end of an interrupt's handler, has left to be emptied. */
static bool may_go_at_any_time(const struct comparison *c, const struct census_entry *entry)
{
	const bool unused = in_kernel(entry->slot) && !((const struct irq *)entry->slot)->used;
	return unused || entry->cap.type == CAP_ZOMBIE || in_dead_object(c, entry->slot);
}

static bool may_go(const struct comparison *c, int index)
{
	const struct census_entry *entry = &c->old->entry[index];
	const struct cap *invoked = cap_at(c->old, c->before->cause.cptr);
	const int target = c->target ? census_find(c->old, c->target) : GONE;
	const bool thread_loses = (entry->cap.flags & CAP_THREAD) && is_frame(entry->cap.type);
	if (invokes(c, CNODE_DELETE) && c->target == entry->slot)
		return true;
	if (invokes(c, CNODE_REVOKE) && target >= 0 && census_derives(c->old, index, target))
		return true;
	if (invokes(c, TCB_CONFIGURE) && invoked && is_of_thread(entry->slot, invoked->object))
		return true;
	if (invokes(c, FRAME_PROTECT) && thread_loses)
		return true;
	if (invokes(c, MEMORY_GIVE) && entry->slot == &tiny->root_cnode[c->before->cause.cap[0]])
		return true;
	if (in_kernel(entry->slot) && invokes(c, IRQ_SET_NOTIFICATION)) /* the handler gets another notification */
		return true;
	return may_go_at_any_time(c, entry);
}

static void check_old(struct comparison *c)
{
	const int target = c->target ? census_find(c->old, c->target) : GONE;
	const bool failed = c->complete && !c->ok && c->before->cause.number == SYS_CALL;
	for (unsigned i = 0; i < c->old->count; i++)
		c->at[i] = follow(c, (int)i);
	for (unsigned i = 0; i < c->old->count; i++) {
		if (c->at[i] == GONE) {
			if (!may_go(c, (int)i))
				fail("the capability to a %s is gone, and nobody has deleted it",
				     type_name(c->old->entry[i].cap.type));
			if (failed && !may_go_at_any_time(c, &c->old->entry[i]))
				fail("a call that failed has deleted the capability to a %s",
				     type_name(c->old->entry[i].cap.type));
			continue;
		}
		check_kept(c, (int)i);
		check_parent(c, (int)i);
		if (invokes(c, CNODE_REVOKE) && c->ok && target >= 0 && census_derives(c->old, (int)i, target))
			fail("a revocation was answered OK, and the capability to a %s that was derived is left",
			     type_name(c->old->entry[i].cap.type));
	}
	if (invokes(c, CNODE_DELETE) && c->ok && c->target && census_find(c->new, c->target) >= 0)
		fail("a deletion was answered OK, and the capability is left");
}

static void check_zero(const struct cap *cap)
{
	const uint64_t *word = 0;
	size_t bytes = 0;
	switch (cap->type) {
	case OBJECT_FRAME_4K: word = direct(cap->object), bytes = 4096; break;
	case OBJECT_PAGE_TABLE: word = (const uint64_t *)cap->object, bytes = 4096; break;
	case OBJECT_VSPACE: /* the user's half */
		word = ((const struct vspace *)cap->object)->root;
		bytes = 2048;
		break;
	case OBJECT_CNODE:
		word = (const uint64_t *)(cap->object + CAP_BITS); /* behind slot 0 */
		bytes = ((size_t)CAP_BITS << cap->size_bits) - CAP_BITS;
		break;
	default: break;
	}
	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		if (word[i])
			fail("a new %s is not zero: %#llx at byte %zu", type_name(cap->type),
			     (unsigned long long)word[i], i * sizeof(*word));
}

/* A slot where a thread of the machine wants to receive capabilities. */
static bool is_wanted(const struct comparison *c, const struct slot *slot)
{
	for (unsigned i = 0; i < c->old->threads; i++) {
		const struct census_thread *thread = &c->old->thread[i];
		const bool lives = census_thread(c->new, thread->thread);
		const struct ipc_buffer *buffer = lives ? thread_ipc_buffer(thread->thread) : 0;
		for (unsigned n = 0; buffer && buffer->receive_cnode && n < MESSAGE_CAPS_MAX; n++)
			if (slot_in(c->old, buffer->receive_cnode, buffer->receive_slot + n) == slot)
				return true;
	}
	return false;
}

static void check_origin(const struct census_entry *is, const struct census *census, const struct slot *from,
                         const char *what)
{
	if (is->parent < 0 || census->entry[is->parent].slot != from)
		fail("%s has made a capability to a %s that is not derived from what it names", what,
		     type_name(is->cap.type));
}

/* A capability that was not there before: the call has named its slot, and what it is derived from. */
static void check_new(const struct comparison *c, const struct census_entry *is)
{
	const struct cause *cause = &c->before->cause;
	const struct cap *invoked = cap_at(c->old, cause->cptr);
	struct slot *object = cause->cptr < 1u << ROOT_CNODE_BITS ? &tiny->root_cnode[cause->cptr] : 0;
	if (is->cap.type == CAP_ZOMBIE)
		return; /* the last capability of a CNode, which follow() has found or which was in what is gone */
	if ((invokes(c, CNODE_COPY) || invokes(c, CNODE_MINT)) && is->slot == c->target) {
		check_origin(is, c->new, c->source, "a copy");
	} else if (invokes(c, UNTYPED_RETYPE) && c->node && is->slot > c->node &&
	           is->slot < c->node + (1u << ROOT_CNODE_BITS)) {
		check_origin(is, c->new, object, "a retype");
		check_zero(&is->cap);
	} else if (invokes(c, IRQ_GET_IOAPIC) && c->node && is->slot == c->node + cause->word[0]) {
		check_origin(is, c->new, object, "a call to the interrupt controller");
	} else if (invokes(c, IRQ_SET_NOTIFICATION) && in_kernel(is->slot)) {
		check_origin(is, c->new, &tiny->root_cnode[cause->cap[0]], "a handler's notification");
	} else if (invokes(c, TCB_CONFIGURE) && invoked && is_of_thread(is->slot, invoked->object)) {
		const unsigned which = (unsigned)(is->slot - ((struct thread *)invoked->object)->slot);
		if (which >= THREAD_SLOTS)
			fail("a thread has a capability where it has no slot");
		check_origin(is, c->new, &tiny->root_cnode[cause->cap[which]], "a configuration");
	} else if (invokes(c, MEMORY_TAKE) && c->node && is->slot == c->node + cause->word[2]) {
		if (is->parent >= 0 || is->cap.object != tiny_place)
			fail("memory that was taken derives from other memory, or is other memory");
	} else if (!is_wanted(c, is->slot)) {
		fail("a capability to a %s appears where nobody has put it", type_name(is->cap.type));
	}
	if (c->complete && !c->ok && cause->number == SYS_CALL && cause->label != UNTYPED_RETYPE &&
	    !is_wanted(c, is->slot))
		fail("a call that failed has made a capability to a %s", type_name(is->cap.type));
}

static void check_all_new(const struct comparison *c)
{
	bool known[CENSUS_MAX] = { 0 };
	for (unsigned i = 0; i < c->old->count; i++)
		if (c->at[i] != GONE)
			known[c->at[i]] = true;
	for (unsigned i = 0; i < c->new->count; i++)
		if (!known[i])
			check_new(c, &c->new->entry[i]);
}

static void need(const struct census *census, uint64_t cptr, unsigned rights, const char *what)
{
	const struct cap *cap = cap_at(census, cptr);
	if (!cap || cap->type != OBJECT_CNODE || (cap->rights & rights) != rights)
		fail("%s was answered OK without the rights that it needs", what);
}

/* A call that was answered OK was the caller's to make, and has done what it says. */
static void check_rights(const struct comparison *c)
{
	const struct cause *cause = &c->before->cause;
	if (!c->ok)
		return;
	if (is_cnode_call(c) && cause->label >= CNODE_COPY && cause->label <= CNODE_REVOKE)
		need(c->old, cause->cptr, RIGHT_WRITE, "a change of a CNode");
	if (is_cnode_call(c) && cause->label >= CNODE_COPY && cause->label <= CNODE_MOVE) {
		need(c->old, cause->cap[0], cause->label == CNODE_MOVE ? RIGHT_READ | RIGHT_WRITE : RIGHT_READ,
		     "a copy or move");
		if (census_find(c->new, c->target) < 0)
			fail("a copy or move was answered OK, and there is no capability");
	}
	if (invokes(c, UNTYPED_RETYPE))
		need(c->old, cause->cap[0], RIGHT_WRITE, "a retype");
}

void rules_derivation(const struct rules_before *before, const struct census *after, bool complete, uint64_t result)
{
	static struct comparison c;
	c = (struct comparison){ .before = before, .old = &before->census, .new = after, .complete = complete,
		                 .ok = complete && result == SKERRY_OK };
	find_slots(&c);
	check_old(&c);
	check_all_new(&c);
	check_rights(&c);
}
