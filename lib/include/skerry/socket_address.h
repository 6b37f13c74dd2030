/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* An end of a TCP connection, as sockets keep it. */
struct socket_address {
	uint32_t ipv4; /* network byte order */
	uint16_t port; /* host byte order */
	uint16_t reserved;
};
