/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each step here is one of lwIP 2.2's ip4_input(), tcp_input(), tcp_process() or
 * tcp_receive(), and behind them tcp_write(), tcp_output() and ip4_route(), in their order, with
 * what cannot be left out; lwIP's retransmission timer and its count of duplicate acknowledgements can (recovery.h).
 * RFC numbers and reasons are there. net/test/test-prediction.c compares both, packet by
 * packet.
 */
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <skerry/require.h>
#include "../copy.h"
#include "interface.h"
#include "prediction.h"
#include "recovery.h"
#include "sent.h"

enum { HEADERS = IP_HLEN + TCP_HLEN };

struct segment {
	u32_t sequence, acknowledges;
	tcpwnd_size_t window; /* scaled */
	u16_t length;         /* of its data */
	u8_t flags;
};

/* The packet is one whole IPv4 packet to this interface, and its headers have no options. */
bool prediction_is_plain(const struct pbuf *packet, const struct netif *netif)
{
	const struct ip_hdr *ip = packet->payload;
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(ip + 1);

	return !packet->next && packet->len >= HEADERS && ip->_v_hl == (4 << 4 | IP_HLEN / 4) &&
	       lwip_ntohs(IPH_LEN(ip)) == packet->len && (IPH_OFFSET(ip) & PP_HTONS(IP_OFFMASK | IP_MF)) == 0 &&
	       IPH_PROTO(ip) == IP_PROTO_TCP && ip->dest.addr == netif_ip4_addr(netif)->addr && netif_is_up(netif) &&
	       TCPH_HDRLEN(tcp) == TCP_HLEN / 4;
}

/* Nothing about the connection asks for lwIP's general path: no loss, no end, nothing kept back. */
static bool is_steady(const struct tcp_pcb *pcb)
{
	return pcb->state == ESTABLISHED && !(pcb->flags & (TF_INFR | TF_RTO | TF_RXCLOSED | TF_CLOSEPEND | TF_FIN)) &&
	       !pcb->ooseq && !pcb->refused_data && pcb->netif_idx == NETIF_NO_INDEX && pcb->recv;
}

static struct segment segment_of(const struct tcp_pcb *pcb, const struct pbuf *packet)
{
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)((const char *)packet->payload + IP_HLEN);

	return (struct segment){ .sequence = lwip_ntohl(tcp->seqno), .acknowledges = lwip_ntohl(tcp->ackno),
				 .window = (tcpwnd_size_t)lwip_ntohs(tcp->wnd) << pcb->snd_scale,
				 .length = (u16_t)(packet->len - HEADERS), .flags = TCPH_FLAGS(tcp) };
}

/* A window of less than nothing is closed: segments beyond it that lwIP had kept have come into order. */
static bool is_expected(const struct tcp_pcb *pcb, const struct segment *s)
{
	const u32_t acknowledged = s->acknowledges - pcb->lastack;

	return (s->flags & ~TCP_PSH) == TCP_ACK && s->sequence == pcb->rcv_nxt && (s32_t)pcb->rcv_wnd > 0 &&
	       s->length <= pcb->rcv_wnd &&
	       acknowledged <= pcb->snd_nxt - pcb->lastack && (acknowledged || s->length);
}

static void update_window(struct tcp_pcb *pcb, const struct segment *s)
{
	if (!TCP_SEQ_LT(pcb->snd_wl1, s->sequence) &&
	    !(pcb->snd_wl1 == s->sequence && TCP_SEQ_LT(pcb->snd_wl2, s->acknowledges)) &&
	    !(pcb->snd_wl2 == s->acknowledges && s->window > pcb->snd_wnd))
		return;
	pcb->snd_wnd = s->window;
	if (pcb->snd_wnd_max < pcb->snd_wnd)
		pcb->snd_wnd_max = pcb->snd_wnd;
	pcb->snd_wl1 = s->sequence;
	pcb->snd_wl2 = s->acknowledges;
}

/* tcp_seg_free(). Returns the buffers of its packet; nearly always it has one, with one reference. */
static u16_t free_segment(struct tcp_seg *segment)
{
	struct pbuf *packet = segment->p;
	u16_t buffers = 1;

	if (!packet->next && packet->ref == 1 && packet->type_internal == (u8_t)PBUF_RAM) {
		if (packet->flags & PBUF_FLAG_IS_CUSTOM)
			sent_leave((struct sent *)packet);
		mem_free(packet);
	} else {
		buffers = pbuf_clen(packet);
		pbuf_free(packet);
	}
	memp_free(MEMP_TCP_SEG, segment);
	return buffers;
}

/* Frees segments up to pcb->lastack. Returns the rest; adds the bytes of the data to `bytes`. */
static __attribute__((noinline)) struct tcp_seg *free_acknowledged(struct tcp_pcb *pcb, struct tcp_seg *segment,
                                                                   tcpwnd_size_t *bytes)
{
	while (segment && TCP_SEQ_LEQ(lwip_ntohl(segment->tcphdr->seqno) + TCP_TCPLEN(segment), pcb->lastack)) {
		struct tcp_seg *next = segment->next;

		*bytes += segment->len;
		pcb->snd_queuelen = (u16_t)(pcb->snd_queuelen - free_segment(segment));
		segment = next;
	}
	return segment;
}

/* Nearly always one segment is under way, nothing waits behind it, and all of it has arrived: `to` is lastack. */
static bool is_whole_answer(const struct tcp_pcb *pcb, u32_t to)
{
	return to == pcb->snd_nxt && !pcb->unsent && pcb->unacked && !pcb->unacked->next;
}

/* Returns the bytes of data that the program had written and that have arrived. */
static tcpwnd_size_t segments_acknowledge(struct tcp_pcb *pcb, u32_t to)
{
	const tcpwnd_size_t acknowledged = (tcpwnd_size_t)(to - pcb->lastack);
	tcpwnd_size_t bytes = 0;

	pcb->nrtx = 0;
	pcb->lastack = to;
	open_congestion_window(pcb, acknowledged);
	pcb->polltmr = 0;
	if (is_whole_answer(pcb, to)) {
		bytes = pcb->unacked->len;
		pcb->snd_queuelen = (u16_t)(pcb->snd_queuelen - free_segment(pcb->unacked));
		pcb->unacked = NULL;
		pcb->unsent_oversize = 0;
		pcb->snd_buf += bytes;
		return bytes;
	}
	pcb->unacked = free_acknowledged(pcb, pcb->unacked, &bytes);
	if (pcb->unsent)
		pcb->unsent = free_acknowledged(pcb, pcb->unsent, &bytes);
	if (!pcb->unsent)
		pcb->unsent_oversize = 0;
	pcb->snd_buf += bytes;
	return bytes;
}

static void estimate_round_trip(struct tcp_pcb *pcb, u32_t acknowledges)
{
	if (!pcb->rttest || !TCP_SEQ_LT(pcb->rtseq, acknowledges))
		return;
	recovery_estimate(pcb, recovery_clock.now - pcb->rttest);
	pcb->rttest = 0;
}

static void receive_data(struct tcp_pcb *pcb, struct pbuf *packet, const struct segment *s, void *data)
{
	pcb->rcv_nxt += s->length;
	pcb->rcv_wnd -= s->length;
	tcp_update_rcv_ann_wnd(pcb);
	packet->payload = data ? data : (char *)packet->payload + HEADERS;
	packet->len = packet->tot_len = s->length;
	if (s->flags & TCP_PSH)
		packet->flags |= PBUF_FLAG_PUSH;
	tcp_ack(pcb);
}

/* Reports acknowledged bytes to the program, more than 65,535 in several callbacks: the argument has 16 bits. */
static __attribute__((noinline)) err_t tell_sent(struct tcp_pcb *pcb, tcpwnd_size_t sent)
{
	err_t error = ERR_OK;

	for (; sent && error != ERR_ABRT; sent -= LWIP_MIN(sent, 0xffffu))
		TCP_EVENT_SENT(pcb, (u16_t)LWIP_MIN(sent, 0xffffu), error);
	return error;
}

/* Passes the data to the program. Returns false if that has aborted the connection. */
static bool deliver_data(struct tcp_pcb *pcb, struct pbuf *data, tcpwnd_size_t sent)
{
	err_t error = ERR_OK;

	if (sent > 0xffff)
		error = tell_sent(pcb, sent);
	else if (sent)
		TCP_EVENT_SENT(pcb, (u16_t)sent, error);
	if (error == ERR_ABRT) {
		if (data)
			pbuf_free(data);
		return false;
	}
	if (!data)
		return true;
	error = pcb->recv(pcb->callback_arg, pcb, data, ERR_OK);
	if (error != ERR_OK && error != ERR_ABRT)
		pcb->refused_data = data;
	return error != ERR_ABRT;
}

bool prediction_take(struct tcp_pcb *pcb, struct pbuf *packet, const struct netif *netif, void *data)
{
	struct segment s;
	tcpwnd_size_t sent = 0;
	bool alive;

	require(prediction_is_plain(packet, netif));
	(void)netif;
	if (!is_steady(pcb))
		return false;
	s = segment_of(pcb, packet);
	if (!is_expected(pcb, &s))
		return false;
	pcb->tmr = tcp_ticks;
	pcb->keep_cnt_sent = pcb->persist_probe = 0;
	update_window(pcb, &s);
	if (s.acknowledges != pcb->lastack)
		sent = segments_acknowledge(pcb, s.acknowledges);
	estimate_round_trip(pcb, s.acknowledges);
	if (s.length)
		receive_data(pcb, packet, &s, data);
	else
		pbuf_free(packet);
	tcp_input_pcb = pcb; /* what the program sends now waits for tcp_output() below */
	alive = deliver_data(pcb, s.length ? packet : NULL, sent);
	tcp_input_pcb = NULL;
	if (alive && (pcb->unsent || pcb->flags & (TF_ACK_NOW | TF_NAGLEMEMERR)))
		recovery_output(pcb);
	return true;
}

/* One segment of lwIP's own size, and the only one of the connection. */
static bool is_one_segment(const struct tcp_pcb *pcb, size_t size)
{
	return !pcb->unsent && !pcb->unacked && pcb->state == ESTABLISHED && size && size <= pcb->mss &&
	       size <= pcb->snd_wnd_max / 2 && size <= pcb->snd_buf;
}

/* pbuf_alloc(), with room for the headers in front of the bytes. Short packets, of which there are many, take no more
 * than there. */
static struct pbuf *allocate_packet(size_t size)
{
	enum { SHORT_BEFORE = LWIP_MEM_ALIGN_SIZE(sizeof(struct pbuf)) + LWIP_MEM_ALIGN_SIZE(PBUF_TRANSPORT) };
	const size_t before = size >= SENT_MIN ? SENT_BEFORE : SHORT_BEFORE;
	struct pbuf *packet = mem_malloc(before + LWIP_MEM_ALIGN_SIZE(size));

	if (packet)
		*packet = (struct pbuf){ .payload = (char *)packet + before, .len = (u16_t)size, .tot_len = (u16_t)size,
					 .type_internal = (u8_t)PBUF_RAM, .ref = 1, .if_idx = NETIF_NO_INDEX };
	return packet;
}

bool prediction_write(struct tcp_pcb *pcb, const void *bytes, size_t size)
{
	struct pbuf *packet = is_one_segment(pcb, size) ? allocate_packet(size) : NULL;
	struct tcp_seg *segment = packet ? memp_malloc(MEMP_TCP_SEG) : NULL;
	struct tcp_hdr *tcp;

	if (!segment) {
		if (packet)
			pbuf_free(packet);
		return false;
	}
	copy_bytes(size >= SENT_MIN ? interface_loan(packet, ip_2_ip4(&pcb->remote_ip)->addr) : packet->payload, bytes,
	           size);
	tcp = (struct tcp_hdr *)packet->payload - 1;
	tcp->src = lwip_htons(pcb->local_port);
	tcp->dest = lwip_htons(pcb->remote_port);
	tcp->seqno = lwip_htonl(pcb->snd_lbb);
	TCPH_HDRLEN_FLAGS_SET(tcp, TCP_HLEN / 4, TCP_PSH);
	tcp->urgp = 0;
	packet->payload = tcp;
	packet->len = packet->tot_len = (u16_t)(size + TCP_HLEN);
	*segment = (struct tcp_seg){ .p = packet, .len = (u16_t)size, .tcphdr = tcp };
	pcb->unsent = segment;
	pcb->snd_lbb += (u32_t)size;
	pcb->snd_buf -= (tcpwnd_size_t)size;
	pcb->snd_queuelen = 1;
	return true;
}

/* Where ip4_route() would find it first, or null: nothing that is known here. */
static struct netif *route_of(const struct tcp_pcb *pcb)
{
	struct netif *first = netif_list;

	return pcb->netif_idx == NETIF_NO_INDEX && first && netif_is_up(first) && netif_is_link_up(first) &&
			       !ip4_addr_isany(netif_ip4_addr(first)) &&
			       ip4_addr_net_eq(ip_2_ip4(&pcb->remote_ip), netif_ip4_addr(first),
			                       netif_ip4_netmask(first))
		       ? first
		       : NULL;
}

/* The segment is all that there is to send, nothing is under way, and it may go: Nagle's rule holds nothing back
 * then. */
static bool goes_at_once(const struct tcp_pcb *pcb, const struct tcp_seg *segment)
{
	return segment && !segment->next && !pcb->unacked && pcb->state == ESTABLISHED && tcp_input_pcb != pcb &&
	       segment->len && !segment->flags && !(pcb->flags & TF_FIN) && segment->p->ref == 1 &&
	       !ip4_addr_isany(ip_2_ip4(&pcb->local_ip)) &&
	       lwip_ntohl(segment->tcphdr->seqno) - pcb->lastack + segment->len <= LWIP_MIN(pcb->snd_wnd, pcb->cwnd);
}

static void write_header(struct tcp_pcb *pcb, struct tcp_seg *segment)
{
	struct tcp_hdr *tcp = segment->tcphdr;
	struct pbuf *packet = segment->p;
	const u16_t before = (u16_t)((char *)tcp - (char *)packet->payload); /* of an earlier try */

	TCPH_SET_FLAG(tcp, TCP_ACK);
	tcp->ackno = lwip_htonl(pcb->rcv_nxt);
	tcp->wnd = lwip_htons(TCPWND_MIN16(RCV_WND_SCALE(pcb, pcb->rcv_ann_wnd)));
	tcp->chksum = 0;
	packet->payload = tcp;
	packet->len -= before;
	packet->tot_len -= before;
}

bool prediction_send(struct tcp_pcb *pcb)
{
	struct tcp_seg *segment = pcb->unsent;
	struct netif *netif;
	u32_t sequence;
	err_t error;

	if (!goes_at_once(pcb, segment) || !(netif = route_of(pcb)))
		return false;
	sequence = lwip_ntohl(segment->tcphdr->seqno);
	pcb->persist_backoff = 0;
	write_header(pcb, segment);
	pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
	if (!pcb->rttest) {
		pcb->rttest = recovery_clock.now;
		pcb->rtseq = sequence;
	}
	if (recovery_clock.due == UINT64_MAX)
		recovery_start();
	NETIF_SET_HINTS(netif, &pcb->netif_hints);
	error = ip4_output_if_src(segment->p, ip_2_ip4(&pcb->local_ip), ip_2_ip4(&pcb->remote_ip), pcb->ttl, pcb->tos,
				  IP_PROTO_TCP, netif);
	NETIF_RESET_HINTS(netif);
	if (error != ERR_OK) {
		tcp_set_flags(pcb, TF_NAGLEMEMERR);
		return true;
	}
	tcp_clear_flags(pcb, TF_ACK_DELAY | TF_ACK_NOW | TF_NAGLEMEMERR);
	if (TCP_SEQ_LT(pcb->snd_nxt, sequence + segment->len))
		pcb->snd_nxt = sequence + segment->len;
	pcb->unsent = NULL;
	pcb->unsent_oversize = 0;
	pcb->unacked = segment;
	return true;
}
