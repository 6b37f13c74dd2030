/* SPDX-License-Identifier: BSD-2-Clause */
/* The cores that may use an endpoint, a notification or a reply object themselves (CNODE_LOCALITY), as stubs.h has the rest. */
#pragma once

#include <stdint.h>
#include <skerry/cluster_mask.h>
#include <skerry/stubs.h>

static inline int cnode_set_locality(uint64_t cnode, uint64_t slot, uint64_t mask)
{
	struct message m = { .word = { slot, mask } };
	return invoke(cnode, CNODE_LOCALITY, 0, 2, &m);
}

static inline int cnode_locality(uint64_t cnode, uint64_t slot, uint32_t *mask, unsigned *home)
{
	struct message m = { .word = { slot } };
	int error = invoke(cnode, CNODE_LOCALITY_OF, 0, 1, &m);
	*mask = error ? MASK_NONE : (uint32_t)m.word[0];
	*home = error ? 0 : (unsigned)m.word[1];
	return error;
}
