/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <lwip/ip4.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/sys.h>
#include <skerry/require.h>
#include "connections.h"
#include "siphash.h"

enum { ISN_PER_MS = 250 /* RFC 793: one for each 4 us */, ISN_GAP = 65536, PORT_FIRST = 49152 };

/* a cookie: its low bits encode the SYN's options, the others are a hash */
enum {
	COOKIE_MSS_BITS = 2, COOKIE_BITS = 6, COOKIE_UNSCALED = 15, /* in the bits above those of the MSS */
	COOKIE_SLOT_MS = 32768, /* it is valid in the slot in which it was given, and in the next */
	FLOOD_FROM = HALF_OPEN_MAX / 2,
	SYN_OPTIONS = 8, /* bytes: MSS, and window scale behind a NOP */
};
static const uint16_t cookie_mss[1 << COOKIE_MSS_BITS] = { 536, 1220, 1440, 1460 };

static struct {
	uint64_t key[2], cookie_key[2];
	struct half_open *oldest, *newest;
	unsigned half_open;
	uint32_t dropped_at; /* sys_now() */
	bool has_dropped;
	struct {
		uint64_t addresses; /* of the SYN that lwIP answers next */
		uint32_t ports, number;
		bool valid, again; /* again: the number is one that was given before */
	} cookie;
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
	opening.cookie_key[0] = random_64();
	opening.cookie_key[1] = random_64();
}

/* --- sequence numbers and ports --- */

static uint64_t both_addresses(uint32_t local, uint32_t remote) { return (uint64_t)remote << 32 | local; }
static uint32_t both_ports(uint16_t local, uint16_t remote) { return (uint32_t)remote << 16 | local; }

uint32_t opening_isn(uint32_t local_ip, uint16_t local_port, uint32_t remote_ip, uint16_t remote_port)
{
	const uint64_t addresses = both_addresses(local_ip, remote_ip);
	const uint32_t ports = both_ports(local_port, remote_port);
	const uint32_t number = (uint32_t)siphash_12(opening.key, addresses, ports) + sys_now() * ISN_PER_MS;

	if (opening.cookie.valid && opening.cookie.addresses == addresses && opening.cookie.ports == ports) {
		opening.cookie.valid = false;
		return opening.cookie.number;
	}
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
	opening.dropped_at = sys_now();
	opening.has_dropped = true;
	return true;
}

unsigned opening_count(void) { return opening.half_open; }

/* --- TIME_WAIT --- */

static bool has_listener(const ip_addr_t *ip, uint16_t port)
{
	const struct tcp_pcb_listen *listener = tcp_listen_pcbs.listen_pcbs;

	while (listener && (listener->local_port != port ||
	                    !(ip_addr_isany(&listener->local_ip) || ip_addr_eq(&listener->local_ip, ip))))
		listener = listener->next;
	return listener && listener->accepts_pending < listener->backlog;
}

static void replace_waiting(struct tcp_pcb *pcb, uint32_t sequence)
{
	require(pcb->state == TIME_WAIT);
	if (TCP_SEQ_LT(sequence, pcb->rcv_nxt) || !has_listener(&pcb->local_ip, pcb->local_port))
		return;
	opening.replaced.addresses = both_addresses(ip_2_ip4(&pcb->local_ip)->addr, ip_2_ip4(&pcb->remote_ip)->addr);
	opening.replaced.ports = both_ports(pcb->local_port, pcb->remote_port);
	opening.replaced.next = pcb->snd_nxt;
	opening.replaced.valid = true;
	opening.cookie.valid = false; /* the number of the new connection must lie behind those of the old one */
	tcp_abort(pcb); /* frees it: no reset from TIME_WAIT */
}

/* --- segments that lwIP has not seen yet --- */

/* Returns the TCP header of an unchecked packet; null: it has none in one part, and lwIP handles none in two. */
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

/* --- SYN cookies --- */

static bool drops_lately(void) { return opening.has_dropped && sys_now() - opening.dropped_at < 2 * COOKIE_SLOT_MS; }

static uint64_t addresses_in(const struct pbuf *packet)
{
	const struct ip_hdr *ip = packet->payload;
	return both_addresses(ip->dest.addr, ip->src.addr);
}

static uint32_t ports_in(const struct tcp_hdr *header)
{
	return both_ports(lwip_ntohs(header->dest), lwip_ntohs(header->src));
}

static uint32_t cookie_of(const struct pbuf *packet, const struct tcp_hdr *header, uint32_t initial, uint32_t slot,
                          uint32_t encoded)
{
	uint64_t hash = siphash_12(opening.cookie_key, addresses_in(packet), ports_in(header));

	hash = siphash_12(opening.cookie_key, hash, initial);
	return (uint32_t)siphash_12(opening.cookie_key, hash, slot << COOKIE_BITS | encoded) << COOKIE_BITS | encoded;
}

/* Returns the bits of a cookie for the MSS and the window scale that a SYN asks for; its header is as long as it says
 * in this packet. */
static uint32_t said_by(const struct tcp_hdr *header)
{
	const uint8_t *option = (const uint8_t *)(header + 1),
	              *end = (const uint8_t *)header + TCPH_HDRLEN_BYTES(header);
	uint32_t mss = cookie_mss[0], scale = COOKIE_UNSCALED, index = 0;

	while (option < end && *option != LWIP_TCP_OPT_EOL) {
		if (*option == LWIP_TCP_OPT_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option)
			break;
		if (*option == LWIP_TCP_OPT_MSS && option[1] == LWIP_TCP_OPT_LEN_MSS)
			mss = (uint32_t)option[2] << 8 | option[3];
		else if (*option == LWIP_TCP_OPT_WS && option[1] == LWIP_TCP_OPT_LEN_WS)
			scale = option[2] < COOKIE_UNSCALED ? option[2] : COOKIE_UNSCALED - 1;
		option += option[1];
	}
	while (index + 1 < 1 << COOKIE_MSS_BITS && cookie_mss[index + 1] <= mss)
		index++;
	return scale << COOKIE_MSS_BITS | index;
}

static void set_number(const struct pbuf *packet, const struct tcp_hdr *header, uint32_t number)
{
	opening.cookie.addresses = addresses_in(packet);
	opening.cookie.ports = ports_in(header);
	opening.cookie.number = number;
	opening.cookie.valid = true;
}

/* In a flood the number that lwIP answers a SYN with is a cookie: its connection may be dropped before its peer
 * acknowledges. */
static void give_cookie(const struct pbuf *packet, const struct tcp_hdr *header)
{
	const unsigned size = IPH_HL_BYTES((const struct ip_hdr *)packet->payload) + TCPH_HDRLEN_BYTES(header);

	if (opening.cookie.again)
		return;
	opening.cookie.valid = false;
	if ((opening.half_open <= FLOOD_FROM && !drops_lately()) || TCPH_HDRLEN_BYTES(header) < TCP_HLEN ||
	    packet->len < size)
		return;
	set_number(packet, header, cookie_of(packet, header, lwip_ntohl(header->seqno), sys_now() / COOKIE_SLOT_MS,
	                                     said_by(header)));
}

/* Returns the SYN that a cookie was given for, as far as the cookie says; null: there is no memory. */
static struct pbuf *syn_again(const struct pbuf *packet, const struct tcp_hdr *header, uint32_t cookie)
{
	const uint32_t scale = cookie >> COOKIE_MSS_BITS & COOKIE_UNSCALED,
	               mss = cookie_mss[cookie % (1 << COOKIE_MSS_BITS)];
	const uint8_t options[SYN_OPTIONS] = { LWIP_TCP_OPT_MSS, LWIP_TCP_OPT_LEN_MSS, (uint8_t)(mss >> 8),
	                                       (uint8_t)mss, LWIP_TCP_OPT_NOP,
		LWIP_TCP_OPT_WS, LWIP_TCP_OPT_LEN_WS, (uint8_t)scale };
	const uint16_t size = (uint16_t)(TCP_HLEN + (scale == COOKIE_UNSCALED ? LWIP_TCP_OPT_LEN_MSS : SYN_OPTIONS));
	struct pbuf *syn = pbuf_alloc(PBUF_RAW, IP_HLEN + size, PBUF_RAM);

	if (!syn)
		return NULL;
	struct ip_hdr *ip = syn->payload;
	struct tcp_hdr *tcp = (struct tcp_hdr *)(ip + 1);
	memcpy(ip, packet->payload, IP_HLEN);
	IPH_VHL_SET(ip, 4, IP_HLEN / 4);
	IPH_LEN_SET(ip, lwip_htons((uint16_t)(IP_HLEN + size)));
	memcpy(tcp, header, TCP_HLEN);
	tcp->seqno = lwip_htonl(lwip_ntohl(header->seqno) - 1);
	tcp->ackno = 0;
	TCPH_HDRLEN_FLAGS_SET(tcp, size / 4, TCP_SYN);
	memcpy(tcp + 1, options, size - TCP_HLEN);
	return syn;
}

/* Returns whether an acknowledgement is one of a cookie, while connections have been dropped, and a program listens. */
static bool is_of_cookie(const struct pbuf *packet, const struct tcp_hdr *header)
{
	const struct ip_hdr *ip = packet->payload;
	const uint32_t cookie = lwip_ntohl(header->ackno) - 1, initial = lwip_ntohl(header->seqno) - 1,
	               encoded = cookie % (1 << COOKIE_BITS);
	const uint32_t slot = sys_now() / COOKIE_SLOT_MS;
	const ip_addr_t to = { .addr = ip->dest.addr };

	if (!drops_lately() || !has_listener(&to, lwip_ntohs(header->dest)))
		return false;
	return cookie == cookie_of(packet, header, initial, slot, encoded) ||
	       cookie == cookie_of(packet, header, initial, slot - 1, encoded);
}

/*
 * Makes the connection again that an acknowledgement of a cookie belongs to: lwIP gets the SYN a second time, and the
 * number that it had. Its answer tells the peer nothing new. Returns false where there is no memory, or no place.
 */
static bool restore_dropped(const struct pbuf *packet, const struct tcp_hdr *header, struct netif *netif)
{
	const uint32_t cookie = lwip_ntohl(header->ackno) - 1;
	struct pbuf *syn = syn_again(packet, header, cookie);
	const struct tcp_pcb *made;

	if (!syn)
		return false;
	set_number(packet, header, cookie);
	opening.cookie.again = true;
	ip4_input(syn, netif); /* frees it */
	opening.cookie.again = opening.cookie.valid = false;
	made = opening.newest ? opening.newest->pcb : NULL;
	return made && made->remote_port == lwip_ntohs(header->src) &&
	       ip_2_ip4(&made->remote_ip)->addr == ((const struct ip_hdr *)packet->payload)->src.addr;
}

/* Handles a SYN of a known connection. With an acknowledgement it answers one of ours, whose connection
 * connections_add() may have had no memory for. */
int opening_seen(struct pbuf *packet, struct tcp_pcb *waiting, struct netif *netif)
{
	const struct tcp_hdr *header = header_in(packet);
	const unsigned flags = header ? TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST) : 0;

	require(!waiting || waiting->state == TIME_WAIT);
	if (!waiting && flags == TCP_ACK)
		return is_of_cookie(packet, header) &&
		       !restore_dropped(packet, header, netif) ? drop_packet(packet) : 0;
	if ((flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && !has_room())
		return drop_packet(packet);
	if (flags == TCP_SYN)
		give_cookie(packet, header);
	if (waiting && flags == TCP_SYN) {
		replace_waiting(waiting, lwip_ntohl(header->seqno));
	} else if (waiting && flags & TCP_RST && lwip_ntohl(header->seqno) == waiting->rcv_nxt) {
		tcp_abort(waiting);
		return drop_packet(packet);
	}
	return 0;
}
