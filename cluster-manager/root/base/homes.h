/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects at home on the cores of a NUMA node, in a cluster whose map says `homed` (CNODE_LOCALITY): programs of that
 * node use them themselves, the calls of others travel there. What programs of all nodes use, as the manager's
 * endpoint, has no home.
 */
#pragma once

#include <stdint.h>

/* The cluster mask of the cores of that core's node; all cores where the cluster is not homed. */
uint32_t home_of(uint32_t core);
/* The object in this slot of `cnode` is at home with a program on that core. Returns 0 or an error. */
int home_set(uint64_t cnode, uint64_t slot, uint32_t core);
