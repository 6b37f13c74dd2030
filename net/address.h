/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses as programs give them, and as sockets keep them. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

struct socket_address {
	uint32_t ipv4; /* network byte order */
	uint16_t port; /* host byte order */
	uint16_t reserved;
};

/* 0 or a negative errno. */
int address_take(const struct sockaddr *from, socklen_t length, struct socket_address *to);
/* Cut at *length, which then has the true length; nothing where either is null. */
void address_give(const struct socket_address *from, struct sockaddr *to, socklen_t *length);
