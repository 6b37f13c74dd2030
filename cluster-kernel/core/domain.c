/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain.h"
#include "kernel.h"
#include "message.h"

/* Returns the link to the domain with this id, or the empty one where it belongs, below the link to the root. */
static struct domain **domain_link(struct domain **link, uint64_t id)
{
	for (uint64_t bits = id; *link && (*link)->id != id; bits >>= 1)
		link = &(*link)->child[bits & 1];
	return link;
}

void domain_init(struct kernel *kernel, struct domain *domain)
{
	assert_exclusive();
	domain->id = ++kernel->domains_made;
	struct domain **link = domain_link(&kernel->domains, domain->id);
	kernel_assert(!*link && !domain->child[0] && !domain->child[1]);
	*link = domain;
}

/* A leaf below the domain takes its place: its id begins with the same bits. */
void domain_destroy(struct cpu *cpu, struct domain *domain)
{
	struct domain **link = domain_link(&kernel_of(cpu)->domains, domain->id), **last = link;
	assert_exclusive();
	kernel_assert(domain->references == 0 && *link == domain);
	while ((*last)->child[0] || (*last)->child[1])
		last = &(*last)->child[!(*last)->child[0]];
	struct domain *leaf = *last;
	*last = 0;
	if (leaf == domain)
		return;
	leaf->child[0] = domain->child[0];
	leaf->child[1] = domain->child[1];
	*link = leaf;
}

struct domain *domain_of(const struct kernel *kernel, const struct cap *frame)
{
	kernel_assert(frame->type >= OBJECT_FRAME_4K && frame->type <= OBJECT_FRAME_1G);
	struct domain *root = kernel->domains;
	return frame->domain ? *domain_link(&root, frame->domain) : 0;
}

unsigned domain_guard(const struct kernel *kernel, const struct cap *frame)
{
	const struct domain *domain = domain_of(kernel, frame);
	return !domain ? FRAME_GUARD_KERNEL : domain->granularity == GRANULARITY_FINE ? FRAME_GUARD_MAPPING
	       : FRAME_GUARD_DOMAIN;
}

uint64_t frame_split(struct cpu *cpu, struct slot *frame, uint64_t info)
{
	assert_exclusive();
	uint64_t id = 0;
	if (message_caps(info) > 0) {
		const struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_DOMAIN);
		if (!slot)
			return SKERRY_BAD_CAP;
		if (!(slot->cap.rights & RIGHT_READ))
			return SKERRY_NO_RIGHTS;
		id = ((const struct domain *)slot->cap.object)->id;
	}
	if (frame->cap.flags & CAP_MAPPED)
		return SKERRY_MAPPED;
	if (slot_has_children(frame))
		return SKERRY_BUSY;
	frame->cap.domain = id;
	return SKERRY_OK;
}

uint64_t invoke_domain(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_DOMAIN);
	struct domain *domain = (struct domain *)slot->cap.object;
	struct thread *thread = current(cpu);
	if (message_label(info) != DOMAIN_GRANULARITY)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	uint64_t wanted = message_word(thread, 0);
	if (wanted > GRANULARITY_FINE)
		return SKERRY_BAD_ARGUMENT;
	message_set_word(thread, 0, domain->granularity);
	domain->granularity = (uint32_t)wanted;
	return SKERRY_OK;
}
