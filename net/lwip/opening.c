/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/sys.h>
#include <skerry/require.h>
#include "connections.h"
#include "siphash.h"

enum { ISN_PER_MS = 250 /* RFC 793: one for each 4 us */, ISN_GAP = 65536, PORT_FIRST = 49152 };

static struct {
	uint64_t key[2];
	struct half_open *oldest, *newest;
	unsigned half_open;
	struct {
		uint64_t addresses; /* of the last connection that was replaced */
		uint32_t ports, next;
		bool valid;
	} replaced;
} opening;

static uint64_t random_64(void) { return (uint64_t)LWIP_RAND() << 32 | LWIP_RAND(); }

void opening_start(void)
{
	opening.key[0] = random_64();
	opening.key[1] = random_64();
}

/* --- sequence numbers and ports --- */

static uint64_t both_addresses(uint32_t local, uint32_t remote) { return (uint64_t)remote << 32 | local; }
static uint32_t both_ports(uint16_t local, uint16_t remote) { return (uint32_t)remote << 16 | local; }

uint32_t opening_isn(uint32_t local_ip, uint16_t local_port, uint32_t remote_ip, uint16_t remote_port)
{
	const uint64_t addresses = both_addresses(local_ip, remote_ip);
	const uint32_t ports = both_ports(local_port, remote_port);
	const uint32_t number = (uint32_t)siphash_12(opening.key, addresses, ports) + sys_now() * ISN_PER_MS;

	if (!opening.replaced.valid || opening.replaced.addresses != addresses || opening.replaced.ports != ports)
		return number;
	opening.replaced.valid = false;
	return TCP_SEQ_GT(number, opening.replaced.next) ? number : opening.replaced.next + ISN_GAP;
}

uint16_t opening_port(void) { return (uint16_t)(PORT_FIRST + LWIP_RAND() % (UINT16_MAX - PORT_FIRST + 1)); }

/* --- half-open connections --- */

void opening_put(struct half_open *h, struct tcp_pcb *pcb)
{
	require(pcb->state == SYN_RCVD && !h->pcb);
	tcp_backlog_accepted(pcb);
	*h = (struct half_open){ .pcb = pcb, .older = opening.newest };
	*(h->older ? &h->older->newer : &opening.oldest) = h;
	opening.newest = h;
	if (++opening.half_open > HALF_OPEN_MAX)
		opening_drop(pcb);
}

void opening_remove(struct half_open *h)
{
	if (!h->pcb)
		return;
	require(opening.half_open > 0);
	require(h->older ? h->older->newer == h : opening.oldest == h);
	require(h->newer ? h->newer->older == h : opening.newest == h);
	*(h->older ? &h->older->newer : &opening.oldest) = h->newer;
	*(h->newer ? &h->newer->older : &opening.newest) = h->older;
	h->pcb = NULL;
	opening.half_open--;
	require(!opening.half_open == !opening.oldest);
}

bool opening_drop(const struct tcp_pcb *except)
{
	struct half_open *oldest = opening.oldest;

	while (oldest && oldest->pcb->state != SYN_RCVD) { /* its listener has not said so */
		opening_remove(oldest);
		oldest = opening.oldest;
	}
	if (!oldest || oldest->pcb == except)
		return false;
	tcp_abandon(oldest->pcb, 0); /* calls opening_remove() */
	return true;
}

unsigned opening_count(void) { return opening.half_open; }

/* --- TIME_WAIT --- */

static bool has_listener(const struct tcp_pcb *pcb)
{
	const struct tcp_pcb_listen *listener = tcp_listen_pcbs.listen_pcbs;

	while (listener && (listener->local_port != pcb->local_port ||
			    !(ip_addr_isany(&listener->local_ip) || ip_addr_cmp(&listener->local_ip, &pcb->local_ip))))
		listener = listener->next;
	return listener && listener->accepts_pending < listener->backlog;
}

static void replace_waiting(struct tcp_pcb *pcb, uint32_t sequence)
{
	require(pcb->state == TIME_WAIT);
	if (TCP_SEQ_LT(sequence, pcb->rcv_nxt) || !has_listener(pcb))
		return;
	opening.replaced.addresses = both_addresses(ip_2_ip4(&pcb->local_ip)->addr, ip_2_ip4(&pcb->remote_ip)->addr);
	opening.replaced.ports = both_ports(pcb->local_port, pcb->remote_port);
	opening.replaced.next = pcb->snd_nxt;
	opening.replaced.valid = true;
	tcp_abort(pcb); /* frees it: no reset from TIME_WAIT */
}

/* --- segments that lwIP has not seen yet --- */

/* The TCP header of a packet that nobody has checked; null: it has none in one part, and lwIP looks at none in two. */
static const struct tcp_hdr *header_in(const struct pbuf *packet)
{
	const struct ip_hdr *ip = packet->payload;

	if (packet->len < IP_HLEN || IPH_PROTO(ip) != IP_PROTO_TCP || packet->len < IPH_HL_BYTES(ip) + TCP_HLEN)
		return NULL;
	return (const void *)((const char *)packet->payload + IPH_HL_BYTES(ip));
}

static int drop_packet(struct pbuf *packet)
{
	pbuf_free(packet);
	return 1;
}

/* Half-open connections make room for one more. */
static bool has_room(void) { return connections_room() || (opening_drop(NULL) && connections_room()); }

/* A SYN with an acknowledgement answers one of ours, whose connection connections_add() may have had no memory for. */
int opening_seen(struct pbuf *packet, struct tcp_pcb *waiting)
{
	const struct tcp_hdr *header = header_in(packet);
	const unsigned flags = header ? TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST) : 0;

	require(!waiting || waiting->state == TIME_WAIT);
	if ((flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && !has_room())
		return drop_packet(packet);
	if (waiting && flags == TCP_SYN) {
		replace_waiting(waiting, lwip_ntohl(header->seqno));
	} else if (waiting && flags & TCP_RST && lwip_ntohl(header->seqno) == waiting->rcv_nxt) {
		tcp_abort(waiting);
		return drop_packet(packet);
	}
	return 0;
}
