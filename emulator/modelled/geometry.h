/* SPDX-License-Identifier: BSD-2-Clause */
/* How far sets of cores and of clusters are: clusters, and sockets, are ranges of the cores' numbers. */
#pragma once

#include "sets.h"

static inline unsigned cores_each(const struct machine *m) { return (unsigned)(m->cores / m->clusters); }
static inline unsigned clusters_each(const struct machine *m) { return (unsigned)(m->clusters / m->sockets); }

/* Returns whether the set has a core beside this one. */
static inline bool has_others(const struct machine *m, const uint64_t *cores, unsigned core)
{
	return set_any(cores, 0, core) || set_any(cores, core + 1, (unsigned)m->cores);
}

static inline bool has_other_clusters(const struct machine *m, const uint64_t *clusters, unsigned cluster)
{
	return set_any(clusters, 0, cluster) || set_any(clusters, cluster + 1, (unsigned)m->clusters);
}

/* The farthest core of the set; SAME_CLUSTER if it is empty. */
static inline enum distance farthest_core(const struct machine *m, unsigned core, const uint64_t *cores)
{
	unsigned socket = (unsigned)(m->cores / m->sockets), near = socket_of(m, core) * socket;
	if (set_any(cores, 0, near) || set_any(cores, near + socket, (unsigned)m->cores))
		return OTHER_SOCKET;
	unsigned cluster = cores_each(m), nearest = cluster_of(m, core) * cluster;
	bool beyond = set_any(cores, near, nearest) || set_any(cores, nearest + cluster, near + socket);
	return beyond ? SAME_SOCKET : SAME_CLUSTER;
}

/* The nearest L3 that has the line, or whose cores have it; OTHER_SOCKET if there is none. */
static inline enum distance nearest_l3(const struct machine *m, unsigned core, const uint64_t *l3,
                                       const uint64_t *cores)
{
	unsigned own = cluster_of(m, core), each = cores_each(m), of_socket = clusters_each(m);
	unsigned first = socket_of(m, core) * of_socket;
	if (set_has(l3, own) || set_any(cores, own * each, (own + 1) * each))
		return SAME_CLUSTER;
	bool in_socket = set_any(l3, first, first + of_socket) ||
	                 set_any(cores, first * each, (first + of_socket) * each);
	return in_socket ? SAME_SOCKET : OTHER_SOCKET;
}
