/* SPDX-License-Identifier: BSD-2-Clause */
/* What the switch and the drivers read of Ethernet, ARP and IP headers, at byte offsets of the frame. */
#pragma once

#include <stdint.h>

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
/* Four bytes as they lie in memory: network byte order stays network byte order. */
static inline uint32_t load_raw32(const uint8_t *p)
{
	uint32_t value;

	__builtin_memcpy(&value, p, sizeof(value));
	return value;
}

/* A MAC address as a number, for comparing. */
static inline uint64_t mac_number(const uint8_t *p)
{
	uint16_t high;

	__builtin_memcpy(&high, p + 4, sizeof(high));
	return load_raw32(p) | (uint64_t)high << 32;
}
static inline int mac_is_group(uint64_t mac) { return mac & 1; }
