/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the channels: frames are made of its untypeds in ascending
 * order (an untyped without a zeroing kernel behind it can do nothing else),
 * first one of 2 MiB with header and manager rings, then the network ports.
 */
#pragma once

#include <stdint.h>

/* Index of the channel to this cluster, or -1. */
int channel_to(uint32_t cluster);

/* `index` is that of root_info.channel. Maps the first 2 MiB; its address, or null. */
void *channel_memory_map(uint32_t index);

/*
 * The next port's PORT_SIZE / 4 KiB frames, first of consecutive slots, or an
 * error. Port numbers are the order of these calls.
 */
int channel_memory_port(uint32_t index);
