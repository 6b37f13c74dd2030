/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"

#define MODULES (LARGE_WINDOW + (512ull << 20)) /* the large window's upper half */
enum { LARGE_PAGE = 1 << 21 };

static void map_piece(uint64_t untyped, uint64_t address, uint64_t size)
{
	for (uint64_t done = 0; done < size; done += LARGE_PAGE) {
		uint64_t frame = slot();
		check_ok(untyped_retype(IPC, untyped, OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame, 1));
		check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, address + done, RIGHT_READ, CACHE_WRITE_BACK));
	}
}

const void *modules_map(const char *name)
{
	const void *bytes = 0;
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind == ROOT_UNTYPED_MODULES)
			map_piece(ROOT_SLOT_UNTYPED + i, MODULES + (u->paddr - ROOT->modules.base),
			          1ull << u->size_bits);
	}
	for (unsigned i = 0; i < ROOT->module_count; i++)
		if (!strcmp(ROOT->module[i].name, name))
			bytes = (const char *)MODULES + ROOT->module[i].offset;
	return bytes;
}
