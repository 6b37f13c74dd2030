/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of what is in frames, which may be mapped elsewhere meanwhile, into frames that are mapped nowhere. */
#pragma once

#include <stdint.h>

/* Copies `count` frames of 4 KiB, both in consecutive slots. Returns 0 or an error. */
int frames_copy(int to, int from, uint32_t count);
/* Copies a frame of 2 MiB. Returns 0 or an error. */
int frame_copy_large(int to, int from);
