/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

enum { GIGABYTE_BITS = 30 };

static uint64_t gigabyte;

uint64_t gigabyte_memory(void) { return gigabyte; }

/* Takes it from the first untyped that has room. */
void gigabyte_init(void)
{
	uint64_t cap = slot();
	for (unsigned i = 0; i < ROOT->untyped_count && !gigabyte; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_ORDINARY &&
		    untyped_retype(IPC, ROOT_SLOT_UNTYPED + i, OBJECT_UNTYPED, GIGABYTE_BITS, ROOT_SLOT_CNODE, cap,
		                   1) == 0)
			gigabyte = cap;
}

void gigabyte_reset(void)
{
	if (gigabyte)
		cnode_revoke(ROOT_SLOT_CNODE, gigabyte);
}
