/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/channel.h>
#include <skerry/port.h>
#include "channel-memory.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

int channel_to(uint32_t cluster)
{
	for (uint32_t i = 0; i < ROOT->channel_count && i < BOOT_MAX_CHANNELS; i++)
		if (ROOT->channel[i].peer == cluster)
			return (int)i;
	return -1;
}

/* Bytes of each channel's memory, from its start, that are frames already. */
static uint64_t carved[BOOT_MAX_CHANNELS];

/* Makes `count` frames in a row of the memory that is left of channel `index`. */
static int carve_frames(uint32_t index, enum skerry_object type, uint64_t frame_size, uint32_t count)
{
	int first = slots_take(count);
	uint64_t piece_start = 0;
	uint32_t done = 0;
	for (uint32_t i = 0; first >= 0 && done < count && i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_CHANNEL || u->channel != index)
			continue;
		uint64_t piece_end = piece_start + (1ull << u->size_bits);
		while (done < count && carved[index] < piece_end) {
			int error = untyped_retype(IPC, ROOT_SLOT_UNTYPED + i, type, 0, ROOT_SLOT_CNODE,
						   (uint64_t)first + done, 1);
			if (error)
				return error;
			carved[index] += frame_size;
			done++;
		}
		piece_start = piece_end;
	}
	return done == count ? first : -SKERRY_NO_MEMORY;
}

void *channel_memory_map(uint32_t index)
{
	uint64_t address = CHANNEL_VADDR + index * CHANNEL_STRIDE;
	int frame = carve_frames(index, OBJECT_FRAME_2M, SIZE_2M, 1);
	if (frame < 0 || vspace_map(ROOT_SLOT_VSPACE, frame, address, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK))
		return NULL;
	return (void *)address;
}

int channel_memory_port(uint32_t index)
{
	if (ROOT->channel[index].memory.size < carved[index] + PORT_SIZE)
		return -SKERRY_NO_MEMORY;
	return carve_frames(index, OBJECT_FRAME_4K, SIZE_4K, PORT_SIZE / SIZE_4K);
}

_Static_assert(CHANNEL_PORTS == 0x200000, "the first port follows the first frame");
