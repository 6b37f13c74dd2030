/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "frames-write.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "vspace.h"

enum { EACH = 32, LENSES = 2 * EACH };
#define SOURCE_VADDR (WINDOW_VADDR + 3 * (uint64_t)SIZE_2M) /* behind the windows of vspace.c */

static int lens; /* slots of capabilities through which frames are seen; they are empty between two calls */

static int make_lens(void)
{
	uint32_t before = owner_set(OWNER_MANAGER);
	int slots = lens ? lens : slots_take(LENSES);
	owner_set(before);
	lens = slots < 0 ? 0 : slots;
	return slots < 0 ? slots : 0;
}

static void lens_close(unsigned first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cnode_delete(ROOT_SLOT_CNODE, (uint64_t)lens + first + i);
}

/* Maps frames by lenses from `first` on, of which lens_close() takes back as many as `*open`. Returns 0 or an error. */
static int lens_open(unsigned first, int from, uint32_t count, uint64_t frame_size, uint64_t address, unsigned rights,
                     uint32_t *open)
{
	for (*open = 0; *open < count; ++*open) {
		const uint64_t slot = (uint64_t)lens + first + *open;
		int error = cnode_copy(IPC, ROOT_SLOT_CNODE, slot, ROOT_SLOT_CNODE, (uint64_t)from + *open, rights);
		if (error)
			return error;
		error = vspace_map(ROOT_SLOT_VSPACE, (int)slot, address + *open * frame_size, rights,
		                   CACHE_WRITE_BACK);
		if (error) {
			cnode_delete(ROOT_SLOT_CNODE, slot);
			return error;
		}
	}
	return 0;
}

int frames_overwrite(int to, uint32_t count, int from, uint64_t offset, bool small)
{
	uint32_t open = 0, written = 0;
	int error = make_lens();
	for (uint32_t done = 0, part; done < count && !error; done += part) {
		part = count - done < EACH ? count - done : EACH;
		const uint64_t skip = small ? 0 : SIZE_2M + offset + (uint64_t)done * SIZE_4K;
		const char *source = (const char *)SOURCE_VADDR + skip;
		char *target = (char *)(SOURCE_VADDR + 2 * (uint64_t)SIZE_2M);
		error = small ? lens_open(0, from + (int)done, part, SIZE_4K, SOURCE_VADDR, RIGHT_READ, &open)
		        : lens_open(0, from, 1, SIZE_2M, SOURCE_VADDR + SIZE_2M, RIGHT_READ, &open);
		if (!error)
			error = lens_open(EACH, to + (int)done, part, SIZE_4K, (uint64_t)target,
			                  RIGHT_READ | RIGHT_WRITE, &written);
		if (!error)
			memcpy(target, source, (uint64_t)part * SIZE_4K);
		lens_close(0, open);
		lens_close(EACH, written);
		open = written = 0;
		sign_pass();
	}
	return error;
}
