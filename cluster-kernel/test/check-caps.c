/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include "check.h"
#include "endpoint.h"
#include "frame.h"
#include "notification.h"
#include "reply.h"
#include "vspace.h"

static bool is_frame(unsigned type) { return type >= OBJECT_FRAME_4K && type <= OBJECT_FRAME_1G; }

/* Bytes of memory, 0 for what is made of none. */
static uint64_t size_of(const struct cap *cap)
{
	switch (cap->type) {
	case OBJECT_UNTYPED: return 1ull << cap->size_bits;
	case OBJECT_TCB: return 1ull << TCB_BITS;
	case OBJECT_ENDPOINT: return 1ull << ENDPOINT_BITS;
	case OBJECT_NOTIFICATION: return 1ull << NOTIFICATION_BITS;
	case OBJECT_REPLY: return 1ull << REPLY_BITS;
	case OBJECT_CNODE: return 1ull << (cap->size_bits + SLOT_BITS);
	case OBJECT_VSPACE: return 1ull << VSPACE_BITS;
	case OBJECT_PAGE_TABLE: return 1ull << PAGE_TABLE_BITS;
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G: return 1ull << frame_bits(cap->type);
	default: return 0;
	}
}

static uint64_t base_of(const struct cap *cap)
{
	bool is_physical = cap->type == OBJECT_UNTYPED || is_frame(cap->type);
	return is_physical ? cap->object : physical((const void *)cap->object);
}

static bool counts(const struct cap *cap, uint32_t *references)
{
	switch (cap->type) {
	case OBJECT_TCB: *references = ((const struct thread *)cap->object)->references; return true;
	case OBJECT_ENDPOINT: *references = ((const struct endpoint *)cap->object)->references; return true;
	case OBJECT_NOTIFICATION: *references = ((const struct notification *)cap->object)->references; return true;
	case OBJECT_REPLY: *references = ((const struct reply *)cap->object)->references; return true;
	case OBJECT_VSPACE: *references = ((const struct vspace *)cap->object)->references; return true;
	case OBJECT_CNODE: *references = ((const struct slot *)cap->object)->references; return true;
	default: return false;
	}
}

/* May `child` stand below `parent`? Whatever was between them may be gone: this is transitive. */
static bool may_derive(const struct cap *parent, const struct cap *child)
{
	if (parent->type == OBJECT_UNTYPED) {
		uint64_t size = size_of(child);
		return size && base_of(child) >= parent->object && base_of(child) + size <= parent->object + parent->used &&
		       (child->flags & CAP_DEVICE) == (parent->flags & CAP_DEVICE);
	}
	if (parent->type == OBJECT_IRQ_CONTROL)
		return child->type == OBJECT_IRQ_CONTROL || child->type == OBJECT_IRQ_HANDLER;
	if (child->rights & ~parent->rights)
		return false;
	if (parent->type == OBJECT_CHANNEL && child->type == OBJECT_DOORBELL)
		return child->object == parent->object;
	if (parent->type != child->type || parent->object != child->object)
		return false;
	if (parent->type == OBJECT_IO_PORT)
		return (child->badge & 0xffff) >= (parent->badge & 0xffff) && child->badge >> 16 <= parent->badge >> 16;
	return is_frame(parent->type) || !parent->badge || parent->badge == child->badge;
}

/* By address; of two that begin at the same, the one that can hold the other first. */
static int compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	int order = (y->slot->cap.type == OBJECT_UNTYPED) - (x->slot->cap.type == OBJECT_UNTYPED);
	return order ? order : (int)x->slot->depth - (int)y->slot->depth;
}

static bool same_object(const struct cap *a, const struct cap *b)
{
	return a->type == b->type && a->object == b->object && a->type != OBJECT_UNTYPED;
}

/* One preorder list of the tree, from its head: order, depths, what derives from what. */
static void walk_list(struct world *world, const struct slot *head)
{
	const struct slot **above = 0;
	size_t room = 0;
	CHECK(head->depth == 0, "the head of a derivation list is not a root", head, head->depth);
	for (const struct slot *slot = head; slot; slot = slot->next) {
		const struct slot *previous = slot->previous;
		CHECK(!slot_empty(slot), "the derivation tree leads to an empty slot", slot, slot->depth);
		CHECK(!previous || previous->next == slot, "the derivation list is not doubly linked", slot, previous);
		CHECK(!previous || slot->depth <= previous->depth + 1, "a capability is too deep for its place in the tree",
		      slot->depth, previous->depth);
		if (slot->depth >= room) {
			room = 2 * slot->depth + 16;
			above = realloc(above, room * sizeof(*above));
		}
		above[slot->depth] = slot;
		if (slot->depth)
			CHECK(may_derive(&above[slot->depth - 1]->cap, &slot->cap),
			      "a capability has more than the one it derives from", above[slot->depth - 1]->cap.type, slot->cap.type);
		if (!size_of(&slot->cap))
			continue;
		const struct slot *untyped = 0;
		for (unsigned d = slot->depth; d-- && !untyped;)
			untyped = above[d]->cap.type == OBJECT_UNTYPED ? above[d] : 0;
		world->found[world->founds++] = (struct found){ .slot = slot, .untyped = untyped, .references = 1,
			                                        .base = base_of(&slot->cap), .size = size_of(&slot->cap) };
	}
	free(above);
}

/* Capabilities to the same object become one entry. */
static void merge(struct world *world)
{
	size_t n = 0;
	qsort(world->found, world->founds, sizeof(*world->found), compare);
	for (size_t i = 0; i < world->founds; i++) {
		struct found *last = n ? &world->found[n - 1] : 0, *next = &world->found[i];
		if (last && same_object(&last->slot->cap, &next->slot->cap)) {
			CHECK(last->untyped == next->untyped, "capabilities to one object derive from different memory", last->base,
			      next->slot->cap.type);
			last->references++;
		} else {
			world->found[n++] = *next;
		}
	}
	world->founds = n;
}

/* Each object lies in the untyped it derives from and in nothing else. */
static void check_memory(const struct world *world)
{
	const struct found **around = malloc((world->founds + 1) * sizeof(*around));
	size_t depth = 0;
	for (size_t i = 0; i < world->founds; i++) {
		const struct found *f = &world->found[i];
		while (depth && around[depth - 1]->base + around[depth - 1]->size <= f->base)
			depth--;
		const struct found *outer = depth ? around[depth - 1] : 0;
		CHECK(!outer || f->base + f->size <= outer->base + outer->size, "two objects overlap", f->base, outer->base);
		CHECK(!outer || outer->slot->cap.type == OBJECT_UNTYPED, "an object lies in another's memory", f->base, outer->base);
		CHECK(f->untyped == (outer ? outer->slot : 0), "an object lies in memory it was not made of", f->base, f->slot);
		CHECK(f->base % f->size == 0 || f->slot->cap.type == OBJECT_CNODE || !f->untyped, "an object is not aligned",
		      f->base, f->size);
		around[depth++] = f;
	}
	free(around);
}

void check_caps(struct world *world)
{
	world->found = malloc((world->slots + 1) * sizeof(*world->found));
	world->founds = 0;
	for (size_t i = 0; i < world->slots; i++)
		if (!world->slot[i]->previous)
			walk_list(world, world->slot[i]);
	merge(world);
	check_memory(world);
	for (size_t i = 0; i < world->founds; i++) {
		uint32_t references = 0;
		if (counts(&world->found[i].slot->cap, &references))
			CHECK(references == world->found[i].references, "an object's reference count is wrong", references,
			      world->found[i].references);
	}
}

const struct found *world_find(const struct world *world, unsigned type, uint64_t object)
{
	struct cap cap = { .type = type, .object = object };
	uint64_t base = base_of(&cap);
	size_t low = 0, high = world->founds;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (world->found[middle].base < base)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < world->founds && world->found[low].base == base; low++)
		if (world->found[low].slot->cap.type == type)
			return &world->found[low];
	return 0;
}
