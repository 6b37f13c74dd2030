/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "modules.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

/* the frames of all modules, one of 2 MiB after another */
static int first_frame;

void modules_init(void)
{
	first_frame = slots_take((uint32_t)(ROOT->modules.size / SIZE_2M));
	for (uint32_t i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_MODULES || u->size_bits < 21)
			continue;
		uint64_t address = MODULES_VADDR + (u->paddr - ROOT->modules.base);
		for (uint64_t done = 0; done < 1ull << u->size_bits; done += SIZE_2M) {
			int frame = first_frame + (int)((u->paddr - ROOT->modules.base + done) / SIZE_2M);
			int error = first_frame < 0 ? first_frame
			    : untyped_retype(IPC, ROOT_SLOT_UNTYPED + i, OBJECT_FRAME_2M, 0,
								       ROOT_SLOT_CNODE, (uint64_t)frame, 1);
			if (!error)
				error = vspace_map(ROOT_SLOT_VSPACE, frame, address + done, RIGHT_READ,
				                   CACHE_WRITE_BACK);
			if (error)
				manager_panic("the modules cannot be mapped (error %d)", -error);
		}
	}
}

int module_map(const struct module *m, int vspace, uint64_t address)
{
	uint64_t offset = (uint64_t)((const char *)m->data - (const char *)MODULES_VADDR);
	uint32_t count = (uint32_t)((m->size + SIZE_2M - 1) / SIZE_2M);
	int frames = offset % SIZE_2M ? -SKERRY_BAD_ARGUMENT : slots_copy(first_frame + (int)(offset / SIZE_2M), count);

	return frames < 0 ? frames : vspace_map_range(vspace, frames, count, SIZE_2M, address, RIGHT_READ,
	                                              CACHE_WRITE_BACK);
}

struct module module_find(const char *name)
{
	for (uint32_t i = 0; i < ROOT->module_count && i < BOOT_MAX_MODULES; i++) {
		const struct boot_module *m = &ROOT->module[i];
		if (m->offset > ROOT->modules.size || m->size > ROOT->modules.size - m->offset)
			continue;
		if (!strncmp(m->name, name, BOOT_NAME_SIZE))
			return (struct module){ (const char *)MODULES_VADDR + m->offset, m->size, (int)i };
	}
	return (struct module){ .index = -1 };
}
