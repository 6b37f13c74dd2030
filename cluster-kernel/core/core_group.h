/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of a kernel's cores that are asked and interrupted together: up to sixteen whose APIC ids differ in the low
 * four bits only, which is what one interrupt command reaches in x2APIC's cluster mode (SDM 3, 11.12.10). Such cores
 * mostly share an L3 cache. A core that shares the higher bits with no other is a group of its own. Builds that look
 * for races have groups of two.
 *
 * A remote call (remote.h) writes one line for each group. The line is in the memory of the group's first core, which
 * stays the kernel's when that core leaves it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "core_set.h"
#include CHECK_HEADER

/* GROUP_SHIFT: log2 of the cores in a group, at most; the build chooses it with the level of assertions (check/) */
enum { GROUP_IDS = 16 }; /* bits of a set of members: of APIC ids, which are in one cluster of x2APIC */
_Static_assert(1 << GROUP_SHIFT <= GROUP_IDS, "members have a bit each");

struct tlb_spaces;

struct core_group {
	/* a bit for each member that has not served the request yet: core_member() */
	_Alignas(64) _Atomic uint32_t asked;
	uint32_t request; /* enum cpu_request; constant while `asked` is not 0, as is: */
	const struct tlb_spaces *spaces; /* the asking core's */
};

/* The groups of a kernel's cores, by index; constant once it is built. */
struct core_groups {
	uint16_t first[CORES_MAX]; /* the group's first core */
	uint16_t next[CORES_MAX];  /* its next one; 0: none, as core 0 is no other's next */
};

/* The bit of a core with this APIC id among the members of its group. */
static inline uint32_t core_member(uint32_t apic) { return 1u << (apic & (GROUP_IDS - 1)); }
/* Returns whether two cores with these APIC ids are in one group. */
static inline bool core_group_same(uint32_t apic, uint32_t other)
{
	return apic >> GROUP_SHIFT == other >> GROUP_SHIFT;
}

/* Returns whether the member is asked. acquire: if it is, the request is visible. */
static inline bool core_group_asks(const struct core_group *group, uint32_t member)
{
	return atomic_load_explicit(&group->asked, memory_order_acquire) & member;
}
