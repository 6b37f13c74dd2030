/* SPDX-License-Identifier: BSD-2-Clause */
#include "grant.h"
#include "root.h"

int process_give(const struct process *p, unsigned slot, int root_slot)
{
	return cnode_copy(IPC, (uint64_t)p->cnode, slot, ROOT_SLOT_CNODE, (uint64_t)root_slot, RIGHT_ALL);
}

int process_give_badged(const struct process *p, unsigned slot, int root_slot, unsigned rights, uint64_t badge)
{
	return cnode_mint(IPC, (uint64_t)p->cnode, slot, ROOT_SLOT_CNODE, (uint64_t)root_slot, rights, badge);
}
