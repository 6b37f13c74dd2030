/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

enum { WINDOW_FRAMES = 512 };

/* Maps a frame, making the page tables that are missing on the way. */
int vspace_map(int vspace, int frame, uint64_t address, unsigned rights, unsigned attributes);

/* Maps `count` frames of `frame_size` bytes from consecutive slots, one after another. */
int vspace_map_range(int vspace, int first_frame, uint32_t count, uint64_t frame_size, uint64_t address,
		     unsigned rights, unsigned attributes);

/*
 * Up to WINDOW_FRAMES 4 KiB frames, not mapped elsewhere, side by side in the
 * manager's own memory until window_close(). Null when they cannot be mapped.
 * There is one window.
 */
void *window_open(int first_frame, uint32_t count);
void window_close(int first_frame, uint32_t count);

/* Zeroed memory of the manager's own, for good; null when there is none. */
void *own_memory(uint64_t size);

/* Copies `count` capabilities from consecutive slots; first of the copies or an error. */
int slots_copy(int first, uint32_t count);
