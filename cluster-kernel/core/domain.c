/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain.h"
#include "kernel.h"
#include "message.h"

static unsigned place_of(uint32_t id) { return id % KERNEL_DOMAINS; }

void domains_init(struct domains *domains)
{
	for (unsigned i = 0; i < KERNEL_DOMAINS; i++) {
		domains->free[i] = (uint16_t)i;
		domains->next[i] = KERNEL_DOMAINS + i; /* 0 is no domain's */
	}
}

bool domain_room(const struct kernel *kernel, uint64_t count)
{
	kernel_assert(kernel->domains.count <= KERNEL_DOMAINS);
	return count <= KERNEL_DOMAINS - kernel->domains.count;
}

void domain_init(struct kernel *kernel, struct domain *domain)
{
	struct domains *domains = &kernel->domains;
	assert_exclusive();
	kernel_assert(domains->count < KERNEL_DOMAINS);
	unsigned place = domains->free[domains->count++];
	kernel_assert(!domains->at[place] && domains->next[place] && place_of(domains->next[place]) == place);
	domain->id = domains->next[place];
	domains->at[place] = domain;
}

void domain_destroy(struct cpu *cpu, const struct domain *domain)
{
	struct domains *domains = &kernel_of(cpu)->domains;
	unsigned place = place_of(domain->id);
	assert_exclusive();
	kernel_assert(domain->references == 0 && domains->at[place] == domain && domains->count > 0);
	domains->at[place] = 0;
	domains->next[place] = domain->id <= UINT32_MAX - KERNEL_DOMAINS ? domain->id + KERNEL_DOMAINS : 0;
	if (domains->next[place])
		domains->free[--domains->count] = (uint16_t)place;
}

struct domain *domain_of(const struct kernel *kernel, const struct cap *frame)
{
	kernel_assert(frame->type >= OBJECT_FRAME_4K && frame->type <= OBJECT_FRAME_1G);
	struct domain *domain = kernel->domains.at[place_of(frame->domain)];
	return domain && domain->id == frame->domain ? domain : 0;
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
	uint32_t id = 0;
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
