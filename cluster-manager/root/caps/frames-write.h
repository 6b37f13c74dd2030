/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Overwrites `count` frames of 4 KiB in consecutive slots with what is in a frame of 2 MiB, from byte `offset` of it
 * on, or, `small`, in as many frames of 4 KiB in consecutive slots. All of them may be mapped elsewhere. Returns 0 or
 * an error.
 */
int frames_overwrite(int to, uint32_t count, int from, uint64_t offset, bool small);
