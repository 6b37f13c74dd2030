/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in frames, for code that has other names for the rest of their headers (ethernet.h). */
#pragma once

#include <stdint.h>

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
