/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's list has links in one direction only, so a connection cannot leave its place without the one before it.
 * `order` is a copy of the list with links in both directions. lwIP takes connections out of its list without a
 * callback (TIME_WAIT), so an entry of the copy is checked: the connection before is the one whose `next` is this one.
 * No other pcb has such a `next`, for those that lwIP takes out have none, and those that it frees are reported to
 * on_destroyed().
 */
#include <stdbool.h>
#include <string.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ethernet.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <skerry/require.h>
#include "connections.h"
#include "memory.h"
#include "prediction.h"
#include "recovery.h"
#include "socket.h"

_Static_assert(offsetof(struct ip_hdr, dest) == offsetof(struct ip_hdr, src) + 4, "adjacent");

enum { BUCKETS_SHIFT = 10, BUCKETS = 1 << BUCKETS_SHIFT };

struct connection {
	struct tcp_pcb *pcb;
	uint64_t addresses; /* of the peer and of this side, as its packets have them; they stay */
	uint32_t ports;     /* and theirs */
	struct connection *chain;          /* of its bucket */
	struct connection *before, *after; /* in `order` */
	bool ordered;                      /* else it is not in lwIP's list any more */
	uint16_t bucket;
	struct half_open half_open;
	struct recovery recovery;
};

static struct {
	struct connection *bucket[BUCKETS];
	struct connection *order;
	struct connection *last; /* that was found */
	struct connection *examined; /* whose segment lwIP processes */
	uint64_t secret; /* odd: peers cannot choose ports that share a bucket */
	uint64_t searched;
	u8_t slot;
} table;

/* Addresses and ports as they are in packets. */
static unsigned bucket_of(uint32_t remote, uint32_t ports)
{
	require(table.secret & 1);
	const uint64_t key = ((uint64_t)remote << 32 | ports) * table.secret;

	return (unsigned)((key ^ key >> 32) * table.secret >> (64 - BUCKETS_SHIFT));
}

static uint32_t ports_of(const struct tcp_pcb *pcb)
{
	return (uint32_t)lwip_htons(pcb->remote_port) | (uint32_t)lwip_htons(pcb->local_port) << 16;
}

static uint64_t addresses_of(const struct tcp_pcb *pcb)
{
	const uint32_t pair[] = { ip_2_ip4(&pcb->remote_ip)->addr, ip_2_ip4(&pcb->local_ip)->addr };
	uint64_t addresses;

	memcpy(&addresses, pair, sizeof(addresses));
	return addresses;
}

static void order_first(struct connection *c)
{
	require(!c->ordered);
	c->before = NULL;
	c->after = table.order;
	if (c->after)
		c->after->before = c;
	table.order = c;
	c->ordered = true;
}

static void order_remove(struct connection *c)
{
	if (!c->ordered)
		return;
	require(c->before ? c->before->after == c : table.order == c);
	require(!c->after || c->after->before == c);
	*(c->before ? &c->before->after : &table.order) = c->after;
	if (c->after)
		c->after->before = c->before;
	c->ordered = false;
}

static void on_destroyed(u8_t slot, void *data)
{
	struct connection *c = data, **link;

	(void)slot;
	if (!c)
		return;
	order_remove(c);
	opening_remove(&c->half_open);
	for (link = &table.bucket[c->bucket]; *link != c; link = &(*link)->chain)
		require(*link);
	*link = c->chain;
	if (table.last == c)
		table.last = NULL;
	if (table.examined == c)
		table.examined = NULL;
	net_free(c);
}

static const struct tcp_ext_arg_callbacks connection_callbacks = { .destroy = on_destroyed };

void connections_add(struct tcp_pcb *pcb)
{
	struct connection *c = net_allocate(sizeof(*c));

	if (!c)
		return;
	require(!tcp_ext_arg_get(pcb, table.slot));
	*c = (struct connection){ .pcb = pcb, .addresses = addresses_of(pcb), .ports = ports_of(pcb) };
	c->bucket = (uint16_t)bucket_of(ip_2_ip4(&pcb->remote_ip)->addr, c->ports);
	c->chain = table.bucket[c->bucket];
	table.bucket[c->bucket] = c;
	order_first(c); /* lwIP has put it at the front, too */
	tcp_ext_arg_set(pcb, table.slot, c);
	tcp_ext_arg_set_callbacks(pcb, table.slot, &connection_callbacks);
	recovery_begin(&c->recovery, pcb);
}

static err_t on_opened(u8_t slot, struct tcp_pcb_listen *listener, struct tcp_pcb *pcb)
{
	struct connection *c;

	(void)listener;
	connections_add(pcb);
	c = tcp_ext_arg_get(pcb, slot);
	if (!c)
		return ERR_MEM; /* lwIP drops the SYN */
	opening_put(&c->half_open, pcb);
	return ERR_OK;
}

static const struct tcp_ext_arg_callbacks listener_callbacks = { .passive_open = on_opened };

void connections_opened(struct tcp_pcb *pcb)
{
	struct connection *c = tcp_ext_arg_get(pcb, table.slot);

	require(pcb->state != SYN_RCVD);
	if (c)
		opening_remove(&c->half_open);
}

void connections_listen(struct tcp_pcb *listener)
{
	tcp_ext_arg_set_callbacks(listener, table.slot, &listener_callbacks);
}

void connections_start(void)
{
	table.slot = tcp_ext_arg_alloc_id();
	table.secret = (uint64_t)net_random() << 32 | net_random() | 1;
	opening_start();
}

static bool is_listed(const struct tcp_pcb *pcb) { return pcb->state != CLOSED && pcb->state != TIME_WAIT; }

/* Returns the connection whose `next` is this one; null: it is the first, or not in the list. */
static struct tcp_pcb *connection_before(const struct connection *c)
{
	struct tcp_pcb *pcb;

	while (c->before && !is_listed(c->before->pcb))
		order_remove(c->before);
	if (c->before && c->before->pcb->next == c->pcb)
		return c->before->pcb;
	for (pcb = tcp_active_pcbs; pcb && pcb->next != c->pcb; pcb = pcb->next)
		table.searched++;
	return pcb;
}

static void to_front(struct connection *c)
{
	struct tcp_pcb *pcb = c->pcb, *before;

	if (pcb == tcp_active_pcbs || !is_listed(pcb) || !(before = connection_before(c)))
		return;
	require(before->next == pcb);
	before->next = pcb->next;
	pcb->next = tcp_active_pcbs;
	tcp_active_pcbs = pcb;
	order_remove(c);
	order_first(c);
}

static bool connection_matches(const struct connection *c, uint64_t addresses, uint32_t ports)
{
	return c->addresses == addresses && c->ports == ports;
}

/* Null: it has none here. */
static struct connection *connection_of(const struct ip_hdr *ip, uint32_t ports)
{
	struct connection *c = table.last;
	uint64_t addresses;

	memcpy(&addresses, &ip->src, sizeof(addresses));
	if (c && connection_matches(c, addresses, ports))
		return c;
	for (c = table.bucket[bucket_of(ip->src.addr, ports)]; c && !connection_matches(c, addresses, ports);
	     c = c->chain) {
	}
	if (c)
		table.last = c;
	return c;
}

/* Returns the connection of an unchecked packet. */
static struct connection *connection_with(const struct pbuf *packet)
{
	const struct ip_hdr *ip = packet->payload;
	uint32_t ports;

	if (packet->len < IP_HLEN || IPH_PROTO(ip) != IP_PROTO_TCP || packet->len < IPH_HL_BYTES(ip) + sizeof(ports))
		return NULL;
	memcpy(&ports, (const char *)ip + IPH_HL_BYTES(ip), sizeof(ports));
	return connection_of(ip, ports);
}

_Static_assert(sizeof(struct tcp_pcb) <= 1024, "more than net_memory_has() answers for");

bool connections_room(void)
{
	return net_memory_has(LWIP_MEM_ALIGN_SIZE(sizeof(struct tcp_pcb))) &&
	       net_memory_layer_has(sizeof(struct socket));
}

bool connections_segment_room(void)
{
	return net_memory_has(LWIP_MEM_ALIGN_SIZE(sizeof(struct pbuf)) + LWIP_MEM_ALIGN_SIZE(PBUF_IP) +
	                      LWIP_MEM_ALIGN_SIZE(TCP_HLEN));
}

void connections_sent_rest(void)
{
	struct connection *c = table.examined;

	table.examined = NULL;
	if (c)
		recovery_after(&c->recovery, c->pcb);
}

int connections_seen(struct pbuf *packet, struct netif *netif)
{
	struct connection *c;

	connections_sent_rest(); /* of a packet before, of this interface's own */
	c = connection_with(packet);
	require(!c || tcp_ext_arg_get(c->pcb, table.slot) == c);
	if (!c || c->pcb->state == TIME_WAIT)
		return opening_seen(packet, c ? c->pcb : NULL, netif);
	if (prediction_is_plain(packet, netif) && prediction_take(c->pcb, packet, netif, NULL))
		return 1;
	to_front(c);
	return 0;
}

static inline struct connection *connection_of_plain(const struct pbuf *packet)
{
	const struct ip_hdr *ip = packet->payload;
	uint32_t ports;

	memcpy(&ports, ip + 1, sizeof(ports));
	return connection_of(ip, ports);
}

static void move_start(struct pbuf *packet, int bytes)
{
	require(bytes <= packet->len);
	packet->payload = (char *)packet->payload + bytes;
	packet->len = (u16_t)(packet->len - bytes);
	packet->tot_len = (u16_t)(packet->tot_len - bytes);
}

bool connections_frame(struct pbuf *frame, struct netif *netif, void *data)
{
	const struct eth_hdr *ethernet = frame->payload;
	struct connection *c;

	if (frame->len < SIZEOF_ETH_HDR || ethernet->dest.addr[0] & 1 || ethernet->type != PP_HTONS(ETHTYPE_IP))
		return false;
	move_start(frame, SIZEOF_ETH_HDR);
	if (prediction_is_plain(frame, netif) && (c = connection_of_plain(frame)) &&
	    prediction_take(c->pcb, frame, netif, data))
		return true;
	move_start(frame, -SIZEOF_ETH_HDR);
	return false;
}

static u32_t sequence_of(const struct tcp_seg *segment) { return lwip_ntohl(segment->tcphdr->seqno); }

/* In place of tcp_slowtmr(), where that would do it wrong (connections.h). Without memory the timer waits. */
static void send_part(struct tcp_pcb *pcb)
{
	struct tcp_seg *first = pcb->unsent;
	const u32_t acknowledged = first ? pcb->lastack - sequence_of(first) : 0;
	const u32_t part = acknowledged + pcb->snd_wnd;

	if (!pcb->persist_backoff || !first || !pcb->snd_wnd || acknowledged >= first->len)
		return;
	if (!acknowledged && !(TCPH_FLAGS(first->tcphdr) & TCP_FIN))
		return;
	if (part < first->len) {
		if (tcp_split_unsent_seg(pcb, (u16_t)part) != ERR_OK) {
			pcb->persist_cnt = 0;
			return;
		}
		TCPH_UNSET_FLAG(first->tcphdr, TCP_FIN | TCP_PSH);
	}
	tcp_output(pcb);
}

void connections_restore_order(struct tcp_pcb *pcb)
{
	struct tcp_seg *first = pcb->unsent;

	if (!first || !pcb->unacked || !TCP_SEQ_LT(sequence_of(first), sequence_of(pcb->unacked)))
		return;
	pcb->unsent = first->next;
	if (!pcb->unsent)
		pcb->unsent_oversize = 0;
	first->next = pcb->unacked;
	pcb->unacked = first;
}

void connections_before_timers(void)
{
	for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
		connections_restore_order(pcb);
		if (tcp_ext_arg_get(pcb, table.slot))
			recovery_before_timers(pcb);
		if (!pcb->unsent) /* all was acknowledged while the window was closed */
			pcb->persist_backoff = 0;
		if (pcb->persist_cnt && !connections_segment_room()) /* lwIP adds one */
			pcb->persist_cnt--;
		send_part(pcb);
		if (pcb->state == LAST_ACK)
			pcb->tmr = tcp_ticks;
	}
}

bool connections_tick(void)
{
	bool again = false;

	for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
		struct connection *c = tcp_ext_arg_get(pcb, table.slot);

		if (c)
			again |= recovery_tick(&c->recovery, pcb);
	}
	return again;
}

void connections_ask(struct tcp_pcb *pcb)
{
	struct connection *c = tcp_ext_arg_get(pcb, table.slot);

	if (c)
		c->recovery.backoff = 0;
	if (pcb->persist_backoff) {
		pcb->persist_backoff = 1;
		pcb->persist_cnt = 0;
	}
	pcb->nrtx = 0;
	pcb->rto = (s16_t)((pcb->sa >> 3) + pcb->sv);
}

int connections_segment(struct tcp_pcb *pcb, struct tcp_hdr *header, unsigned size, unsigned here, uint8_t *behind,
                        unsigned length)
{
	struct connection *c = pcb->state == LISTEN || pcb->state == TIME_WAIT ? NULL
	                                                                       : tcp_ext_arg_get(pcb, table.slot);

	if (c) {
		recovery_before(&c->recovery, pcb, header, (const uint8_t *)(header + 1), here, length);
		table.examined = c;
	}
	if (size && pcb->state != LISTEN && pcb->state != SYN_SENT)
		*(here ? (uint8_t *)(header + 1) : behind) = LWIP_TCP_OPT_EOL;
	return ERR_OK;
}

uint64_t connections_searched(void) { return table.searched; }

/* Only an answer to a segment shows more about it. */
static bool asks_again(const struct tcp_pcb *pcb)
{
	switch (pcb->state) {
	case SYN_SENT: case CLOSE_WAIT: case CLOSING: case LAST_ACK: return true;
	default: return false;
	}
}

/* Ends the connection as a reset that has come does; lwIP's own function reports an end of its own decision. */
static void reset_connection(struct tcp_pcb *pcb)
{
	const tcp_err_fn tell = pcb->errf;
	void *argument = pcb->callback_arg;

	tcp_err(pcb, NULL);
	tcp_abandon(pcb, 0);
	if (tell)
		tell(argument, ERR_RST);
}

/*
 * Ends the connections to this address. A callback about an end frees no other connection, so `next` stays in the list.
 */
void connections_ended(uint32_t ipv4)
{
	struct tcp_pcb *pcb, *next;

	for (pcb = tcp_active_pcbs; pcb; pcb = next) {
		next = pcb->next;
		if (ip_2_ip4(&pcb->remote_ip)->addr != ipv4)
			continue;
		if (asks_again(pcb)) {
			struct connection *c = tcp_ext_arg_get(pcb, table.slot);

			connections_restore_order(pcb);
			if (c)
				recovery_forget(&c->recovery, pcb);
			tcp_rexmit_rto(pcb);
		} else {
			reset_connection(pcb);
		}
	}
}
