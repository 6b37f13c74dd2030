/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses as programs give them, to and from those that sockets keep. */
#pragma once

#include <skerry/socket_address.h>
#include <sys/socket.h>

/* 0 or a negative errno. */
int address_take(const struct sockaddr *from, socklen_t length, struct socket_address *to);
/* Cut at *length, which then has the true length; nothing where either is null. */
void address_give(const struct socket_address *from, struct sockaddr *to, socklen_t *length);
