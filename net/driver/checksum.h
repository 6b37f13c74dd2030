/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internet checksums (RFC 1071) of whole frames, for a NIC that has none to
 * offer. Frames that are no IPv4, and what IPv4 carries beside TCP, UDP and
 * ICMP, pass as they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Write the checksums of a frame that leaves. A frame cut short is left alone: its receiver drops it. */
void checksum_make(uint8_t *frame, uint32_t length);

/* Are the checksums of a frame that came in right? */
bool checksum_verify(const uint8_t *frame, uint32_t length);

/* The one's complement sum of `size` bytes, folded to 16 bits, as it lies in memory. */
uint16_t checksum_sum(const uint8_t *data, uint32_t size, uint64_t start);
