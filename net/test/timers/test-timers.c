/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's timers (net/lwip/timers.c), with handlers that count, and a clock that wraps. There is no memory here at
 * all. */
#include <lwip/etharp.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include "../test.h"

enum { TCP_PERIOD = 250, ARP_PERIOD = 1000 };

struct tcp_pcb *tcp_active_pcbs, *tcp_tw_pcbs;
static struct tcp_pcb connection;
static u32_t now;
static unsigned tcp, arp;
static unsigned tcp_takes, arp_takes; /* ms */
static void (*meanwhile)(void);       /* what happens to connections while TCP's timer runs */

u32_t sys_now(void) { return now; }

static void count(unsigned *timer)
{
	++*timer;
	CHECK(tcp + arp < 20); /* in sys_check_timeouts(), too, it ends */
}

void tcp_tmr(void)
{
	count(&tcp);
	now += tcp_takes;
	if (meanwhile)
		meanwhile();
	tcp_timer_needed(); /* as for each new connection */
}

void etharp_tmr(void)
{
	count(&arp);
	now += arp_takes;
}

static void begin(u32_t milliseconds) /* before the clock wraps */
{
	now = -milliseconds;
	sys_timeouts_init();
}

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

static void before_the_start(void)
{
	CHECK(sys_timeouts_sleeptime() == SYS_TIMEOUTS_SLEEPTIME_INFINITE);
	sys_check_timeouts();
	expect(0, 0);
}

static void without_connections(void)
{
	begin(1500);
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD);
	tcp_timer_needed();
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD);
	pass(2001);
	expect(0, 2);
}

static void with_connections(struct tcp_pcb **list)
{
	begin(300); /* TCP's timer is due before the clock wraps, and ARP's behind it */
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

static void end_connection(void) { tcp_active_pcbs = NULL; }

static void replace_connection(void)
{
	end_connection();
	tcp_timer_needed();
	tcp_tw_pcbs = &connection;
}

/* TCP's timer ends the last connection: it does not run again. Where another one begins meanwhile, it does. */
static void within_the_timer(void)
{
	begin(300);
	tcp_active_pcbs = &connection;
	tcp_timer_needed();
	meanwhile = replace_connection;
	pass(TCP_PERIOD + 1);
	expect(1, 0);
	CHECK(sys_timeouts_sleeptime() == TCP_PERIOD - 1);
	tcp_active_pcbs = &connection;
	tcp_tw_pcbs = NULL;
	meanwhile = end_connection;
	pass(TCP_PERIOD);
	expect(1, 0);
	meanwhile = NULL;
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD - 2 * TCP_PERIOD - 1);
}

/* Nobody has looked for a long time, at most half of the clock's: each runs once, and then a period later. */
static void late(u32_t milliseconds)
{
	tcp_active_pcbs = &connection;
	tcp_timer_needed();
	now += sys_timeouts_sleeptime() + milliseconds;
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
	tcp_takes = 5;
	sys_check_timeouts();
	expect(1, 1);
	tcp_takes = 0;
	CHECK(sys_timeouts_sleeptime() == TCP_PERIOD);
	tcp_active_pcbs = NULL;
	pass(TCP_PERIOD + 1);
	expect(1, 0);
	CHECK(sys_timeouts_sleeptime() == ARP_PERIOD - 50 - 5 - TCP_PERIOD - 1);
}

/* ARP's timer is looked at late, and takes its time: so often it runs, and then after so many milliseconds. */
static void expect_late(unsigned milliseconds, unsigned takes, unsigned of_arp, unsigned then)
{
	now += sys_timeouts_sleeptime() + milliseconds;
	arp_takes = takes;
	sys_check_timeouts();
	arp_takes = 0;
	expect(0, of_arp);
	CHECK(sys_timeouts_sleeptime() == then);
}

static void periods(void)
{
	begin(ARP_PERIOD + 100);
	expect_late(49, 0, 1, ARP_PERIOD - 49); /* the clock wraps before the next one */
	expect_late(ARP_PERIOD - 1, 0, 1, 1);
	expect_late(ARP_PERIOD, 0, 2, ARP_PERIOD); /* the next one is due now, not missed */
	expect_late(ARP_PERIOD + 1, 0, 1, ARP_PERIOD);
	expect_late(0, 30, 1, ARP_PERIOD - 30);
	expect_late(0, ARP_PERIOD + 1, 1, ARP_PERIOD);
}

/* Only what was due at the beginning runs. */
static void due_meanwhile(void)
{
	tcp_active_pcbs = &connection;
	tcp_timer_needed();
	now += TCP_PERIOD;
	tcp_takes = ARP_PERIOD;
	sys_check_timeouts();
	tcp_takes = 0;
	expect(1, 0);
	CHECK(!sys_timeouts_sleeptime());
	sys_check_timeouts();
	expect(0, 1);
}

int main(void)
{
	before_the_start();
	without_connections();
	with_connections(&tcp_active_pcbs);
	with_connections(&tcp_tw_pcbs);
	within_the_timer();
	late(10 * ARP_PERIOD);
	late(INT32_MAX);
	drift();
	periods();
	due_meanwhile();
	return 0;
}
