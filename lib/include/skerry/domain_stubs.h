/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapping domains (OBJECT_DOMAIN): the frames in them and what guards their mappings, as stubs.h has the rest. */
#pragma once

#include <stdint.h>
#include <skerry/stubs.h>

/* `domain` 0: the kernel's own. */
static inline int frame_split(struct ipc_buffer *ipc, uint64_t frame, uint64_t domain)
{
	struct message m = { 0 };
	ipc->caps[0] = domain;
	return invoke(frame, FRAME_SPLIT, domain ? 1 : 0, 0, &m);
}

static inline int frame_guard(uint64_t frame, enum frame_guard *guard)
{
	uint64_t word;
	int error = invoke_word(frame, FRAME_GUARD, &word);
	*guard = (enum frame_guard)word; /* FRAME_GUARD_KERNEL where it fails */
	return error;
}

/* `before` may be null. */
static inline int domain_granularity(uint64_t domain, enum granularity wanted, enum granularity *before)
{
	struct message m = { .word = { wanted } };
	int error = invoke(domain, DOMAIN_GRANULARITY, 0, 1, &m);
	if (before)
		*before = error ? GRANULARITY_COARSE : (enum granularity)m.word[0];
	return error;
}
