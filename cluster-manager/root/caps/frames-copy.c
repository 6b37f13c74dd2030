/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "frames-copy.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "vspace.h"

enum { BATCH = 64 };
#define SOURCE_VADDR (WINDOW_VADDR + 3 * (uint64_t)SIZE_2M) /* behind the windows of vspace.c */

static int lens; /* slots of capabilities through which frames are read; they are empty between two calls */

static int make_lens(void)
{
	uint32_t before = owner_set(OWNER_MANAGER);
	int slots = lens ? lens : slots_take(BATCH);
	owner_set(before);
	lens = slots < 0 ? 0 : slots;
	return slots < 0 ? slots : 0;
}

static void lens_close(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cnode_delete(ROOT_SLOT_CNODE, (uint64_t)lens + i);
}

/* Maps frames for reading, of which lens_close() takes back as many as `*open`. Returns 0 or an error. */
static int lens_open(int from, uint32_t count, uint64_t frame_size, uint64_t address, uint32_t *open)
{
	for (*open = 0; *open < count; ++*open) {
		const uint64_t slot = (uint64_t)lens + *open;
		int error = cnode_copy(IPC, ROOT_SLOT_CNODE, slot, ROOT_SLOT_CNODE, (uint64_t)from + *open, RIGHT_READ);
		if (error)
			return error;
		error = vspace_map(ROOT_SLOT_VSPACE, (int)slot, address + *open * frame_size, RIGHT_READ,
		                   CACHE_WRITE_BACK);
		if (error) {
			cnode_delete(ROOT_SLOT_CNODE, slot);
			return error;
		}
	}
	return 0;
}

static int copy_batch(int to, int from, uint32_t count)
{
	uint32_t open;
	require(count && count <= BATCH);
	int error = lens_open(from, count, SIZE_4K, SOURCE_VADDR, &open);
	void *window = error ? NULL : window_open(to, count);
	if (window) {
		memcpy(window, (const void *)SOURCE_VADDR, (uint64_t)count * SIZE_4K);
		window_close();
	}
	lens_close(open);
	return error ? error : window ? 0 : -SKERRY_NO_MEMORY;
}

int frames_copy(int to, int from, uint32_t count)
{
	int error = make_lens();
	for (uint32_t done = 0; done < count && !error; done += BATCH) {
		error = copy_batch(to + (int)done, from + (int)done, count - done < BATCH ? count - done : BATCH);
		sign_pass();
	}
	return error;
}

int frame_copy_large(int to, int from)
{
	uint32_t open = 0;
	int error = make_lens();
	if (!error)
		error = lens_open(from, 1, SIZE_2M, SOURCE_VADDR + SIZE_2M, &open);
	void *window = error ? NULL : window_large(to, 0);
	if (window) {
		memcpy(window, (const void *)(SOURCE_VADDR + SIZE_2M), SIZE_2M);
		frame_unmap((uint64_t)to);
	}
	lens_close(open);
	sign_pass();
	return error ? error : window ? 0 : -SKERRY_NO_MEMORY;
}
