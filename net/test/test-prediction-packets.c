/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lwip/ip.h>
#include <lwip/prot/ethernet.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <skerry/posix.h>
#include "../lwip/connections.h"
#include "../lwip/interface.h"
#include "../lwip/memory.h"
#include "../lwip/recovery.h"
#include "../lwip/sent.h"
#include "test-prediction.h"
#include "test.h"

enum { HEADERS = IP_HLEN + TCP_HLEN, SLOTS = 8 };

struct peer peer;
struct netif netif;
uint32_t now = 1000, random_state;
uint64_t seen;
unsigned blocks;
bool finds;

void note(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		seen = (seen ^ ((const unsigned char *)bytes)[i]) * 1099511628211ull;
}

void note_number(uint64_t number) { note(&number, sizeof(number)); }

static void note_segments(const struct tcp_seg *segment)
{
	for (; segment; segment = segment->next) {
		note_number(segment->len);
		note_number(pbuf_clen(segment->p));
	}
	note_number(0);
}

void note_state(const struct tcp_pcb *p)
{
	const uint64_t fields[] = {
		p->state, p->flags, p->polltmr, p->tmr, p->rcv_nxt, p->rcv_wnd, p->rcv_ann_wnd, p->rcv_ann_right_edge,
		p->mss, p->rttest, p->rtseq, (uint64_t)p->sa, (uint64_t)p->sv,
		p->nrtx, p->lastack, p->cwnd, p->ssthresh, p->rto_end, p->snd_nxt, p->snd_wl1, p->snd_wl2,
		p->snd_lbb, p->snd_wnd, p->snd_wnd_max, p->snd_buf, p->snd_queuelen, p->unsent_oversize, p->bytes_acked,
		p->refused_data ? p->refused_data->tot_len : 0, p->persist_cnt, p->persist_backoff, p->persist_probe,
		p->keep_cnt_sent,
	};

	note(fields, sizeof(fields));
	note_segments(p->unsent);
	note_segments(p->unacked);
	note_segments(p->ooseq);
}

/* --- the ring of a cable --- */

/* A ring that keeps the data of what was sent once. */
static struct {
	struct sent_slot slot[SLOTS];
	bool sent[SLOTS];
	char data[SLOTS][MOST];
} ring;
unsigned kept_in_ring;

void *interface_loan(struct pbuf *packet, uint32_t ipv4)
{
	CHECK(ipv4 == lwip_htonl(PEER) && packet->len <= MOST);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (ring.slot[i].sent)
			continue;
		ring.slot[i].data = ring.data[i];
		ring.sent[i] = false;
		kept_in_ring++;
		return sent_loan(packet, &ring.slot[i]);
	}
	return packet->payload;
}

void empty_ring(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (ring.slot[i].sent)
			sent_take(ring.slot[i].sent);
}

size_t bytes_of(struct pbuf *frame, unsigned char *bytes, size_t room)
{
	const struct sent_slot *slot = sent_is(frame) ? ((struct sent *)frame)->slot : NULL;
	size_t size;

	if (slot && ring.sent[slot - ring.slot]) { /* again */
		sent_copy_out(frame);
		slot = NULL;
	}
	size = pbuf_copy_partial(frame, bytes, (u16_t)room, 0);
	if (slot) {
		ring.sent[slot - ring.slot] = true;
		memcpy(bytes + HEADERS, slot->data, frame->len - HEADERS);
	}
	return size;
}

/* --- what lwIP asks for --- */

u32_t sys_now(void) { return now; }
uint64_t clock_cycles(void) { return (uint64_t)now << RECOVERY_UNIT_SHIFT; } /* a stamp counts a millisecond */
uint64_t clock_cycles_per_second(void) { return 1000ull << RECOVERY_UNIT_SHIFT; }

uint32_t net_random(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 8;
}

unsigned below(unsigned limit) { return net_random() % limit; }

void *net_allocate(size_t size)
{
	void *block = malloc(size);

	blocks++;
	return block ? memset(block, 0xa5, size) : NULL; /* no data */
}

void *net_allocate_zeroed(size_t count, size_t size)
{
	blocks++;
	return calloc(count, size);
}

void net_free(void *block)
{
	blocks -= !!block;
	free(block);
}

bool net_memory_has(size_t size) { return size; }
bool net_memory_layer_has(size_t size) { return size; }

/* --- packets --- */

/* In a frame, at times a broken one, as net/lwip/interface.c does. */
static void give(struct pbuf *packet, enum frame_fault fault)
{
	struct eth_hdr *ethernet;

	pbuf_add_header(packet, SIZEOF_ETH_HDR);
	ethernet = packet->payload;
	memset(ethernet, 2, SIZEOF_ETH_HDR);
	ethernet->type = PP_HTONS(ETHTYPE_IP);
	if (fault == FRAME_TYPE)
		ethernet->type ^= (u16_t)(1u << below(16));
	else if (fault == FRAME_BROADCAST)
		memset(&ethernet->dest, 0xff, sizeof(ethernet->dest));
	else if (fault == FRAME_CUT)
		pbuf_realloc(packet, (u16_t)(1 + below(SIZEOF_ETH_HDR + HEADERS)));
	if (finds && connections_frame(packet, &netif, NULL))
		return;
	if (netif.input(packet, &netif) != ERR_OK)
		pbuf_free(packet);
	connections_sent_rest();
}

/* The same bytes in two pieces, cut behind the headers that lwIP wants in one, at times where the padding begins. */
static struct pbuf *cut(struct pbuf *whole, unsigned headers, unsigned padding)
{
	const u16_t at = (u16_t)(padding &&
	                         below(2) ? whole->tot_len - padding : headers + below(whole->tot_len - headers));
	struct pbuf *first = pbuf_alloc(PBUF_LINK, at, PBUF_RAM);
	struct pbuf *second = pbuf_alloc(PBUF_LINK, (u16_t)(whole->tot_len - at), PBUF_RAM);

	pbuf_copy_partial(whole, first->payload, at, 0);
	pbuf_copy_partial(whole, second->payload, second->len, at);
	pbuf_free(whole);
	pbuf_cat(first, second);
	return first;
}

static void store_be32(unsigned char *at, uint32_t number)
{
	number = lwip_htonl(number);
	memcpy(at, &number, sizeof(number));
}

/* A SACK option behind two of no operation, nearly always of blocks within what was sent, or next to it. */
static void report_delivered(unsigned char *at, const struct packet *k)
{
	const unsigned blocks_in = (k->tcp_options - 1) / 2;

	at[2] = 5;
	at[3] = (unsigned char)(below(16) ? 2 + 8 * blocks_in : below(256));
	for (unsigned i = 0; i < blocks_in; i++) {
		const uint32_t left = below(16) ? k->acknowledges + below(4) * 700 : net_random() << 8;

		store_be32(at + 4 + 8 * i, left);
		store_be32(at + 8 + 8 * i, below(16) ? left + below(6000) : left - below(3000));
	}
}

void input(const struct packet *k)
{
	const unsigned ip_bytes = IP_HLEN + 4 * k->ip_options, tcp_bytes = TCP_HLEN + 4 * k->tcp_options;
	const unsigned size = ip_bytes + tcp_bytes + k->data;
	struct pbuf *packet = pbuf_alloc(PBUF_LINK, (u16_t)(size + k->padding), PBUF_RAM);
	struct ip_hdr *ip = packet->payload;
	struct tcp_hdr *tcp = (struct tcp_hdr *)((char *)packet->payload + ip_bytes);

	memset(packet->payload, 1, packet->len); /* options: no operation */
	if (k->tcp_options >= 3 && below(4))
		report_delivered((unsigned char *)packet->payload + ip_bytes + TCP_HLEN, k);
	for (unsigned i = 0; i < k->data; i++)
		((unsigned char *)packet->payload)[ip_bytes + tcp_bytes + i] = (unsigned char)(k->sequence + i);
	IPH_VHL_SET(ip, 4, ip_bytes / 4);
	IPH_LEN_SET(ip, lwip_htons((u16_t)size));
	IPH_OFFSET_SET(ip, lwip_htons((u16_t)k->fragment));
	IPH_TTL_SET(ip, 64);
	IPH_PROTO_SET(ip, IP_PROTO_TCP);
	ip->src.addr = lwip_htonl(PEER);
	ip->dest.addr = lwip_htonl(ADDRESS);
	tcp->src = lwip_htons(peer.port);
	tcp->dest = lwip_htons(PORT);
	tcp->seqno = lwip_htonl(k->sequence);
	tcp->ackno = lwip_htonl(k->acknowledges);
	tcp->wnd = lwip_htons((u16_t)k->window);
	TCPH_HDRLEN_FLAGS_SET(tcp, tcp_bytes / 4, k->flags);
	if (ip_bytes >= IP_HLEN + TCP_HLEN && !below(2)) /* options that look like the header behind them */
		memcpy(ip + 1, tcp, TCP_HLEN);
	if (k->broken)
		((unsigned char *)packet->payload)[below(ip_bytes + tcp_bytes)] ^= (unsigned char)(1 << below(8));
	if (k->broken && !below(4))
		pbuf_realloc(packet, (u16_t)(1 + below(size)));
	else if (k->chained && packet->tot_len > ip_bytes + tcp_bytes)
		packet = cut(packet, ip_bytes + TCP_HLEN, k->padding);
	give(packet, k->fault);
}

void connect_peer(void)
{
	struct packet k = { .window = 0xffff };

	peer.port = (uint16_t)(peer.port ? peer.port + 1 : 1024);
	peer.received = 0;
	peer.window = 0;
	peer.open = true;
	k.sequence = net_random() << 8;
	k.flags = TCP_SYN;
	const bool options = below(2), small = !below(4);
	if (small) /* twice a segment, or less */
		k.window = peer.window = options ? 1 + below(20) : 100 + below(1000);
	if (options) { /* with a window scale of 7, and a segment size; SACK */
		const unsigned char sack = below(4) ? 4 : 1; /* permitted, or nothing */
		const unsigned char options[] = { 2, 4, MOST >> 8, MOST & 255, 3, 3, 7, sack, sack == 4 ? 2 : 1, 0, 0,
		                                  0 };
		struct pbuf *packet = pbuf_alloc(PBUF_LINK, HEADERS + sizeof(options), PBUF_RAM);
		struct ip_hdr *ip = packet->payload;
		struct tcp_hdr *tcp = (struct tcp_hdr *)(ip + 1);

		memset(ip, 0, HEADERS);
		memcpy(tcp + 1, options, sizeof(options));
		IPH_VHL_SET(ip, 4, IP_HLEN / 4);
		IPH_LEN_SET(ip, lwip_htons(HEADERS + sizeof(options)));
		IPH_PROTO_SET(ip, IP_PROTO_TCP);
		ip->src.addr = lwip_htonl(PEER);
		ip->dest.addr = lwip_htonl(ADDRESS);
		tcp->src = lwip_htons(peer.port);
		tcp->dest = lwip_htons(PORT);
		tcp->seqno = lwip_htonl(k.sequence);
		tcp->wnd = lwip_htons((u16_t)k.window);
		TCPH_HDRLEN_FLAGS_SET(tcp, (TCP_HLEN + sizeof(options)) / 4, TCP_SYN);
		give(packet, k.fault);
	} else {
		input(&k);
	}
	peer.sent = k.sequence + 1;
	k = (struct packet){ .sequence = peer.sent, .acknowledges = peer.received, .flags = TCP_ACK,
	                     .window = small ? peer.window : 0x7fff };
	input(&k);
}
