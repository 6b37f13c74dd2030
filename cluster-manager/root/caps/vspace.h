/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

enum { WINDOW_FRAMES = 512 };

/* Maps a frame and makes the page tables that are missing. Returns 0 or an error. */
int vspace_map(int vspace, int frame, uint64_t address, unsigned rights, unsigned attributes);

/* Maps `count` frames of `frame_size` bytes from consecutive slots, one after another. Returns 0 or an error. */
int vspace_map_range(int vspace, int first_frame, uint32_t count, uint64_t frame_size, uint64_t address,
		     unsigned rights, unsigned attributes);

/* Unmaps those of `count` frames in consecutive slots that are mapped; they can be mapped again. */
void vspace_unmap_range(int first_frame, uint32_t count);

/*
 * Maps up to WINDOW_FRAMES frames of 4 KiB, not mapped elsewhere, side by side
 * into the manager's own memory until window_close(). Returns their address, or
 * null when they cannot be mapped, as while the window, of which there is one, is
 * open.
 */
void *window_open(int first_frame, uint32_t count);
/* Unmaps what window_open() mapped. */
void window_close(void);

/*
 * Maps a frame of 2 MiB, not mapped elsewhere, into the manager's own memory, at one of two places (0 or 1), until it
 * is unmapped. Returns its address, or null.
 */
void *window_large(int frame, unsigned place);

/* Returns zeroed memory of the manager's own, which is never given back; null when there is none. */
void *own_memory(uint64_t size);

/* Copies `count` capabilities from consecutive slots. Returns the first of the copies, or an error. */
int slots_copy(int first, uint32_t count);
