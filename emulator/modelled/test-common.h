/* SPDX-License-Identifier: BSD-2-Clause */
/* A small machine with prices that tell which of them was paid: 2 sockets of 2 clusters (L3s) of 2 cores. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include "memory.h"

#define EXPECT(got, expected)                                                                                        \
	do {                                                                                                         \
		unsigned long long got_ = (unsigned long long)(got), expected_ = (unsigned long long)(expected);     \
		if (got_ != expected_) {                                                                             \
			fprintf(stderr, "%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got, got_, expected_); \
			exit(1);                                                                                     \
		}                                                                                                    \
	} while (0)

static inline struct machine small_machine(void)
{
	struct machine m = {
		.cores = 8, .clusters = 4, .sockets = 2, .l1 = { 4, 2 }, .l1i = { 2, 2 }, .l2 = { 8, 4 },
		.l3 = { 32, 8 }, .l3_inclusive = 1,
		.store_buffer = 4, .nodes = 2, .node = { { 0, 0 }, { 1 << 20, 1 } },
	};
	struct prices *p = &m.price;
	p->l2 = 8, p->l3 = 40, p->l3_socket = 70, p->l3_machine = 160;
	p->transfer_cluster = 110, p->transfer_socket = 140, p->transfer_machine = 214;
	p->upgrade_cluster = 80, p->upgrade_socket = 100, p->upgrade_machine = 180;
	p->reader_gap = 20, p->dram_near = 181, p->dram_far = 261, p->store = 1;
	p->tlb_second = 7, p->tlb_walk = 25;
	for (uint64_t *at = (uint64_t *)p; at < (uint64_t *)(p + 1); at++)
		*at *= UNIT;
	return m;
}
