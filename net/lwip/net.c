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
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include <skerry/process.h>
#include "../net.h"
#include "connections.h"
#include "interface.h"
#include "memory.h"
#include "recovery.h"
#include "share.h"

static int backend_start(void)
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

static int backend_socket(struct file **out)
{
	struct socket *socket = socket_new();

	if (!socket)
		return -ENOBUFS;
	*out = &socket->file;
	return 0;
}

static const uint64_t NEVER = UINT64_MAX;

/*
 * When lwIP's next timer is due, in cycles. lwIP counts milliseconds, which would cost more to read at each poll than
 * most polls do. The time stays valid until timers have run, or until the first connection, when lwIP starts one more
 * timer, TCP's. It counts from now, not from the machine's start: clock.c rounds its factor down, so its milliseconds
 * fall behind the cycles, and lwIP would not find its timer due. 0: not known.
 */
static bool timer_connections; /* there were some when it was found */

static bool has_connections(void) { return tcp_active_pcbs || tcp_tw_pcbs; }

/* Reads lwIP's next timer. A timer that is already due is due now: computed relative to the present time, it would be
 * postponed each time that a connection comes or goes. */
static void find_timer(void)
{
	const uint64_t milliseconds = sys_timeouts_sleeptime();

	timer_connections = has_connections();
	stack_timer_at = milliseconds == SYS_TIMEOUTS_SLEEPTIME_INFINITE
			   ? NEVER
			   : clock_cycles() + (milliseconds ? milliseconds + 1
			                       : 0) * clock_cycles_per_second() / 1000; /* the clock rounds down */
	if (stack_timer_at > recovery_clock.due)
		stack_timer_at = recovery_clock.due;
}

static bool is_known(void) { return stack_timer_at && timer_connections == has_connections(); }

static void run_timers(uint64_t now)
{
	stack_timer_at = 0;
	if (now >= recovery_clock.due) {
		recovery_clock.due = UINT64_MAX;
		if (connections_tick())
			recovery_start();
	}
	if (sys_timeouts_sleeptime())
		return;
	interface_copy_out();
	connections_before_timers();
	sys_check_timeouts();
	interface_forget_neighbour();
}

static void check_timers(void)
{
	const uint64_t now = clock_cycles();

	recovery_time(now);
	if (!is_known())
		find_timer();
	if (now >= stack_timer_at)
		run_timers(now);
}

static bool backend_poll(void)
{
	socket_readiness_changed = false;
	check_timers();
	interface_receive();
	stream_flush();
	if (interface_loops())
		interface_loop();
	interface_flush();
	return socket_readiness_changed;
}

static uint64_t backend_deadline(void)
{
	if (!is_known())
		find_timer();
	return stack_timer_at == NEVER ? 0 : stack_timer_at;
}

static bool prepare_sleep(void)
{
	return !interface_loops() && interface_arm();
}

const struct net_backend lwip_backend = {
	.start = backend_start, .socket = backend_socket, .datagram = datagram_open,
	.poll = backend_poll, .deadline = backend_deadline, .prepare_sleep = prepare_sleep,
};
