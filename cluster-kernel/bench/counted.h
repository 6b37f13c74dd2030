/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel that counts (+stat) counted while a team ran; of a plain one nothing. */
#pragma once

#include <skerry/stat.h>
#include "pair.h"

/* Counters only grow: what counts is the difference, which makes no sense of maxima. */
struct counted {
	struct core_stat before, after; /* sums over cores */
};

/* Before anybody runs, and when nobody does any more. */
void counted_read(struct core_stat *sum, const struct pair *pairs, uint64_t pair_size, unsigned cores);
/* As a member of the line of JSON, preceded by a comma; a plain kernel's is not there. */
void counted_print(const struct counted *counted);
