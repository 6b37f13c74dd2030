/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's timers (net/lwip/timers.c), with handlers that count, and a clock that wraps. There is no memory here at all. */
#include <lwip/etharp.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include "../test.h"

enum { TCP_PERIOD = 250, ARP_PERIOD = 1000 };

struct tcp_pcb *tcp_active_pcbs, *tcp_tw_pcbs;
static struct tcp_pcb connection;
static u32_t now = UINT32_MAX - 1500; /* it wraps soon */
static unsigned tcp, arp;
static unsigned handler_takes; /* ms */

u32_t sys_now(void) { return now; }

void tcp_tmr(void)
{
	tcp++;
	now += handler_takes;
	tcp_timer_needed(); /* as for each new connection */
}

void etharp_tmr(void) { arp++; }

/* A look each millisecond. */
static void pass(unsigned milliseconds)
{
	while (milliseconds--) {
		const u32_t sleep = sys_timeouts_sleeptime();
		const unsigned ran = tcp + arp;

		sys_check_timeouts();
		CHECK((tcp + arp != ran) == !sleep);
		now++;
	}
}

static void expect(unsigned of_tcp, unsigned of_arp)
{
	CHECK(tcp == of_tcp && arp == of_arp);
	tcp = arp = 0;
}

static void without_connections(void)
{
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD);
	tcp_timer_needed();
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD);
	pass(2001);
	expect(0, 2);
}

static void with_connections(struct tcp_pcb **list)
{
	*list = &connection;
	tcp_timer_needed();
	CHECK(sys_timeouts_sleeptime() == TCP_PERIOD);
	pass(1001);
	expect(4, 1);
	pass(100);
	tcp_timer_needed(); /* it runs already */
	pass(150);
	expect(1, 0);
	*list = NULL;
	pass(250);
	expect(1, 0); /* the last one */
	pass(500);
	expect(0, 1);
	pass(1000);
	expect(0, 1);
}

/* Nobody has looked for a long time: each runs once, and then a period later. */
static void late(void)
{
	tcp_active_pcbs = &connection;
	tcp_timer_needed();
	now += 10 * ARP_PERIOD;
	CHECK(!sys_timeouts_sleeptime());
	sys_check_timeouts();
	expect(1, 1);
	CHECK(sys_timeouts_sleeptime() == TCP_PERIOD);
	pass(1001);
	expect(4, 1);
}

/* A timer keeps its period although it is looked at late; TCP's counts from its end. */
static void drift(void)
{
	now += ARP_PERIOD + 49; /* 1 ms has passed since both ran */
	handler_takes = 5;
	sys_check_timeouts();
	expect(1, 1);
	handler_takes = 0;
	CHECK(sys_timeouts_sleeptime() == TCP_PERIOD);
	tcp_active_pcbs = NULL;
	pass(TCP_PERIOD + 1);
	expect(1, 0);
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD - 50 - 5 - TCP_PERIOD - 1);
}

int main(void)
{
	sys_timeouts_init();
	without_connections();
	with_connections(&tcp_active_pcbs);
	with_connections(&tcp_tw_pcbs);
	late();
	drift();
	return 0;
}
