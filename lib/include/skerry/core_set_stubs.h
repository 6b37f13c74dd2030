/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of cores as C functions; results as in stubs.h. */
#pragma once

#include <skerry/stubs.h>

/* `set`: bit i of word w is core 64 w + i. */
static inline int tcb_set_cores(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, const uint64_t *set, unsigned words)
{
	struct message m = { 0 };
	for (unsigned i = 0; i < words; i++)
		*(i < MESSAGE_REGISTERS ? &m.word[i] : &ipc->words[i]) = set[i];
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SET_CORES, 1, words, &m);
}

/* The set is that one core. */
static inline int tcb_set_core(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, unsigned core)
{
	struct message m = { 0 };
	for (unsigned i = MESSAGE_REGISTERS; i < core / 64; i++)
		ipc->words[i] = 0;
	*(core / 64 < MESSAGE_REGISTERS ? &m.word[core / 64] : &ipc->words[core / 64]) = 1ull << core % 64;
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SET_CORES, 1, core / 64 + 1, &m);
}
