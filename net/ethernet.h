/* SPDX-License-Identifier: BSD-2-Clause */
/* Byte offsets in a frame of the Ethernet, ARP and IP header fields that the switch and the drivers read. */
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

	IP = 14, /* in the frame: the IPv4 header, and its fields */
	IP_LENGTH = IP + 2,
	IP_NUMBER = IP + 4,
	IP_FRAGMENT = IP + 6,
	IP_TTL = IP + 8,
	IP_PROTOCOL = IP + 9,
	IP_CHECKSUM = IP + 10,
	IP_FROM = IP + 12,
	IP_TO = IP + 16,
	IP_HEADER = 20,                /* bytes of one without options */
	IP_FRAGMENT_BITS = 0x3fff,     /* more fragments, and the offset */
	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
};

/* For a value loaded from memory that a device or a peer can write: the compiler keeps it in a register and does not
 * load it again. */
static inline uint32_t loaded_once(uint32_t value)
{
	__asm__("" : "+r"(value));
	return value;
}

static inline uint16_t load_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t load_be32(const uint8_t *p) { return (uint32_t)load_be16(p) << 16 | load_be16(p + 2); }
static inline void store_be16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}
static inline void store_be32(uint8_t *p, uint32_t value)
{
	store_be16(p, (uint16_t)(value >> 16));
	store_be16(p + 2, (uint16_t)value);
}
