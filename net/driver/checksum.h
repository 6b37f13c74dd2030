/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internet checksums (RFC 1071) of whole frames, and what is left of them for a
 * NIC that sums TCP and UDP. Frames that are no IPv4, and what IPv4 carries
 * beside TCP, UDP and ICMP, pass as they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Write the checksums of a frame that leaves. A frame cut short is left alone: its receiver drops it. */
void checksum_make(uint8_t *frame, uint32_t length);

/* A sum that the NIC is to make: of all bytes from `start` on, to be written at `start + field`. start 0: none. */
struct checksum_left {
	uint16_t start, field;
};

/* checksum_make() but for TCP and UDP, of which only the pseudo header is summed: their field holds that. */
struct checksum_left checksum_prepare(uint8_t *frame, uint32_t length);

/*
 * The same of several segments of TCP in one frame of `length` bytes, of which only the headers, without options of
 * IPv4, are at `frame`. Reads and writes these, whatever they say.
 */
struct checksum_left checksum_prepare_segments(uint8_t *frame, uint32_t length);

/* Are the checksums of a frame that came in right? `summed`: the NIC answers for those of TCP and UDP. */
bool checksum_verify(const uint8_t *frame, uint32_t length, bool summed);

/* The one's complement sum of `size` bytes, folded to 16 bits, as it lies in memory. */
uint16_t checksum_sum(const uint8_t *data, uint32_t size, uint64_t start);
