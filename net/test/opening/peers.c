/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <string.h>
#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/timeouts.h>
#include "../../lwip/connections.h"
#include "../../lwip/interface.h"
#include "../../lwip/memory.h"
#include "../../lwip/recovery.h"
#include "../../lwip/share.h"
#include "../test.h"
#include "peers.h"

static struct netif netif;
uint32_t now = 1000;
unsigned allocations, memory = ~0u;
struct answer answer;
static uint32_t random_state = 1;
void (*on_output)(struct pbuf *packet);
static bool quits; /* the program closes at once what it accepts */

/* --- what lwIP asks for --- */

u32_t sys_now(void) { return now; }
uint64_t clock_cycles(void) { return (uint64_t)now << RECOVERY_UNIT_SHIFT; } /* a stamp counts a millisecond */
uint64_t clock_cycles_per_second(void) { return 1000ull << RECOVERY_UNIT_SHIFT; }

uint32_t net_random(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 8 | random_state << 24;
}

void *net_allocate(size_t size) { allocations++; return malloc(size); }
void *net_allocate_zeroed(size_t count, size_t size) { allocations++; return calloc(count, size); }
void net_free(void *block) { allocations -= block != NULL; free(block); }
void *interface_loan(struct pbuf *packet, uint32_t ipv4) { (void)ipv4; return packet->payload; }
bool net_memory_has(size_t size) { return size && allocations < memory; }
bool net_memory_layer_has(size_t size) { return size; }
size_t net_memory_sent(void) { return 0; }

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
	if (on_output)
		on_output(packet);
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

struct tcp_pcb *start_lwip(void)
{
	const ip4_addr_t address = { lwip_htonl(ADDRESS) }, mask = { lwip_htonl(0xff000000) };
	struct tcp_pcb *pcb;

	lwip_init();
	recovery_time(clock_cycles());
	connections_start();
	netif_add(&netif, &address, &mask, NULL, NULL, set_up, ip_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	pcb = tcp_new();
	tcp_bind(pcb, IP_ADDR_ANY, PORT);
	return pcb;
}

struct tcp_pcb *start(bool shares)
{
	struct tcp_pcb *pcb = start_lwip();

	share_start(STACK_MEMORY);
	pcb = tcp_listen_with_backlog(pcb, 255);
	tcp_accept(pcb, accepted);
	if (shares)
		share_listen(pcb);
	connections_listen(pcb);
	return pcb;
}

void run_timers(void)
{
	recovery_time(clock_cycles());
	if (clock_cycles() >= recovery_clock.due) {
		recovery_clock.due = UINT64_MAX;
		if (connections_tick())
			recovery_start();
	}
	connections_before_timers();
	sys_check_timeouts();
}

void pass(unsigned milliseconds)
{
	for (unsigned i = 0; i < milliseconds; i += 50) {
		now += 50;
		run_timers();
	}
}

/* --- peers --- */

struct peer peer_of(unsigned number)
{
	return (struct peer){ .address = PEERS + number / 1000, .port = (uint16_t)(1024 + number % 1000), .to = PORT,
	                      .sent = number * 1000003 };
}

struct peer *make_peer(struct peer *peer, unsigned number)
{
	*peer = peer_of(number);
	return peer;
}

struct pbuf *make_segment(const struct peer *peer, uint32_t sequence, unsigned flags, unsigned data,
                          const uint8_t *options, unsigned size)
{
	struct pbuf *packet = pbuf_alloc(PBUF_RAW, (u16_t)(PACKET + size + data), PBUF_RAM);
	struct ip_hdr *ip = packet->payload;
	struct tcp_hdr *tcp = (struct tcp_hdr *)((char *)packet->payload + IP_HLEN);

	memset(packet->payload, 0, PACKET + size + data);
	if (size)
		memcpy(tcp + 1, options, size);
	IPH_VHL_SET(ip, 4, IP_HLEN / 4);
	IPH_LEN_SET(ip, lwip_htons((u16_t)(PACKET + size + data)));
	IPH_TTL_SET(ip, 64);
	IPH_PROTO_SET(ip, IP_PROTO_TCP);
	ip->src.addr = lwip_htonl(peer->address);
	ip->dest.addr = lwip_htonl(ADDRESS);
	tcp->src = lwip_htons(peer->port);
	tcp->dest = lwip_htons(peer->to);
	tcp->seqno = lwip_htonl(sequence);
	tcp->ackno = lwip_htonl(flags & TCP_ACK ? peer->received : 0);
	tcp->wnd = lwip_htons(PEER_WINDOW);
	TCPH_HDRLEN_FLAGS_SET(tcp, (TCP_HLEN + size) / 4, flags);
	return packet;
}

void give(struct pbuf *packet)
{
	answer.count = answer.flags = 0;
	if (ip_input(packet, &netif) != ERR_OK)
		pbuf_free(packet);
	connections_sent_rest();
}

void send_segment(const struct peer *peer, uint32_t sequence, unsigned flags, unsigned data)
{
	give(make_segment(peer, sequence, flags, data, NULL, 0));
}

bool is_answered(const struct peer *peer, unsigned flags)
{
	return answer.count == 1 && answer.flags == flags && answer.to == peer->address && answer.to_port == peer->port;
}

/* Returns whether it was answered. The initial sequence number is answer.sequence. */
bool send_syn(struct peer *peer) { return send_syn_with(peer, NULL, 0); }

bool send_syn_with(struct peer *peer, const uint8_t *options, unsigned size)
{
	give(make_segment(peer, peer->sent, TCP_SYN, 0, options, size));
	if (!is_answered(peer, TCP_SYN | TCP_ACK) || answer.acknowledged != peer->sent + 1)
		return false;
	peer->received = answer.sequence + 1;
	peer->sent++;
	return true;
}

/* Returns whether the program answers: the connection is open. */
bool is_open(struct peer *peer)
{
	send_segment(peer, peer->sent, TCP_ACK | TCP_PSH, 1);
	if (answer.flags & TCP_RST || !answer.count)
		return false;
	CHECK(is_answered(peer, TCP_ACK | TCP_PSH) && answer.acknowledged == ++peer->sent);
	peer->received++;
	return true;
}

bool handshake(struct peer *peer)
{
	if (!send_syn(peer))
		return false;
	send_segment(peer, peer->sent, TCP_ACK, 0);
	return !answer.count;
}

unsigned count_in(enum tcp_state state)
{
	unsigned count = 0;

	for (const struct tcp_pcb *pcb = state == TIME_WAIT ? tcp_tw_pcbs : tcp_active_pcbs; pcb; pcb = pcb->next)
		count += pcb->state == state;
	return count;
}

/* The program closes first and is in TIME_WAIT afterwards. `data`: it sends much at once before, in no time. */
void close_by_program(struct peer *peer, bool data)
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
