/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections begin: initial sequence numbers that nobody can predict, SYNs of nobody that lock nobody out, and SYNs for
 * connections in TIME_WAIT. lwIP with what stands in front of it; the peers are packets.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/timeouts.h>
#include "../../lwip/budget.h"
#include "../../lwip/connections.h"
#include "../../lwip/interface.h"
#include "../../lwip/memory.h"
#include "../../lwip/share.h"
#include "../../lwip/siphash.h"
#include "../test.h"

enum {
	PORT = 6379, CLOSED_PORT = 80, PACKET = IP_HLEN + TCP_HLEN, WINDOW = 0xffff,
	FLOOD = 20000,
	LATE = HALF_OPEN_MAX - 1, /* SYNs between a client's SYN and its acknowledgement */
	MEMORY = 1 << 20,         /* of share.h: 42 connections */
	TUPLES = 512,
};

static const uint32_t ADDRESS = 0x0a000001, PEERS = 0x0a090000; /* 10.0.0.1, 10.9.0.0 */

struct peer {
	uint32_t address;
	uint16_t port, to;
	uint32_t sent, received; /* the next sequence numbers of both directions */
};

static struct netif netif;
static uint32_t now = 1000, random_state = 1;
static unsigned allocations, memory = ~0u; /* blocks */
static struct {
	unsigned count, flags, to_port;
	uint32_t to, sequence, acknowledged;
} answer; /* the last packet, and the number of all */
static bool quits; /* the program closes at once what it accepts */

/* --- what lwIP asks for --- */

u32_t sys_now(void) { return now; }

uint32_t net_random(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 8 | random_state << 24;
}

void *net_allocate(size_t size) { allocations++; return malloc(size); }
void *net_allocate_zeroed(size_t count, size_t size) { allocations++; return calloc(count, size); }
void net_free(void *block) { allocations -= block != NULL; free(block); }
void *interface_lend(struct pbuf *packet, uint32_t ipv4) { (void)ipv4; return packet->payload; }
bool net_memory_has(size_t size) { return size && allocations < memory; }
bool net_memory_layer_has(size_t size) { return size; }
size_t net_memory_sent(void) { return 0; }

_Noreturn void net_assertion(const char *text, const char *file, int line)
{
	fprintf(stderr, "lwIP: %s (%s:%d)\n", text, file, line);
	abort();
}

/* --- the network, and the program --- */

static err_t output(struct netif *interface, struct pbuf *packet, const ip4_addr_t *to)
{
	const struct tcp_hdr *tcp = (const void *)((const char *)packet->payload + IP_HLEN);

	(void)interface;
	answer.count++;
	answer.to = lwip_ntohl(to->addr);
	answer.to_port = lwip_ntohs(tcp->dest);
	answer.flags = TCPH_FLAGS(tcp);
	answer.sequence = lwip_ntohl(tcp->seqno);
	answer.acknowledged = lwip_ntohl(tcp->ackno);
	return ERR_OK;
}

static err_t set_up(struct netif *interface)
{
	interface->mtu = 1500;
	interface->output = output;
	interface->flags = NETIF_FLAG_LINK_UP;
	return ERR_OK;
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	static char bytes[16384];

	(void)argument, (void)error;
	if (!data)
		return tcp_close(pcb);
	tcp_recved(pcb, data->tot_len);
	CHECK(tcp_write(pcb, bytes, data->tot_len == 1 ? 1 : sizeof(bytes), 0) == ERR_OK);
	pbuf_free(data);
	return ERR_OK;
}

static err_t accepted(void *argument, struct tcp_pcb *pcb, err_t error)
{
	(void)argument;
	CHECK(error == ERR_OK);
	connections_opened(pcb);
	tcp_recv(pcb, received);
	if (quits)
		pcb->rcv_wnd = TCP_WND_MAX(pcb); /* as share_window_end() */
	return quits ? tcp_close(pcb) : ERR_OK;
}

static struct tcp_pcb *start(bool shares)
{
	const ip4_addr_t address = { lwip_htonl(ADDRESS) }, mask = { lwip_htonl(0xff000000) };
	struct tcp_pcb *pcb;

	lwip_init();
	connections_start();
	share_start(MEMORY);
	netif_add(&netif, &address, &mask, NULL, NULL, set_up, ip_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	pcb = tcp_new();
	tcp_bind(pcb, IP_ADDR_ANY, PORT);
	pcb = tcp_listen_with_backlog(pcb, 255);
	tcp_accept(pcb, accepted);
	if (shares)
		share_listen(pcb);
	connections_listen(pcb);
	return pcb;
}

static void pass(unsigned milliseconds)
{
	for (unsigned i = 0; i < milliseconds; i += 50) {
		now += 50;
		connections_before_timers();
		sys_check_timeouts();
	}
}

/* --- peers --- */

static struct peer peer_of(unsigned number)
{
	return (struct peer){ .address = PEERS + number / 1000, .port = (uint16_t)(1024 + number % 1000), .to = PORT, .sent = number * 1000003 };
}

static struct peer *make_peer(struct peer *peer, unsigned number)
{
	*peer = peer_of(number);
	return peer;
}

static void send_segment(const struct peer *peer, uint32_t sequence, unsigned flags, unsigned data)
{
	struct pbuf *packet = pbuf_alloc(PBUF_RAW, (u16_t)(PACKET + data), PBUF_RAM);
	struct ip_hdr *ip = packet->payload;
	struct tcp_hdr *tcp = (struct tcp_hdr *)((char *)packet->payload + IP_HLEN);

	memset(packet->payload, 0, PACKET + data);
	IPH_VHL_SET(ip, 4, IP_HLEN / 4);
	IPH_LEN_SET(ip, lwip_htons((u16_t)(PACKET + data)));
	IPH_TTL_SET(ip, 64);
	IPH_PROTO_SET(ip, IP_PROTO_TCP);
	ip->src.addr = lwip_htonl(peer->address);
	ip->dest.addr = lwip_htonl(ADDRESS);
	tcp->src = lwip_htons(peer->port);
	tcp->dest = lwip_htons(peer->to);
	tcp->seqno = lwip_htonl(sequence);
	tcp->ackno = lwip_htonl(flags & TCP_ACK ? peer->received : 0);
	tcp->wnd = lwip_htons(WINDOW);
	TCPH_HDRLEN_FLAGS_SET(tcp, TCP_HLEN / 4, flags);
	answer.count = answer.flags = 0;
	if (ip_input(packet, &netif) != ERR_OK)
		pbuf_free(packet);
}

static bool is_answered(const struct peer *peer, unsigned flags)
{
	return answer.count == 1 && answer.flags == flags && answer.to == peer->address && answer.to_port == peer->port;
}

/* Returns whether it was answered. The initial sequence number is answer.sequence. */
static bool send_syn(struct peer *peer)
{
	send_segment(peer, peer->sent, TCP_SYN, 0);
	if (!is_answered(peer, TCP_SYN | TCP_ACK) || answer.acknowledged != peer->sent + 1)
		return false;
	peer->received = answer.sequence + 1;
	peer->sent++;
	return true;
}

/* Returns whether the program answers: the connection is open. */
static bool is_open(struct peer *peer)
{
	send_segment(peer, peer->sent, TCP_ACK | TCP_PSH, 1);
	if (answer.flags & TCP_RST || !answer.count)
		return false;
	CHECK(is_answered(peer, TCP_ACK | TCP_PSH) && answer.acknowledged == ++peer->sent);
	peer->received++;
	return true;
}

static bool handshake(struct peer *peer)
{
	if (!send_syn(peer))
		return false;
	send_segment(peer, peer->sent, TCP_ACK, 0);
	return !answer.count;
}

static unsigned count_in(enum tcp_state state)
{
	unsigned count = 0;

	for (const struct tcp_pcb *pcb = state == TIME_WAIT ? tcp_tw_pcbs : tcp_active_pcbs; pcb; pcb = pcb->next)
		count += pcb->state == state;
	return count;
}

/* The program closes first and is in TIME_WAIT afterwards. `data`: it sends much at once before, in no time. */
static void close_by_program(struct peer *peer, bool data)
{
	quits = !data;
	CHECK(send_syn(peer));
	send_segment(peer, peer->sent, TCP_ACK, 0);
	if (data) {
		for (unsigned i = 0; i < 40; i++) {
			send_segment(peer, peer->sent, TCP_ACK | TCP_PSH, 2);
			peer->sent += 2;
			for (unsigned k = 0; k < 20; k++) {
				peer->received = tcp_active_pcbs->snd_nxt;
				send_segment(peer, peer->sent, TCP_ACK, 0);
			}
		}
		CHECK(tcp_close(tcp_active_pcbs) == ERR_OK);
		peer->received = tcp_active_pcbs->snd_nxt - 1;
	}
	quits = false;
	peer->received++;
	send_segment(peer, peer->sent, TCP_ACK | TCP_FIN, 0);
	peer->sent++;
	CHECK(is_answered(peer, TCP_ACK) && answer.acknowledged == peer->sent);
	CHECK(tcp_tw_pcbs && tcp_tw_pcbs->rcv_nxt == peer->sent && tcp_tw_pcbs->snd_nxt == peer->received);
}

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

		CHECK(base != opening_isn(1 + (i == 1), 2 + (i == 2), 3 + (i == 3), 4) && base != opening_isn(1, 2, 3, 5));
	}
	const uint32_t before = opening_isn(1, 2, 3, 4);

	now += 1234;
	CHECK(opening_isn(1, 2, 3, 4) - before == 1234 * 250);
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
	send_segment(&(struct peer){ peer_of(0).address, peer_of(0).port, PORT, 0, 0 }, 1, TCP_ACK, 0);
	CHECK(answer.flags & TCP_RST); /* the first was dropped */
	pass(30000);
	CHECK(!opening_count() && !count_in(SYN_RCVD) && is_open(&old));
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
	const unsigned places = budget_of(MEMORY).connections_max;
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
static void time_wait(void)
{
	static const unsigned gap[] = { 0, 1, 4711, WINDOW, 300000, 0x7fffffff };

	start(false);
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

/* What does not open a new connection leaves the old one alone. */
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
	run(flood_without_memory, "a flood without memory");
	run(flood_of_places, "a flood of places");
	run(time_wait, "TIME_WAIT");
	run(time_wait_stays, "TIME_WAIT that stays");
	return 0;
}
