/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* An end of a TCP connection, as sockets keep it. */
struct socket_address {
	uint32_t ipv4; /* network byte order */
	uint16_t port; /* host byte order */
	uint16_t reserved;
};

/* Returns whether an address, in network byte order, is of 127.0.0.0/8: a program's own, which no other reaches. */
static inline bool ipv4_is_loopback(uint32_t ipv4) { return (ipv4 & 255) == 127; }
