/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping domains: what guards the mappings of the frames in them (Uhlig 2007, section 3.2: split nodes). A frame's
 * capability names its domain by an id that is never reused, so it may outlive the domain. A frame that names none, or
 * one that is gone, is in the kernel's own domain. Copies inherit the id; a frame that is split gives its domain to the
 * whole subtree that is derived from it later.
 *
 * A kernel has places for 1,024 domains. Hazard: denial of service. A program that made all of them would leave none to
 * others. So a domain takes 4 KiB of its maker's memory (DOMAIN_BITS): the 256 KiB that a program gets pay for 64.
 *
 * Ids are of 32 bits: the place in the kernel's table, and how often that place was given before. A place that was
 * given for the last time stays empty.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "cap.h"
#include "ticket_lock.h"

struct kernel;

enum { DOMAIN_PLACE_BITS = 10, KERNEL_DOMAINS = 1 << DOMAIN_PLACE_BITS }; /* domains at a time */

struct domain {
	uint32_t references;
	uint32_t id; /* not 0 */
	uint32_t granularity; /* enum granularity; coarse at first */
	/* while it is coarse, of a reader: guard.h. Fair, for any number of cores may want it at once */
	struct ticket_lock lock;
};
_Static_assert(sizeof(struct domain) <= 1u << DOMAIN_BITS, "the ABI's domain size");

/* The kernel's table of its domains. */
struct domains {
	uint32_t count; /* places that are taken, or used up */
	uint16_t free[KERNEL_DOMAINS];   /* from `count` on: places that are free */
	uint32_t next[KERNEL_DOMAINS];   /* the next id of each place; 0: it is used up */
	struct domain *at[KERNEL_DOMAINS];
};

void domains_init(struct domains *domains);
bool domain_room(const struct kernel *kernel, uint64_t count);
void domain_init(struct kernel *kernel, struct domain *domain);
void domain_destroy(struct cpu *cpu, const struct domain *domain);
/* The domain that `frame` is in; null: the kernel's own. */
struct domain *domain_of(const struct kernel *kernel, const struct cap *frame);
/* enum frame_guard */
unsigned domain_guard(const struct kernel *kernel, const struct cap *frame);

/* FRAME_SPLIT. */
uint64_t frame_split(struct cpu *cpu, struct slot *frame, uint64_t info);
uint64_t invoke_domain(struct cpu *cpu, struct slot *slot, uint64_t info);
