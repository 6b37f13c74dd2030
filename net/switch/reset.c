/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "../copy.h"
#include "../ethernet.h"
#include "switch.h"

enum {
	HEADERS = IP + 60 + 20, /* with IPv4's options, without TCP's */
	TCP = IP + 20,          /* in a reset */
	FIN = 1, SYN = 2, RST = 4, ACK = 16,
	ARP_HARDWARE = 14, ARP_SENDER_MAC = 22, ARP_SENDER_IP = 28, ARP_TARGET_MAC = 32, ARP_REPLY = 2,
};

struct segment {
	uint8_t from_mac[6], to_mac[6];
	uint32_t from, to;           /* network byte order */
	uint16_t from_port, to_port; /* these and the rest: the processor's */
	uint32_t seq, ack, length;   /* `length` counts SYN and FIN */
	uint8_t flags;
};

static void store_mac(uint8_t *p, uint64_t mac)
{
	for (unsigned i = 0; i < 6; i++, mac >>= 8)
		p[i] = (uint8_t)mac;
}

/* Returns false unless the frame is a whole TCP segment between two hosts. */
static int segment_parse(const void *frame, uint32_t length, struct segment *s)
{
	uint8_t h[HEADERS] = { 0 };
	uint32_t ip, tcp, total;

	copy_bytes(h, frame, length < HEADERS ? length : HEADERS);
	ip = (h[IP] & 15) * 4u;
	total = load_be16(h + IP_LENGTH);
	if (load_be16(h + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 || h[IP] >> 4 != 4 || ip < 20 ||
	    h[IP_PROTOCOL] != PROTOCOL_TCP ||
	    load_be16(h + IP_FRAGMENT) & 0x3fff || total < ip + 20 || IP + total > length)
		return 0;
	tcp = (h[IP + ip + 12] >> 4) * 4u;
	if (tcp < 20 || total < ip + tcp)
		return 0;
	*s = (struct segment){
		.from = load_raw32(h + IP_FROM), .to = load_raw32(h + IP_TO),
		.from_port = load_be16(h + IP + ip), .to_port = load_be16(h + IP + ip + 2),
		.seq = load_be32(h + IP + ip + 4), .ack = load_be32(h + IP + ip + 8), .flags = h[IP + ip + 13],
	};
	s->length = total - ip - tcp + !!(s->flags & SYN) + !!(s->flags & FIN);
	copy_bytes(s->to_mac, h, 6);
	copy_bytes(s->from_mac, h + 6, 6);
	/* neither of no host nor of several */
	return s->from && s->from != s->to && h[IP_FROM] < 224 && h[IP_TO] < 224 && h[IP_FROM] != 127 &&
	       h[IP_TO] != 127;
}

static uint32_t reset_make(const struct reset_port *port, const uint8_t peer_mac[6], uint32_t peer, uint16_t own_port,
		     uint16_t peer_port, uint8_t to[RESET_FRAME])
{
	require(port->ipv4 && peer);
	for (unsigned i = 0; i < RESET_FRAME; i++)
		to[i] = 0;
	copy_bytes(to, peer_mac, 6);
	store_mac(to + 6, port->mac);
	store_be16(to + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	to[IP] = 0x45;
	store_be16(to + IP_LENGTH, RESET_FRAME - IP);
	to[IP_TTL] = 64;
	to[IP_PROTOCOL] = PROTOCOL_TCP;
	copy_bytes(to + IP_FROM, &port->ipv4, 4);
	copy_bytes(to + IP_TO, &peer, 4);
	store_be16(to + TCP, own_port);
	store_be16(to + TCP + 2, peer_port);
	to[TCP + 12] = 0x50;
	to[TCP + 13] = RST;
	return RESET_FRAME;
}

static uint32_t answer_arp(const struct reset_port *port, const void *frame, uint32_t length, uint8_t to[RESET_FRAME])
{
	uint8_t h[ARP_FRAME];

	if (length < ARP_FRAME)
		return 0;
	copy_bytes(h, frame, ARP_FRAME);
	if (load_be16(h + ETHERTYPE_OFFSET) != ETHERTYPE_ARP || load_be16(h + ARP_OPERATION_OFFSET) != ARP_REQUEST ||
	    load_be32(h + ARP_HARDWARE) != 0x10800 || load_be16(h + ARP_HARDWARE + 4) != 0x604 || !port->ipv4 ||
	    load_raw32(h + ARP_TARGET_IP_OFFSET) != port->ipv4)
		return 0;
	copy_bytes(to, h, ARP_FRAME);
	copy_bytes(to, h + ARP_SENDER_MAC, 6);
	store_mac(to + 6, port->mac);
	store_be16(to + ARP_OPERATION_OFFSET, ARP_REPLY);
	store_mac(to + ARP_SENDER_MAC, port->mac);
	copy_bytes(to + ARP_SENDER_IP, &port->ipv4, 4);
	copy_bytes(to + ARP_TARGET_MAC, h + ARP_SENDER_MAC, 6);
	copy_bytes(to + ARP_TARGET_IP_OFFSET, h + ARP_SENDER_IP, 4);
	return ARP_FRAME;
}

uint32_t reset_answer(const struct reset_port *port, const void *frame, uint32_t length, uint8_t to[RESET_FRAME])
{
	struct segment s;

	if (!segment_parse(frame, length, &s))
		return answer_arp(port, frame, length, to);
	if (s.flags & RST || s.to != port->ipv4 || mac_number(s.to_mac) != port->mac)
		return 0;
	reset_make(port, s.from_mac, s.from, s.to_port, s.from_port, to);
	if (s.flags & ACK) {
		store_be32(to + TCP + 4, s.ack);
	} else {
		store_be32(to + TCP + 8, s.seq + s.length);
		to[TCP + 13] |= ACK;
	}
	return RESET_FRAME;
}

uint32_t reset_after_sent(const struct reset_port *port, const void *frame, uint32_t length, uint8_t to[RESET_FRAME])
{
	struct segment s;

	if (!segment_parse(frame, length, &s) || s.flags & RST || s.from != port->ipv4 ||
	    mac_number(s.from_mac) != port->mac)
		return 0;
	reset_make(port, s.to_mac, s.to, s.from_port, s.to_port, to);
	store_be32(to + TCP + 4, s.seq + s.length);
	if (s.flags & ACK) {
		store_be32(to + TCP + 8, s.ack);
		to[TCP + 13] |= ACK;
	}
	return RESET_FRAME;
}

int reset_same(const uint8_t a[RESET_FRAME], const uint8_t b[RESET_FRAME])
{
	return load_raw32(a + IP_FROM) == load_raw32(b + IP_FROM) && load_raw32(a + IP_TO) == load_raw32(b + IP_TO) &&
	       load_raw32(a + TCP) == load_raw32(b + TCP);
}
