/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include "net.h"

int address_take(const struct sockaddr *from, socklen_t length, struct socket_address *to)
{
	struct sockaddr_in in;

	if (length < sizeof(in) || !from)
		return -EINVAL;
	memcpy(&in, from, sizeof(in));
	if (in.sin_family != AF_INET)
		return -EAFNOSUPPORT;
	*to = (struct socket_address){ .ipv4 = in.sin_addr.s_addr, .port = __builtin_bswap16(in.sin_port) };
	return 0;
}

void address_give(const struct socket_address *from, struct sockaddr *to, socklen_t *length)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (!to || !length)
		return;
	in.sin_addr.s_addr = from->ipv4;
	in.sin_port = __builtin_bswap16(from->port);
	memcpy(to, &in, *length < sizeof(in) ? *length : sizeof(in));
	*length = sizeof(in);
}
