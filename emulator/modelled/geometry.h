/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of cores and of clusters, as masks, and how far they are. */
#pragma once

#include "prices.h"

static inline uint64_t cores_of_cluster(const struct machine *m, unsigned cluster)
{
	uint64_t each = m->cores / m->clusters;
	return (each == 64 ? ~0ull : (1ull << each) - 1) << cluster * each;
}

static inline enum distance farthest_core(const struct machine *m, unsigned core, uint64_t cores)
{
	enum distance found = SAME_CLUSTER;
	for (; cores && found < OTHER_SOCKET; cores &= cores - 1) {
		enum distance d = distance(m, core, (unsigned)__builtin_ctzll(cores));
		if (d > found)
			found = d;
	}
	return found;
}

/* The nearest L3 that has the line, by the cluster's first core. */
static inline enum distance nearest_l3(const struct machine *m, unsigned core, uint64_t clusters)
{
	enum distance found = OTHER_SOCKET;
	for (; clusters; clusters &= clusters - 1) {
		enum distance d = distance(m, core,
		                           (unsigned)((unsigned)__builtin_ctzll(clusters) * (m->cores / m->clusters)));
		if (d < found)
			found = d;
	}
	return found;
}

static inline uint64_t clusters_of(const struct machine *m, uint64_t cores)
{
	uint64_t found = 0;
	for (; cores; cores &= cores - 1)
		found |= 1ull << cluster_of(m, (unsigned)__builtin_ctzll(cores));
	return found;
}
