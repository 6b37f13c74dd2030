/* SPDX-License-Identifier: BSD-2-Clause */
/* Prices and structure of the modelled machine: the machine file as the plugin gets it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>
#include "most_cores.h"

/* Clocks and prices count sixteenths of a cycle. */
enum { UNIT = 16 };
enum { MOST_NODES = 64 };

/* Distance of two cores, and of a core from memory (where CLUSTER and SOCKET are both near). */
enum distance { SAME_CLUSTER, SAME_SOCKET, OTHER_SOCKET, DISTANCES };

struct prices {
#define PRICE(name, what) uint64_t name;
#define PLANTED(name, scale, what) uint64_t name;
#include "prices.def"
#undef PRICE
#undef PLANTED
};

struct cache_shape {
	uint64_t sets, ways; /* lines of 64 bytes */
};

/* Memory from `start` on, up to the next node's, belongs to `socket`. Sorted by start. */
struct node {
	uint64_t start;
	uint64_t socket;
};

struct machine {
	struct prices price;
	uint64_t khz;                      /* of the cores' clocks, and of their time-stamp counters */
	uint64_t cores, clusters, sockets; /* of each socket as many clusters (L3s), of each cluster as many cores */
	struct cache_shape l1, l1i, l2, l3; /* l1, l1i (instructions) and l2 of each core, l3 of each cluster */
	uint64_t l3_inclusive;             /* what leaves L3 leaves the L1s and L2s of its cores */
	uint64_t store_buffer;             /* stores that a core may have outstanding */
	uint64_t nodes;
	struct node node[MOST_NODES];
};

static inline unsigned cluster_of(const struct machine *m, unsigned core)
{
	require(core < m->cores && m->clusters);
	return core / (unsigned)(m->cores / m->clusters);
}
static inline unsigned socket_of(const struct machine *m, unsigned core)
{
	require(core < m->cores && m->sockets);
	return core / (unsigned)(m->cores / m->sockets);
}
static inline enum distance distance(const struct machine *m, unsigned a, unsigned b)
{
	return cluster_of(m, a) == cluster_of(m, b) ? SAME_CLUSTER : socket_of(m, a) == socket_of(m, b) ? SAME_SOCKET
	       : OTHER_SOCKET;
}
/* Returns the price of a program's block without the share of its instructions that is planted to cost nothing. */
static inline uint64_t less_planted(const struct prices *p, uint64_t price)
{
	require(p->planted_less <= 100);
	return price - (price * p->planted_less + 50) / 100;
}
unsigned home_of(const struct machine *m, uint64_t line);

/*
 * Reads `path`: a line `NAME VALUE` for each price (cycles, may have a fraction), for each of khz, cores, clusters,
 * sockets, l1_sets, l1_ways, l1i_sets, l1i_ways, l2_sets, l2_ways, l3_sets, l3_ways, l3_inclusive and store_buffer, and
 * `node START SOCKET` lines, sorted. Each must occur once, but what is planted (prices.def), which may be missing: 0.
 * Returns NULL, or what is wrong; then *line_number says where (0: a name is missing).
 */
const char *machine_read(const char *path, struct machine *machine, unsigned *line_number);
