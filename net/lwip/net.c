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
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include <skerry/process.h>
#include "../backend.h"
#include "connections.h"
#include "interface.h"
#include "memory.h"
#include "share.h"

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

	if (!info || !info->network.present)
		return -ENETDOWN;
	if (!net_memory_start())
		return -ENOMEM;
	lwip_init();
	connections_start();
	/* a stack process has the whole heap; a program needs its own for other things */
	share_start(info->sockets ? info->heap_size / 8 * 6 : info->heap_size / 8 * 3);
	interface_start(info);
	return 0;
}

static int create(struct file **out)
{
	struct socket *socket = socket_new();

	if (!socket)
		return -ENOBUFS;
	*out = &socket->file;
	return 0;
}

/*
 * lwIP's timers are looked at when the one is due for which a thread slept, and every 250 us: reading the clock in
 * milliseconds at each poll would cost more than most polls.
 */
static uint64_t timers_at;

static void check_timers(void)
{
	const uint64_t now = clock_cycles();

	if (now < timers_at)
		return;
	timers_at = now + clock_cycles_per_second() / 4000;
	sys_check_timeouts();
}

static bool poll(void)
{
	socket_readiness_changed = false;
	check_timers();
	interface_receive();
	stream_flush();
	interface_loop();
	interface_flush();
	return socket_readiness_changed;
}

static uint64_t deadline(void)
{
	u32_t milliseconds = sys_timeouts_sleeptime();

	uint64_t at;

	if (milliseconds == SYS_TIMEOUTS_SLEEPTIME_INFINITE)
		return 0;
	at = clock_milliseconds() + milliseconds + 1; /* the clock rounds down */
	at = at / 1000 * clock_cycles_per_second() + at % 1000 * clock_cycles_per_second() / 1000;
	if (at < timers_at)
		timers_at = at;
	return at;
}

static bool prepare_sleep(void)
{
	struct netif *netif;

	NETIF_FOREACH(netif)
		if (netif->loop_first)
			return false;
	return interface_arm();
}

const struct net_backend lwip_backend = {
	.start = start, .socket = create, .datagram = datagram_open, .poll = poll, .deadline = deadline, .prepare_sleep = prepare_sleep,
};
