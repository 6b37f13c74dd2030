/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping domains: what guards the mappings of the frames in them (Uhlig 2007, section 3.2: split nodes). A frame's
 * capability names its domain by an id of 64 bits that is never reused, so it may outlive the domain. A frame that
 * names none, or one that is gone, is in the kernel's own domain. Copies inherit the id; a frame that is split gives
 * its domain to the whole subtree that is derived from it later.
 *
 * The kernel finds a domain by its id in a digital search tree (Coffman and Eve 1970). The domains themselves are its
 * nodes: as many as there is memory for. The bits of the id, from the lowest on, lead down from the root, so no
 * path is longer than the ids that were given have bits.
 */
#pragma once

#include <stdint.h>
#include "cap.h"
#include "ticket_lock.h"

struct kernel;

struct domain {
	uint64_t id; /* not 0 */
	struct domain *child[2];
	uint32_t references;
	uint32_t granularity; /* enum granularity; coarse at first */
	/* while it is coarse, of a reader: guard.h. Fair, for any number of cores may want it at once; in a line of its
	 * own, which those that look for other domains do not read */
	_Alignas(64) struct ticket_lock lock;
};
_Static_assert(sizeof(struct domain) == 1u << DOMAIN_BITS, "the ABI's domain size");

void domain_init(struct kernel *kernel, struct domain *domain);
void domain_destroy(struct cpu *cpu, struct domain *domain);
/* The domain that `frame` is in; null: the kernel's own. */
struct domain *domain_of(const struct kernel *kernel, const struct cap *frame);
/* enum frame_guard */
unsigned domain_guard(const struct kernel *kernel, const struct cap *frame);

/* FRAME_SPLIT. */
uint64_t frame_split(struct cpu *cpu, struct slot *frame, uint64_t info);
uint64_t invoke_domain(struct cpu *cpu, struct slot *slot, uint64_t info);
