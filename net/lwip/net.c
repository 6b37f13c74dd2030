/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket layer's clockwork: what the POSIX layer calls before it sleeps
 * and when it wakes (skerry/posix.h).
 *
 * What programs write is sent when they next look at a socket that has nothing
 * for them, or sleep: several writes become one segment, an answer carries the
 * acknowledgement of its request, and the switch is woken once for all.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include <skerry/process.h>
#include "interface.h"
#include "socket.h"

static bool started;

u32_t sys_now(void) { return (u32_t)clock_milliseconds(); }

uint32_t net_random(void)
{
	uint32_t number;

	random_bytes(&number, sizeof(number));
	return number;
}

_Noreturn void net_assertion(const char *text, const char *file, int line)
{
	console_log("lwIP: %s (%s:%d)\n", text, file, line);
	__builtin_trap();
}

static int start(void)
{
	const struct process_info *info = process_info();

	if (started)
		return 0;
	if (!info || !info->network.present)
		return -ENETDOWN;
	lwip_init();
	interface_start(&info->network);
	started = true;
	return 0;
}

int socket_create(int domain, int type, int protocol, struct file **out)
{
	struct socket *socket;
	int error;

	if (domain != AF_INET)
		return -EAFNOSUPPORT;
	if (type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol && protocol != IPPROTO_TCP)
		return -EPROTONOSUPPORT;
	error = start();
	if (error)
		return error;
	socket = socket_new();
	if (!socket)
		return -ENOBUFS;
	*out = &socket->file;
	return 0;
}

/* A connection to oneself goes through any interface, whichever has the address. */
static void poll_loopback(void)
{
	struct netif *netif;

	NETIF_FOREACH(netif)
		if (netif->loop_first)
			netif_poll(netif);
}

bool net_poll(void)
{
	if (!started)
		return false;
	socket_readiness_changed = false;
	sys_check_timeouts();
	interface_receive();
	stream_flush();
	poll_loopback();
	interface_flush();
	return socket_readiness_changed;
}

uint64_t net_deadline(void)
{
	u32_t milliseconds = started ? sys_timeouts_sleeptime() : SYS_TIMEOUTS_SLEEPTIME_INFINITE;

	if (milliseconds == SYS_TIMEOUTS_SLEEPTIME_INFINITE)
		return 0;
	/* one more: the clock in milliseconds rounds down */
	return clock_cycles() + (milliseconds + 1ull) * (clock_cycles_per_second() / 1000);
}

bool net_prepare_sleep(void)
{
	struct netif *netif;

	if (!started)
		return true;
	NETIF_FOREACH(netif)
		if (netif->loop_first)
			return false;
	return interface_arm();
}
