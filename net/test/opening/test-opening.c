/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections begin: initial sequence numbers and ports that nobody can predict, SYNs of nobody that lock nobody
 * out, and SYNs for connections in TIME_WAIT.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lwip/priv/tcp_priv.h>
#include "../../lwip/budget.h"
#include "../../lwip/opening.h"
#include "../../lwip/siphash.h"
#include "../test.h"
#include "peers.h"

enum {
	FLOOD = 20000,
	LATE = HALF_OPEN_MAX - 1, /* SYNs between a client's SYN and its acknowledgement */
	TUPLES = 512,
};

/* --- scenarios --- */

/* The hash against the reference implementation's result, and what the numbers of others tell of one's own. */
static void sequence_numbers(void)
{
	const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	uint32_t number[TUPLES], ones = 0, zeros = 0;

	CHECK(siphash_12(key, 0x0706050403020100, 0x0b0a0908) == 0x751e8fbc860ee5fb);
	start(false);
	for (unsigned i = 0; i < TUPLES; i++) {
		struct peer peer = peer_of(i);

		peer.address += i % 3;
		CHECK(send_syn(&peer));
		number[i] = peer.received - 1;
		ones |= number[i];
		zeros |= ~number[i];
	}
	CHECK(ones == UINT32_MAX && zeros == UINT32_MAX);
	for (unsigned i = 2; i < TUPLES; i++)
		CHECK((int32_t)(number[i] - (2 * number[i - 1] - number[i - 2])) / 65536);
	for (unsigned i = 1; i < 4; i++) { /* each part of the four-tuple counts */
		const uint32_t base = opening_isn(1, 2, 3, 4);

		CHECK(base != opening_isn(1 + (i == 1), 2 + (i == 2), 3 + (i == 3), 4) &&
		      base != opening_isn(1, 2, 3, 5));
	}
	const uint32_t before = opening_isn(1, 2, 3, 4);

	now += 1234;
	CHECK(opening_isn(1, 2, 3, 4) - before == 1234 * 250);
	ones = zeros = 0;
	for (unsigned i = 0, last = 0, next = 0; i < TUPLES; i++, last = next) {
		next = opening_port();
		CHECK(next >= 49152 && next - last > 3);
		ones |= next;
		zeros |= ~next;
	}
	CHECK(ones == UINT16_MAX && (zeros & 0x3fff) == 0x3fff);
	opening_start(); /* another life */
	CHECK((int32_t)(opening_isn(1, 2, 3, 4) - before) / 65536 != 1234 * 250 / 65536);
}

/* SYNs of nobody, and clients whose acknowledgement comes late: behind LATE other SYNs. */
static void flood(void)
{
	enum { CLIENTS = 100 };
	struct peer client[CLIENTS], old = peer_of(900000), none;
	unsigned next = 0, sent = 0;

	start(false);
	CHECK(handshake(&old) && is_open(&old) && !opening_count());
	for (unsigned i = 0; i < FLOOD; i++) {
		none = peer_of(i);
		if (i % LATE == 0 && next < CLIENTS)
			CHECK(send_syn(make_peer(&client[next], 800000 + next)) && ++next);
		else
			CHECK(send_syn(&none) && ++sent);
		CHECK(opening_count() <= HALF_OPEN_MAX && count_in(SYN_RCVD) == opening_count());
		if (i % LATE == LATE - 1 && next) {
			send_segment(&client[next - 1], client[next - 1].sent, TCP_ACK, 0);
			CHECK(!answer.count && is_open(&client[next - 1]));
		}
	}
	CHECK(opening_count() == HALF_OPEN_MAX && next == (FLOOD + LATE - 1) / LATE);
	for (unsigned i = 0; i + 1 < next; i++)
		CHECK(is_open(&client[i]));
	CHECK(is_open(&old));
	send_segment(&(struct peer){ peer_of(0).address, peer_of(0).port, peer_of(0).to, 0, 0 }, 1, TCP_ACK, 0);
	CHECK(answer.flags & TCP_RST); /* the first was dropped */
	pass(30000);
	CHECK(!opening_count() && !count_in(SYN_RCVD) && is_open(&old));
}

static void syns_of_nobody(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		struct peer none = peer_of(i);

		CHECK(send_syn(&none));
	}
}

/* Options of SYNs, and what the connection has that is made again. */
static const struct {
	uint8_t bytes[12], size;
	uint16_t mss;
	uint8_t scale; /* 15: none */
} said[] = {
	{ { 0 }, 0, 536, 15 },
	{ { 2, 4, 5, 0xb4 }, 4, 1460, 15 },
	{ { 2, 4, 5, 0xb3 }, 4, 1440, 15 },
	{ { 2, 4, 1, 0, 1, 3, 3, 0 }, 8, 536, 0 },
	{ { 1, 3, 3, 7, 2, 4, 5, 0xa0 }, 8, 1440, 7 },
	{ { 2, 4, 4, 0xc4, 4, 2, 1, 3, 3, 14, 0, 0 }, 12, 1220, 14 },
	{ { 1, 3, 3, 200, 8, 40, 0, 0 }, 8, 536, 14 }, /* an option that is longer than the header */
	{ { 0, 0, 0, 0, 2, 4, 5, 0xb4 }, 8, 536, 15 }, /* behind the end */
};
enum { SAID = sizeof(said) / sizeof(*said) };

/* Clients that acknowledge when their connections were dropped long ago have them all the same, as they asked for
 * them. */
static void slow_clients(void)
{
	enum { CLIENTS = 64 };
	struct peer client[CLIENTS];

	start(false);
	syns_of_nobody(0, 2 * HALF_OPEN_MAX);
	for (unsigned i = 0; i < CLIENTS; i++)
		CHECK(send_syn_with(make_peer(&client[i], 800000 + i), said[i % SAID].bytes, said[i % SAID].size));
	for (unsigned i = 0; i < 4; i++) {
		syns_of_nobody(10000 + i * 3000, 3000);
		now += 8000;
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		const unsigned of = i % SAID;

		send_segment(&client[i], client[i].sent, TCP_ACK, 0);
		CHECK(is_answered(&client[i], TCP_SYN | TCP_ACK) && answer.sequence + 1 == client[i].received);
		CHECK(tcp_active_pcbs->state == ESTABLISHED && tcp_active_pcbs->mss == said[of].mss);
		CHECK(said[of].scale == 15 ? !(tcp_active_pcbs->flags & TF_WND_SCALE) :
					     tcp_active_pcbs->flags & TF_WND_SCALE &&
					     tcp_active_pcbs->snd_scale == said[of].scale);
		CHECK(is_open(&client[i]) && opening_count() <= HALF_OPEN_MAX);
	}
	CHECK(count_in(ESTABLISHED) == CLIENTS);
}

/* Returns whether an acknowledgement of this number is refused, as of no connection. */
static bool is_refused(struct peer peer, uint32_t acknowledged, uint32_t sequence)
{
	peer.received = acknowledged;
	send_segment(&peer, sequence, TCP_ACK, 0);
	return answer.flags & TCP_RST && !count_in(ESTABLISHED);
}

/* A number that is no acknowledgement of a cookie makes no connection; nor does one that is too old, or without a
 * flood. */
static void wrong_cookies(void)
{
	struct tcp_pcb *listener = start(false);
	struct peer before = peer_of(700000), client = peer_of(800000), late = peer_of(800001), other;

	CHECK(send_syn(&before)); /* no cookie, as there was no flood: it is lost */
	syns_of_nobody(50000, HALF_OPEN_MAX / 2 + 1);
	CHECK(send_syn(&client));
	pass(30000);
	/* too late, and nothing was dropped */
	CHECK(!opening_count() && is_refused(client, client.received, client.sent));
	client.sent--;
	syns_of_nobody(0, 2 * HALF_OPEN_MAX);
	CHECK(is_refused(before, before.received, before.sent));
	CHECK(send_syn(&client));
	syns_of_nobody(10000, 2 * HALF_OPEN_MAX);
	for (unsigned bit = 0; bit < 32; bit++) {
		CHECK(is_refused(client, client.received ^ 1u << bit, client.sent));
		CHECK(is_refused(client, client.received, client.sent ^ 1u << bit));
	}
	other = client;
	other.port++;
	CHECK(is_refused(other, client.received, client.sent));
	other = client;
	other.address++;
	CHECK(is_refused(other, client.received, client.sent));
	other = client;
	other.to++;
	CHECK(is_refused(other, client.received, client.sent));
	now += 66000;
	CHECK(is_refused(client, client.received, client.sent)); /* nothing was dropped for so long */
	syns_of_nobody(20000, 2 * HALF_OPEN_MAX);
	CHECK(is_refused(client, client.received, client.sent)); /* too old */
	CHECK(send_syn(&late));
	syns_of_nobody(30000, 2 * HALF_OPEN_MAX);
	tcp_close(listener);
	CHECK(is_refused(late, late.received, late.sent));
}

/* A cookie for which there is no memory is not answered, so that its peer tries again; numbers of own connections are
 * no cookies. */
static void cookies_without_memory(void)
{
	struct peer client = peer_of(800000), open = peer_of(900000), none;

	start(false);
	CHECK(handshake(&open) && is_open(&open));
	none = peer_of(0);
	CHECK(send_syn(&none));
	memory = allocations;
	none = peer_of(1);
	CHECK(send_syn(&none) && send_syn(&client));
	none = peer_of(2);
	CHECK(send_syn(&none) && opening_count() == 1);
	memory = 0;
	send_segment(&none, none.sent, TCP_ACK, 0);
	CHECK(!opening_count());
	send_segment(&client, client.sent, TCP_ACK, 0);
	CHECK(!answer.count && is_open(&open));
	memory = ~0u;
	send_segment(&client, client.sent, TCP_ACK, 0);
	CHECK(is_open(&client) && is_open(&open));
}

/* Without memory for one more connection a half-open one makes room; without half-open ones the SYN is dropped. */
static void flood_without_memory(void)
{
	struct peer open[4], none, one_more = peer_of(800000), last = peer_of(900000);

	start(false);
	for (unsigned i = 0; i < 4; i++)
		CHECK(handshake(make_peer(&open[i], 1000 + i)));
	none = peer_of(0);
	CHECK(send_syn(&none));
	none = peer_of(1);
	CHECK(send_syn(&none));
	memory = allocations;
	for (unsigned i = 2; i < 100; i++) {
		none = peer_of(i);
		CHECK(send_syn(&none) && opening_count() == 2);
	}
	send_segment(&none, none.sent, TCP_ACK, 0);
	memory = allocations;
	CHECK(opening_count() == 1 && send_syn(&one_more) && opening_count() == 1);
	send_segment(&one_more, one_more.sent, TCP_ACK, 0);
	memory = allocations;
	CHECK(!opening_count() && !send_syn(&last) && !answer.count);
	for (unsigned i = 0; i < 4; i++)
		CHECK(is_open(&open[i]));
	CHECK(is_open(&none) && is_open(&one_more));
	memory = ~0u;
	CHECK(send_syn(&last));
}

/* Half-open connections take no place that a client could have. */
static void flood_of_places(void)
{
	const unsigned places = budget_of(STACK_MEMORY).connections_max;
	struct peer client[200], none, one_more = peer_of(700000);

	start(true);
	for (unsigned i = 0; i < places / 2; i++)
		CHECK(handshake(make_peer(&client[i], 800000 + i)));
	for (unsigned i = 0; i < 4; i++)
		close_by_program(make_peer(&client[places / 2], 600000 + i), false);
	for (unsigned i = 0; i < 1000; i++) {
		none = peer_of(i);
		CHECK(send_syn(&none) && count_in(SYN_RCVD) + count_in(ESTABLISHED) + count_in(TIME_WAIT) <= places);
	}
	CHECK(count_in(TIME_WAIT) == 4);
	for (unsigned i = places / 2; i < places; i++) { /* these drive away those in TIME_WAIT, too */
		none = peer_of(1000 + i);
		CHECK(handshake(make_peer(&client[i], 800000 + i)));
		CHECK(i + 1 == places || send_syn(&none));
	}
	for (unsigned i = 0; i < places; i++)
		CHECK(is_open(&client[i]));
	CHECK(!count_in(TIME_WAIT) && !opening_count());
	send_segment(&one_more, 1, TCP_SYN, 0);
	CHECK(answer.flags & TCP_RST && !opening_count());
	for (unsigned i = 0; i < places; i++)
		CHECK(is_open(&client[i]));
}

/* A new SYN for a connection in TIME_WAIT is answered at once, beyond the old numbers. */
static void time_wait_among(bool in_flood)
{
	static const unsigned gap[] = { 0, 1, 4711, PEER_WINDOW, 300000, 0x7fffffff };

	start(false);
	if (in_flood)
		syns_of_nobody(500000, 2 * HALF_OPEN_MAX);
	for (unsigned i = 0; i < 2 * sizeof(gap) / sizeof(*gap); i++) {
		struct peer peer = peer_of(i);
		uint32_t last;

		close_by_program(&peer, i % 2);
		last = peer.received;
		peer.sent += gap[i / 2];
		CHECK(send_syn(&peer) && (int32_t)(answer.sequence - last) >= 0 && !tcp_tw_pcbs);
		send_segment(&peer, peer.sent, TCP_ACK, 0);
		CHECK(is_open(&peer));
		pass(50);
	}
}

static void time_wait(void) { time_wait_among(false); }
static void time_wait_in_flood(void) { time_wait_among(true); }

/* A segment that does not open a new connection leaves the old one alone. */
static void time_wait_stays(void)
{
	struct tcp_pcb *listener = start(false);
	struct peer peer = peer_of(0), other;

	close_by_program(&peer, false);
	for (unsigned flags = 0; flags < 0x40; flags++)
		if (flags != TCP_SYN && (flags & (TCP_SYN | TCP_ACK | TCP_RST)) != TCP_SYN)
			for (int i = -1; i < 2; i++)
				if (i || !(flags & TCP_RST))
					send_segment(&peer, peer.sent + (uint32_t)i, flags, 0);
	CHECK(count_in(TIME_WAIT) == 1);
	send_segment(&peer, peer.sent - 1, TCP_SYN, 0); /* older */
	CHECK(is_answered(&peer, TCP_ACK) && answer.acknowledged == peer.sent && count_in(TIME_WAIT) == 1);
	memory = allocations;
	send_segment(&peer, peer.sent, TCP_SYN, 0);
	CHECK(!answer.count && count_in(TIME_WAIT) == 1);
	memory = ~0u;
	other = peer_of(1);
	CHECK(handshake(&other) && is_open(&other) && count_in(TIME_WAIT) == 1);

	send_segment(&peer, answer.acknowledged, TCP_RST, 0); /* no: that was the other's */
	CHECK(count_in(TIME_WAIT) == 1);
	send_segment(&peer, peer.sent, TCP_RST, 0); /* the answer to the acknowledgement */
	CHECK(!answer.count && !count_in(TIME_WAIT));
	peer.sent -= 1000;
	CHECK(handshake(&peer) && is_open(&peer));

	peer = peer_of(2);
	close_by_program(&peer, false);
	tcp_close(listener);
	send_segment(&peer, peer.sent + 1, TCP_SYN, 0); /* nobody would answer */
	CHECK(count_in(TIME_WAIT) == 1);
}

static void run(void (*scenario)(void), const char *name)
{
	int status;
	const pid_t child = fork(); /* lwIP begins once */

	if (!child) {
		scenario();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("%s: %s\n", name, status ? "failed" : "passed");
	CHECK(!status);
}

int main(void)
{
	run(sequence_numbers, "sequence numbers");
	run(flood, "a flood");
	run(slow_clients, "slow clients");
	run(wrong_cookies, "wrong cookies");
	run(cookies_without_memory, "cookies without memory");
	run(flood_without_memory, "a flood without memory");
	run(flood_of_places, "a flood of places");
	run(time_wait, "TIME_WAIT");
	run(time_wait_in_flood, "TIME_WAIT in a flood");
	run(time_wait_stays, "TIME_WAIT that stays");
	return 0;
}
