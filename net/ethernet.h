/* SPDX-License-Identifier: BSD-2-Clause */
/* What the switch and the drivers read of Ethernet, ARP and IP headers, at byte offsets of the frame. */
#pragma once

#include <stdint.h>
#include "mac.h"

enum {
	ETHERTYPE_OFFSET = 12,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	ARP_OPERATION_OFFSET = 20,
	ARP_TARGET_IP_OFFSET = 38,
	ARP_FRAME = 42,
	ARP_REQUEST = 1,
};

static inline uint16_t load_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline void store_be16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}
