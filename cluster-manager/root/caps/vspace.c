/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "memory.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "vspace.h"

enum { MAP_BATCH = 64 };

/* Tables of the manager's own address space stay, whichever program is served meanwhile. */
static int make_table(int vspace)
{
	uint32_t before = owner_set(vspace == ROOT_SLOT_VSPACE ? OWNER_MANAGER : owner_now());
	int table = memory_object(OBJECT_PAGE_TABLE, 0);
	owner_set(before);
	return table;
}

/* The kernel maps the last of them first. */
static int map_batch(int vspace, int first_frame, uint64_t left, uint64_t frame_size, uint64_t address, unsigned rights,
                     unsigned attributes)
{
	require(first_frame > 0 && left && address % SIZE_4K == 0);
	for (;;) {
		int error = frame_map_range(IPC, (uint64_t)first_frame, (uint64_t)vspace, address, rights, attributes,
		                            left, &left);
		if (error != -SKERRY_MISSING_TABLE)
			return error;
		int table = make_table(vspace);
		if (table < 0)
			return table;
		error = page_table_map(IPC, (uint64_t)table, (uint64_t)vspace, address + (left - 1) * frame_size);
		if (error)
			return error;
	}
}

int vspace_map(int vspace, int frame, uint64_t address, unsigned rights, unsigned attributes)
{
	return map_batch(vspace, frame, 1, SIZE_4K, address, rights, attributes);
}

int vspace_map_range(int vspace, int first_frame, uint32_t count, uint64_t frame_size, uint64_t address,
		     unsigned rights, unsigned attributes)
{
	require(frame_size == SIZE_4K || frame_size % SIZE_2M == 0);
	for (uint32_t some; count; count -= some) {
		some = count < MAP_BATCH ? count : MAP_BATCH;
		int error = map_batch(vspace, first_frame, some, frame_size, address, rights, attributes);
		if (error)
			return error;
		first_frame += (int)some;
		address += some * frame_size;
		sign_pass();
	}
	return 0;
}

void vspace_unmap_range(int first_frame, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		frame_unmap((uint64_t)first_frame + i);
}

static struct {
	int first_frame;
	uint32_t count; /* 0: closed */
} window;

void *window_open(int first_frame, uint32_t count)
{
	if (window.count || count > WINDOW_FRAMES)
		return NULL;
	int error = vspace_map_range(ROOT_SLOT_VSPACE, first_frame, count, SIZE_4K, WINDOW_VADDR,
				     RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
	window.first_frame = first_frame;
	window.count = count;
	if (error) {
		window_close();
		return NULL;
	}
	return (void *)WINDOW_VADDR;
}

void window_close(void)
{
	require(window.count && window.count <= WINDOW_FRAMES);
	vspace_unmap_range(window.first_frame, window.count);
	window.count = 0;
}

void *window_large(int frame, unsigned place)
{
	require(place < 2);
	const uint64_t address = WINDOW_VADDR + (1 + place) * (uint64_t)SIZE_2M; /* behind the other window */
	return vspace_map(ROOT_SLOT_VSPACE, frame, address, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK) ? NULL
	       : (void *)address;
}

void *own_memory(uint64_t size)
{
	static uint64_t next = OWN_VADDR;
	uint32_t count = (uint32_t)((size + SIZE_4K - 1) / SIZE_4K);
	require(size && size <= (uint64_t)UINT32_MAX * SIZE_4K);
	uint64_t address = next;
	uint32_t before = owner_set(OWNER_MANAGER);
	int frames = memory_frames(OBJECT_FRAME_4K, count);
	owner_set(before);
	if (frames < 0)
		return NULL;
	next += (uint64_t)count * SIZE_4K;
	if (vspace_map_range(ROOT_SLOT_VSPACE, frames, count, SIZE_4K, address, RIGHT_READ | RIGHT_WRITE,
			     CACHE_WRITE_BACK))
		return NULL;
	return (void *)address;
}

int slots_copy(int first, uint32_t count)
{
	int copy = slots_take(count);
	for (uint32_t done = 0, some; copy >= 0 && done < count; done += some) {
		some = count - done < RANGE_COUNT_MAX ? count - done : RANGE_COUNT_MAX;
		int error = cnode_copy_range(IPC, ROOT_SLOT_CNODE, (uint64_t)copy + done, (uint64_t)first + done, some,
		                             RIGHT_ALL);
		if (error)
			return error;
	}
	return copy;
}
