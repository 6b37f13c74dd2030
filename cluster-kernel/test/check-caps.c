/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include "check.h"
#include "domain.h"
#include "endpoint.h"
#include "frame.h"
#include "notification.h"
#include "reply.h"
#include "vspace.h"

enum { ZEROED_MAX = 16384 }; /* bytes behind an untyped's `used` that are looked at */

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
	case OBJECT_CNODE:
	case CAP_ZOMBIE: return 1ull << (cap->size_bits + SLOT_BITS);
	case OBJECT_VSPACE: return 1ull << VSPACE_BITS;
	case OBJECT_PAGE_TABLE: return 1ull << PAGE_TABLE_BITS;
	case OBJECT_DOMAIN: return 1ull << DOMAIN_BITS;
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
	case OBJECT_CNODE: *references = ((const struct slot *)cap->object)->cap.references; return true;
	case OBJECT_DOMAIN: *references = ((const struct domain *)cap->object)->references; return true;
	default: return false;
	}
}

/* May `child` stand below `parent`? Whatever was between them may be gone: this is transitive. */
static bool may_derive(const struct cap *parent, const struct cap *child)
{
	if (parent->type == OBJECT_UNTYPED) {
		uint64_t size = size_of(child);
		return size && base_of(child) >= parent->object &&
		       base_of(child) + size <= parent->object + parent->used &&
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
	return is_frame(parent->type) || parent->type == OBJECT_CNODE || !parent->badge ||
	       parent->badge == child->badge;
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
	return order ? order : (int)x->depth - (int)y->depth;
}

static bool same_object(const struct cap *a, const struct cap *b)
{
	return a->type == b->type && a->object == b->object && a->type != OBJECT_UNTYPED;
}

/* Below `above[depth - 1]` in the tree, which is as it must be so far. */
static void visit(struct world *world, const struct slot *const *above, size_t depth, const struct slot *slot)
{
	CHECK(!slot_empty(slot), "the derivation tree leads to an empty slot", slot, depth);
	if (depth)
		CHECK(may_derive(&above[depth - 1]->cap, &slot->cap),
		      "a capability has more than the one it derives from",
		      above[depth - 1]->cap.type, slot->cap.type);
	if (!size_of(&slot->cap))
		return;
	const struct slot *untyped = 0;
	for (size_t d = depth; d-- && !untyped;)
		untyped = above[d]->cap.type == OBJECT_UNTYPED ? above[d] : 0;
	world->found[world->founds++] = (struct found){ .slot = slot, .untyped = untyped, .references = 1,
	                                                .depth = depth,
		                                        .base = base_of(&slot->cap), .size = size_of(&slot->cap) };
}

/* One list of the tree, from its head: each bracket that opens is closed, inside the one that opened before. */
static size_t walk_list(struct world *world, const struct link *head)
{
	const struct slot **above = 0;
	size_t depth = 0, room = 0, count = 0;
	for (const struct link *link = head, *previous = 0; link; previous = link, link = link->next) {
		const struct slot *slot = link_slot(link);
		CHECK(link->previous == previous, "the derivation list is not doubly linked", link, previous);
		if (!link_opens(link)) {
			CHECK(depth && above[depth - 1] == slot, "the brackets of the derivation tree are not balanced",
			      slot, depth);
			depth--;
			continue;
		}
		visit(world, above, depth, slot);
		if (depth == room) {
			room = 2 * room + 16;
			above = realloc(above, room * sizeof(*above));
		}
		above[depth++] = slot;
		count++;
	}
	CHECK(depth == 0, "a bracket of the derivation tree is never closed", head, depth);
	free(above);
	return count;
}

/* What the slots say beside the tree. */
static void check_slot(const struct slot *slot)
{
	const struct cap *cap = &slot->cap;
	if (cap->type == OBJECT_CNODE) {
		bool flat = !cap->badge && cap->guard_bits + cap->size_bits == 64;
		CHECK(cap->limit == (flat ? 1ull << cap->size_bits : 0), "a CNode's limit is wrong", slot, cap->limit);
		CHECK(cap->guard_bits + cap->size_bits <= 64, "a guard is too long", slot, cap->guard_bits);
	}
	if (cap->type == OBJECT_UNTYPED && (slot_has_children(slot) || !cap->used)) {
		CHECK(!(cap->flags & CAP_DEVICE) || !cap->zeroed, "device memory was zeroed", slot, cap->zeroed);
		for (uint64_t at = (cap->used + 7) & ~7ull; !cap->copied && at < cap->zeroed &&
		     at < cap->used + ZEROED_MAX; at += 8)
			CHECK(!*(uint64_t *)direct(cap->object + at), "memory is not zero that should be",
			      cap->object + at, slot);
	}
}

/* Zombies are all in the kernel's list, and empty up to their cursors. */
static void check_zombies(const struct world *world)
{
	size_t zombies = 0, doomed = 0;
	for (size_t i = 0; i < world->slots; i++)
		zombies += world->slot[i]->cap.type == CAP_ZOMBIE;
	for (const struct slot *grave = world->kernel->reap_list; grave; grave = grave->cap.next) {
		const struct cap *zombie = &grave->cap;
		CHECK(zombie->type == CAP_ZOMBIE && zombie->object == (uint64_t)grave, "a doomed CNode is none", grave,
		      zombie->type);
		CHECK(!slot_has_children(grave), "something derives from a zombie", grave, grave->open.next);
		CHECK(zombie->cursor >= 1 && zombie->cursor <= 1ull << zombie->size_bits,
		      "a zombie's cursor is out of range", grave,
		      zombie->cursor);
		for (uint64_t i = 1; i < zombie->cursor; i++)
			CHECK(slot_empty(&grave[i]), "a zombie left a slot behind that is not empty", grave, i);
		doomed++;
	}
	uint64_t watched = 0;
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		watched |= world->kernel->cpu[c]->own.cleanup_at;
	CHECK(!doomed || watched, "nobody looks after the doomed CNodes", doomed, 0);
	CHECK(zombies == doomed, "a zombie is not in the list of doomed CNodes", zombies, doomed);
}

/* Capabilities to the same object become one entry. */
static void merge(struct world *world)
{
	size_t n = 0;
	qsort(world->found, world->founds, sizeof(*world->found), compare);
	for (size_t i = 0; i < world->founds; i++) {
		struct found *last = n ? &world->found[n - 1] : 0, *next = &world->found[i];
		if (last && same_object(&last->slot->cap, &next->slot->cap)) {
			CHECK(last->untyped == next->untyped, "capabilities to one object derive from different memory",
			      last->base, next->slot->cap.type);
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
		CHECK(!outer || f->base + f->size <= outer->base + outer->size, "two objects overlap", f->base,
		      outer->base);
		CHECK(!outer || outer->slot->cap.type == OBJECT_UNTYPED, "an object lies in another's memory", f->base,
		      outer->base);
		CHECK(f->untyped == (outer ? outer->slot : 0), "an object lies in memory it was not made of", f->base,
		      f->slot);
		CHECK(f->base % f->size == 0 || !f->untyped, "an object is not aligned",
		      f->base, f->size);
		around[depth++] = f;
	}
	free(around);
}

static bool is_slot(const struct world *world, const struct slot *slot)
{
	size_t i = 0;
	while (i < world->slots && world->slot[i] != slot)
		i++;
	return i < world->slots;
}

/* What a FRAME_PROTECT that has stopped half-way says it has done. */
static void check_protection(const struct world *world, const struct protection *noted)
{
	const struct link *link = noted->done;
	if (!noted->frame)
		return;
	CHECK(is_slot(world, noted->frame) && is_slot(world, link_slot(link)), "a core has noted a slot that is none",
	      noted->frame, link);
	CHECK(noted->frame->cap.flags & link_slot(link)->cap.flags & CAP_NOTED,
	      "a slot does not know that a core has noted it", noted->frame, link);
	for (; link && link != &noted->frame->close; link = link->next)
		CHECK(!link_opens(link) || !(link_slot(link)->cap.rights & ~noted->rights),
		      "a capability has kept what was taken from it",
		      link, link_slot(link)->cap.rights);
	CHECK(link, "a core has noted a slot that does not derive from the frame", noted->frame, noted->done);
}

/* Returns how many domains the tree has; each has a living capability. */
static unsigned count_domains(const struct world *world, const struct domain *domain)
{
	if (!domain)
		return 0;
	CHECK(world_find(world, OBJECT_DOMAIN, (uint64_t)domain), "the kernel's tree of domains holds a dead one",
	      domain->id, domain);
	return 1 + count_domains(world, domain->child[0]) + count_domains(world, domain->child[1]);
}

/* The kernel finds the live domains and no other, each by its id; what a frame names was given once. */
static void check_domains(const struct world *world)
{
	const struct kernel *kernel = world->kernel;
	unsigned live = 0;
	for (size_t i = 0; i < world->founds; i++) {
		const struct domain *domain = (const struct domain *)world->found[i].slot->cap.object;
		if (world->found[i].slot->cap.type != OBJECT_DOMAIN)
			continue;
		const struct cap frame = { .type = OBJECT_FRAME_4K, .domain = domain->id };
		CHECK(domain_of(kernel, &frame) == domain, "the kernel does not find a domain", domain->id, domain);
		CHECK(domain->id <= kernel->domains_made, "a domain has an id that was not given", domain->id, domain);
		CHECK(domain->lock.next == domain->lock.serving, "a domain is locked though no core is inside",
		      domain->id, domain->lock.next);
		CHECK(domain->granularity <= GRANULARITY_FINE, "a domain has no granularity", domain->id,
		      domain->granularity);
		live++;
	}
	CHECK(count_domains(world, kernel->domains) == live, "the kernel's tree lacks domains", kernel->domains, live);
	for (size_t i = 0; i < world->slots; i++) {
		const struct cap *cap = &world->slot[i]->cap;
		CHECK(!is_frame(cap->type) || !(cap->flags & CAP_LOCKED), "a slot is locked though no core is inside",
		      world->slot[i], cap->flags);
		CHECK(!is_frame(cap->type) || cap->domain <= kernel->domains_made,
		      "a frame names a domain that has not been", cap->domain, world->slot[i]);
	}
}

void check_caps(struct world *world)
{
	world->found = malloc((world->slots + 1) * sizeof(*world->found));
	world->founds = 0;
	size_t in_tree = 0;
	for (size_t i = 0; i < world->slots; i++) {
		check_slot(world->slot[i]);
		if (!world->slot[i]->open.previous)
			in_tree += walk_list(world, &world->slot[i]->open);
	}
	CHECK(in_tree == world->slots, "a capability is not in the derivation tree", in_tree, world->slots);
	check_zombies(world);
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		check_protection(world, &world->kernel->cpu[c]->shared.protection);
	merge(world);
	check_memory(world);
	check_domains(world);
	for (size_t i = 0; i < world->founds; i++) {
		uint32_t references = 0;
		if (counts(&world->found[i].slot->cap, &references))
			CHECK(references == world->found[i].references, "an object's reference count is wrong",
			      references, world->found[i].references);
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
