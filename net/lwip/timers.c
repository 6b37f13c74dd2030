/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's timers, in place of its timeouts.c (LWIP_TIMERS_CUSTOM in opt.h). That allocates memory for each period of
 * each timer; a timer for which there was none never ran again, and without TCP's nothing is sent again. These need no
 * memory. When they are due is as in lwIP.
 */
#include <stdbool.h>
#include <lwip/etharp.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>

enum { TCP_TIMER /* runs while there are connections */, ARP_TIMER, TIMERS };
_Static_assert(!IP_REASSEMBLY && !LWIP_DHCP && !LWIP_AUTOIP && !LWIP_IGMP && !LWIP_DNS && !LWIP_IPV6,
	       "lwipopts.h: this part of lwIP has a timer that is not here");

static struct {
	void (*const handler)(void);
	const u32_t period; /* ms */
	u32_t due;          /* of sys_now() */
	bool runs;
} timer[TIMERS] = {
	[TCP_TIMER] = { .handler = tcp_tmr, .period = TCP_TMR_INTERVAL },
	[ARP_TIMER] = { .handler = etharp_tmr, .period = ARP_TMR_INTERVAL },
};

static bool is_before(u32_t a, u32_t b) { return a - b > INT32_MAX; }
static bool has_connections(void) { return tcp_active_pcbs || tcp_tw_pcbs; }

static void timer_start(int number)
{
	timer[number].due = sys_now() + timer[number].period;
	timer[number].runs = true;
}

void sys_timeouts_init(void) { timer_start(ARP_TIMER); }

void tcp_timer_needed(void)
{
	if (!timer[TCP_TIMER].runs && has_connections())
		timer_start(TCP_TIMER);
}

/* The timer that is due first; TIMERS: none runs. */
static int timer_first(void)
{
	int soonest = TIMERS;

	for (int i = 0; i < TIMERS; i++)
		if (timer[i].runs && (soonest == TIMERS || is_before(timer[i].due, timer[soonest].due)))
			soonest = i;
	return soonest;
}

static void timer_run(int number)
{
	const u32_t next = timer[number].due + timer[number].period;

	timer[number].handler();
	if (number == TCP_TIMER) {
		timer_start(number);
		timer[number].runs = has_connections();
	} else if (is_before(next, sys_now())) { /* periods were missed */
		timer_start(number);
	} else {
		timer[number].due = next;
	}
}

void sys_check_timeouts(void)
{
	const u32_t now = sys_now();

	for (int i; (i = timer_first()) < TIMERS && !is_before(now, timer[i].due);)
		timer_run(i);
}

u32_t sys_timeouts_sleeptime(void)
{
	const int i = timer_first();
	const u32_t now = sys_now();

	if (i == TIMERS)
		return SYS_TIMEOUTS_SLEEPTIME_INFINITE;
	return is_before(timer[i].due, now) ? 0 : timer[i].due - now;
}
