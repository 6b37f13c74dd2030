/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a stack sleeps (net/lwip/net.c over timers.c), on a machine that has run for eleven months: when it wakes at
 * the deadline that it has named, a timer runs. Deadlines are in cycles, and the timers count milliseconds of a clock
 * that falls behind these.
 */
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>
#include <skerry/process.h>
#include "../../lwip/connections.h"
#include "../../lwip/interface.h"
#include "../../lwip/memory.h"
#include "../../lwip/recovery.h"
#include "../../lwip/share.h"
#include "../../lwip/socket.h"
#include "../../net.h"
#include "../test.h"

#define HZ 4999998000ull
#define SECOND HZ /* in cycles, as is */
#define MS (HZ / 1000)

struct tcp_pcb *tcp_active_pcbs, *tcp_tw_pcbs;
bool socket_readiness_changed;
static struct tcp_pcb connection;
static const struct process_info info = { .network.present = 1 };
static uint64_t cycles = ((7ull << 32) - 150000) * MS; /* of the milliseconds, lwIP has 32 bits, which wrap soon */
static unsigned tcp, arp;
static bool owned, prepared, forgotten;

uint64_t clock_cycles(void) { return cycles; }
uint64_t clock_cycles_per_second(void) { return HZ; }

uint64_t clock_milliseconds(void) /* as in apps/libc/posix/clock.c: here, 28 ms have been lost */
{
	const uint64_t scale = (1000000000ull << 32) / HZ;

	return (uint64_t)((unsigned __int128)cycles * scale >> 32) / 1000000;
}

const struct process_info *process_info(void) { return &info; }
void random_bytes(void *to, size_t size) { memset(to, 0, size); }
void console_log(const char *format, ...) { (void)format; }

bool net_memory_start(void) { return true; }
void lwip_init(void) { sys_timeouts_init(); }
void connections_start(void) {}
void share_start(size_t memory) { (void)memory; }
void interface_start(const struct process_info *i) { (void)i; }
struct socket *socket_new(void) { return NULL; }
int datagram_open(struct file **out) { return *out ? 0 : -1; }
void interface_receive(void) {}
void stream_flush(void) {}
bool interface_loops(void) { return false; }
void interface_loop(void) {}
void interface_flush(void) {}
bool interface_arm(void) { return true; }

void interface_copy_out(void) { owned = true; }
void connections_before_timers(void) { prepared = owned; }
struct recovery_clock recovery_clock = { .due = UINT64_MAX };
uint64_t stack_timer_at;
static unsigned ticks; /* of loss recovery */
static bool goes_on;
bool connections_tick(void) { ticks++; return goes_on; }
void recovery_start(void) { recovery_clock.due = cycles + 10 * MS; }
void interface_forget_neighbour(void) { forgotten = true; }

void etharp_tmr(void)
{
	arp++;
	forgotten = false; /* once more, as its answers may be others now */
}

void tcp_tmr(void)
{
	CHECK(prepared);
	tcp++;
}

/* Polls at this time; how many timers have run. */
static unsigned poll_at(uint64_t time)
{
	const unsigned before = tcp + arp;

	cycles = time;
	owned = prepared = forgotten = false;
	lwip_backend.poll();
	CHECK(forgotten || tcp + arp == before);
	return tcp + arp - before;
}

/* Asleep until the deadline, again and again; after each, a timer has run. */
static void sleep_until(uint64_t end)
{
	while (cycles < end) {
		const uint64_t deadline = lwip_backend.deadline(), left = sys_timeouts_sleeptime();

		/* lwIP's milliseconds are rounded down */
		CHECK(deadline > cycles && deadline - cycles <= (left + 1) * MS);
		if (left > 1) {
			CHECK(!poll_at(cycles + MS / 3) && !owned); /* woken by something else, which costs little */
			CHECK(lwip_backend.deadline() == deadline);
			CHECK(!poll_at(deadline - 2 * MS));
		}
		CHECK(poll_at(deadline));
	}
}

static void expect(unsigned of_tcp, unsigned of_arp)
{
	CHECK(tcp == of_tcp && arp == of_arp);
	tcp = arp = 0;
}

/* In the cycle in which a millisecond begins: none of it is left when so many have passed. */
static void begin_millisecond(void)
{
	for (const uint64_t before = clock_milliseconds(); clock_milliseconds() == before;)
		cycles++;
	poll_at(cycles);
}

static void connect_to_peer(struct tcp_pcb **list)
{
	lwip_backend.deadline();
	*list = &connection;
	tcp_timer_needed();
	CHECK(lwip_backend.deadline() - cycles <= 251 * MS); /* although the time of ARP's timer was known */
	sleep_until(cycles + 100 * SECOND);
	CHECK(tcp >= 398 && arp >= 99);
	*list = NULL;
	tcp = arp = 0;
	sleep_until(cycles + 10 * SECOND);
	expect(1, 10);
}

/* A program that polls, and never sleeps. */
static void busy(void)
{
	lwip_backend.deadline();
	tcp_active_pcbs = &connection;
	tcp_timer_needed();
	for (unsigned i = 0; i < 251; i++)
		poll_at(cycles + MS);
	CHECK(tcp == 1);
}

/* Connections that begin and end between polls: the time of the next timer is found anew each time. */
static void short_connections(void)
{
	tcp = arp = 0;
	for (unsigned i = 0; i < 20000; i++) {
		tcp_active_pcbs = i % 2 ? NULL : &connection;
		tcp_timer_needed();
		poll_at(cycles + MS / 10);
	}
	CHECK(tcp >= 7 && arp >= 1);
}

/* Ticks of loss recovery: a deadline of their own, as long as they go on. */
static void recover(void)
{
	lwip_backend.deadline();
	recovery_start();
	stack_timer_at = 0;
	goes_on = true;
	for (unsigned i = 1; i <= 5; i++) {
		const uint64_t due = recovery_clock.due;

		CHECK(lwip_backend.deadline() == due);
		poll_at(due - 1);
		CHECK(ticks == i - 1);
		goes_on = i < 5;
		poll_at(due);
		CHECK(ticks == i && recovery_clock.due == (goes_on ? due + 10 * MS : UINT64_MAX));
	}
	CHECK(lwip_backend.deadline() > cycles);
}

int main(void)
{
	CHECK(!lwip_backend.start());
	sleep_until(cycles + 10 * SECOND);
	expect(0, 10);
	connect_to_peer(&tcp_active_pcbs);
	begin_millisecond();
	connect_to_peer(&tcp_tw_pcbs);
	busy();
	short_connections();
	recover();
	return 0;
}
