/* SPDX-License-Identifier: BSD-2-Clause */
/* The POSIX layer's seam to the network: the kinds of sockets, and the functions that make them. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <skerry/process.h>
#include "net.h"

static const struct net_backend *net; /* null until the first socket */

/* A stack process has both: the port to the switch, and the sockets of its program. */
static int net_start(void)
{
	const struct process_info *info = process_info();
	const struct net_backend *chosen = info && info->sockets &&
	                                   !info->network.present ? &remote_backend : &lwip_backend;
	int error = net ? 0 : chosen->start();

	if (!error)
		net = chosen;
	return error;
}

int socket_create(int domain, int type, int protocol, struct file **out)
{
	int error;

	if (domain != AF_INET)
		return -EAFNOSUPPORT;
	if (type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP))
		return net_start() || !net->datagram ? datagram_create(out) : net->datagram(out);
	if (type != SOCK_STREAM)
		return type == SOCK_DGRAM ? -EPROTONOSUPPORT : -ESOCKTNOSUPPORT;
	if (protocol && protocol != IPPROTO_TCP)
		return -EPROTONOSUPPORT;
	error = net_start();
	return error ? error : net->socket(out);
}

bool net_poll(void) { return net && net->poll(); }
uint64_t net_deadline(void) { return net ? net->deadline() : 0; }
bool net_prepare_sleep(void) { return !net || net->prepare_sleep(); }
