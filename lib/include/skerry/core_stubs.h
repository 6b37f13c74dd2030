/* SPDX-License-Identifier: BSD-2-Clause */
/* The invocations by which cores and memory move (skerry/syscall.h), of the cluster control object; each returns 0, or an error. */
#pragma once

#include <skerry/stubs.h>

/* `index`: of the core in this cluster. */
static inline int core_control_read(uint64_t control, uint32_t cpu, uint64_t *word, uint64_t *index)
{
	struct message m = { .word = { cpu } };
	int error = invoke(control, CORE_READ, 0, 1, &m);
	*word = error ? 0 : m.word[0];
	*index = error ? 0 : m.word[1];
	return error;
}

static inline int core_leave_for(uint64_t control, uint32_t cpu, uint32_t cluster)
{
	struct message m = { .word = { cpu, cluster } };
	return invoke(control, CORE_LEAVE, 0, 2, &m);
}

static inline int core_control_take(uint64_t control, uint32_t cpu)
{
	struct message m = { .word = { cpu } };
	return invoke(control, CORE_TAKE, 0, 1, &m);
}

static inline int memory_give_to(struct ipc_buffer *ipc, uint64_t control, uint64_t untyped, uint32_t cluster)
{
	struct message m = { .word = { cluster } };
	ipc->caps[0] = untyped;
	return invoke(control, MEMORY_GIVE, 1, 1, &m);
}

static inline int memory_take_parked(struct ipc_buffer *ipc, uint64_t control, uint64_t base, unsigned size_bits, uint64_t cnode, uint64_t slot)
{
	struct message m = { .word = { base, size_bits, slot } };
	ipc->caps[0] = cnode;
	return invoke(control, MEMORY_TAKE, 1, 3, &m);
}
