/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames for a station at the far end of a cable go there, all others to the switch; so do these as long as the cable's
 * ends have not met, which is while the far end's program starts or has ended. The switch then answers for it.
 *
 * What a station sends by a cable and what it sends through the switch may arrive in another order. That happens once
 * in the life of a pair of programs, when the cable's ends have met.
 */
#include <stddef.h>
#include <string.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <netif/ethernet.h>
#include <skerry/require.h>
#include "../mac.h"
#include "../machine.h"
#include "connections.h"
#include "interface.h"
#include "link.h"
#include "received.h"

enum { CONGESTED = 256, WAKE_BATCH = 32 };
_Static_assert(sizeof(struct eth_hdr) == ETHERNET_HEADER, "no padding");

struct cable {
	struct link link;
	struct loans loans;
	struct cable *next_used;
	bool used; /* frames were given to it, or taken from it, since the last flush */
	unsigned number;
	uint64_t mac;  /* the far end's, as mac_number() has it */
	uint32_t ipv4; /* network byte order */
	struct eth_hdr header; /* of an IPv4 packet to it */
};

static struct {
	struct netif netif;
	struct link to_switch;
	struct cable cable[PROCESS_MAX_CABLES];
	unsigned cables;
	struct cable *behind; /* the last cable */
	struct cable *used;
	struct neighbour {
		bool known;
		uint32_t ipv4;         /* network byte order */
		struct eth_hdr header; /* of an IPv4 packet to it */
	} neighbour; /* of a packet that lwIP has sent through the switch */
} interface;

/* The cable to the station with this address, or null. */
static struct cable *cable_to(const uint8_t address[6])
{
	const uint64_t mac = mac_number(address);

	for (unsigned i = 0; i < interface.cables; i++)
		if (interface.cable[i].mac == mac)
			return &interface.cable[i];
	return NULL;
}

static void mark_used(struct cable *cable)
{
	if (cable->used)
		return;
	require(cable >= interface.cable && cable < interface.behind);
	cable->used = true;
	cable->next_used = interface.used;
	interface.used = cable;
}

/* lwIP is in the middle of something: interface_receive() looks to what has changed. */
static bool is_open(const struct cable *cable) { return cable->link.port.up && !port_changed(&cable->link.port); }

static err_t send_by(struct link *link, struct pbuf *frame)
{
	const err_t error = frame->tot_len > PORT_FRAME_MAX ? ERR_BUF : link_send(link, frame);

	if (link->published >= WAKE_BATCH) /* let the far end begin while this batch goes on */
		interface_flush();
	return error;
}

static err_t send_frame(struct netif *netif, struct pbuf *frame)
{
	struct cable *cable = interface.cables && frame->len >= ETHERNET_HEADER ? cable_to(frame->payload) : NULL;

	(void)netif;
	if (!cable || !is_open(cable))
		return send_by(&interface.to_switch, frame);
	mark_used(cable);
	return send_by(&cable->link, frame);
}

/* Null: no cable leads to this address. */
static struct cable *cable_at(uint32_t ipv4)
{
	for (unsigned i = 0; i < interface.cables; i++)
		if (interface.cable[i].ipv4 == ipv4)
			return &interface.cable[i];
	return NULL;
}

/* Out of line: callers have short packets, mostly. */
__attribute__((noinline)) void *interface_loan(struct pbuf *packet, uint32_t ipv4)
{
	struct cable *cable = cable_at(ipv4);

	return cable ? link_loan(&cable->link, packet) : packet->payload;
}

void interface_copy_out(void)
{
	for (struct cable *cable = interface.cable; cable != interface.behind; cable++)
		link_copy_out(&cable->link);
}

static void set_header(struct eth_hdr *header, const uint8_t to[6], const uint8_t from[6])
{
	header->type = PP_HTONS(ETHTYPE_IP);
	memcpy(&header->dest, to, ETH_HWADDR_LEN);
	memcpy(&header->src, from, ETH_HWADDR_LEN);
}

void interface_forget_neighbour(void) { interface.neighbour.known = false; }

/* Returns whether packets to this address, of this station, leave through the switch: not by a cable, and not to the
 * gateway. */
static bool is_behind_switch(const struct netif *netif, const ip4_addr_t *to, const struct eth_addr *mac)
{
	return ip4_addr_net_eq(to, netif_ip4_addr(netif), netif_ip4_netmask(netif)) && !cable_to(mac->addr);
}

/*
 * lwIP's ARP decides where the packet goes, and the next ones as long as nothing can have changed its mind. Its table
 * may have an address of another net, too, for which it asks the gateway: whoever claims such an address is not
 * believed.
 */
static __attribute__((noinline)) err_t send_by_arp(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
	struct neighbour *neighbour = &interface.neighbour;
	const err_t error = etharp_output(netif, packet, to);
	struct eth_addr *mac;
	const ip4_addr_t *entry;

	neighbour->known = error == ERR_OK && etharp_find_addr(netif, to, &mac, &entry) >= 0 &&
	                   is_behind_switch(netif, to, mac);
	if (neighbour->known) {
		neighbour->ipv4 = to->addr;
		set_header(&neighbour->header, mac->addr, netif->hwaddr);
	}
	return error;
}

/* The manager has said where a cable leads, so that ARP has nothing to find out. */
static err_t send_packet(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
	struct cable *cable = cable_at(to->addr);
	const bool open = cable && is_open(cable);
	const struct neighbour *neighbour = &interface.neighbour;

	if ((!open && (!neighbour->known || neighbour->ipv4 != to->addr)) || pbuf_add_header(packet, ETHERNET_HEADER))
		return send_by_arp(netif, packet, to);
	memcpy(packet->payload, open ? &cable->header : &neighbour->header, ETHERNET_HEADER);
	if (!open)
		return send_by(&interface.to_switch, packet);
	mark_used(cable);
	return send_by(&cable->link, packet);
}

static err_t set_up(struct netif *netif)
{
	const struct process_network *network = netif->state;

	netif->name[0] = 's';
	netif->name[1] = 'k';
	netif->mtu = network->mtu;
	netif->hwaddr_len = ETH_HWADDR_LEN;
	memcpy(netif->hwaddr, network->mac, ETH_HWADDR_LEN);
	netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	netif->output = send_packet;
	netif->linkoutput = send_frame;
	return ERR_OK;
}

static void start_cables(const struct process_info *info)
{
	static struct sent_slot slots[PROCESS_MAX_CABLES][CABLE_SLOTS]; /* apart from what each poll looks at */

	for (unsigned i = 0; i < info->port_count && i < PROCESS_MAX_CABLES; i++) {
		const struct process_port *to = &info->port[i];
		const enum port_direction out = to->upper ? PORT_TO_SWITCH : PORT_FROM_SWITCH;
		struct cable *cable = &interface.cable[interface.cables];

		require(interface.cables < PROCESS_MAX_CABLES && to->ipv4);
		cable->number = interface.cables++;
		interface.behind = cable + 1;
		link_start(&cable->link, cable_open(cable_memory(i), out, info->life), cable_bell(i),
		           slots[cable->number]);
		cable->loans.port = &cable->link.port;
		cable->mac = mac_number(to->mac);
		cable->ipv4 = to->ipv4;
		require(cable->ipv4 != info->network.ipv4);
		set_header(&cable->header, to->mac, info->network.mac);
		mark_used(cable); /* the far end must see this life */
	}
}

void interface_start(const struct process_info *info)
{
	const struct process_network *network = &info->network;
	ip4_addr_t ipv4 = { network->ipv4 }, netmask = { network->netmask }, gateway = { network->gateway };

	links_start(own_bell());
	interface.behind = interface.cable;
	link_start(&interface.to_switch, port_open(interface_memory(), PORT_TO_SWITCH, info->life), interface_bell(),
	           NULL);
	start_cables(info);
	require(network->present && network->mtu + ETHERNET_HEADER <= (int)PORT_FRAME_MAX);
	netif_add(&interface.netif, &ipv4, &netmask, &gateway, (void *)network, set_up, ethernet_input);
	netif_set_default(&interface.netif);
	netif_set_up(&interface.netif);
	interface_flush();
}

static void look_at_cable(struct cable *cable);

/* A successor's first frames may come through the switch: what was its predecessor's ends before they are looked at. */
static void look_at_sender(const struct pbuf *frame)
{
	struct cable *cable = interface.cables ? cable_to((const uint8_t *)frame->payload + 6) : NULL;

	if (cable)
		look_at_cable(cable);
}

static void take_in(struct pbuf *packet, void *loan)
{
	if (connections_frame(packet, &interface.netif, loan))
		return;
	received_copy_out(packet);
	interface_forget_neighbour(); /* it may be ARP's */
	if (interface.netif.input(packet, &interface.netif) != ERR_OK)
		pbuf_free(packet);
	connections_sent_rest();
}

/* At most a ring full. A stack that stopped reading would stop the switch. */
static void receive_from_switch(void)
{
	struct link *link = &interface.to_switch;
	const uint64_t most = port_slots(&link->port);
	uint32_t length;
	const void *frame;

	for (uint64_t n = 0; n < most && (frame = port_peek(&link->port, &length)); n++) {
		struct pbuf *packet = length ? received_copy(frame, length) : NULL;

		port_release(&link->port);
		link->released = true;
		if (!packet)
			continue;
		look_at_sender(packet);
		take_in(packet, NULL);
	}
}

static void receive_by_cable(struct cable *cable)
{
	struct port_end *port = &cable->link.port;
	uint32_t length;
	char *frame;

	for (uint64_t n = 0; n < CABLE_SLOTS && (frame = port_peek(port, &length)); n++) {
		void *loan = length >= LOAN_MIN ? frame + LOAN_HEADERS : NULL;
		struct pbuf *packet = loan ? received_headers(&cable->loans, frame, length) : NULL;

		if (!packet) {
			loan = NULL;
			packet = length ? received_copy(frame, length) : NULL;
		}
		if (loans_release(&cable->loans))
			cable->link.released = true;
		if (packet)
			take_in(packet, loan);
	}
	mark_used(cable);
}

void interface_returned(struct loans *loans)
{
	struct cable *cable = (struct cable *)((char *)loans - offsetof(struct cable, loans));

	require(loans == &cable->loans);
	cable->link.released = true;
	mark_used(cable);
}

/*
 * The far end's program has ended, or a successor has opened the cable: the frames that it has sent come first, then
 * its connections end, then the successor is let in, which may write what the ring keeps.
 */
static void renew_cable(struct cable *cable)
{
	struct link *link = &cable->link;

	if (port_is_open(link->port.seen)) {
		receive_by_cable(cable);
		loans_end(&cable->loans);
		link_drop(link);
		/* what connections_ended() sends goes through the switch */
		link->port.up = link->port.may_send = false;
		connections_ended(cable->ipv4);
	}
	link_copy_out(link);
	require(!cable->loans.slots);
	port_reset(&link->port);
	link->publish_pending = true;
	mark_used(cable);
}

static void look_at_cable(struct cable *cable)
{
	if (port_changed(&cable->link.port))
		renew_cable(cable);
	if (!cable->link.port.up)
		port_handshake_done(&cable->link.port);
}

/* Both ends have met and go on as they were, and there is no frame. */
static inline bool is_quiet(const struct link *link)
{
	return link->port.up && !port_changed(&link->port) && !ring_ready(&link->port.receive);
}

void interface_receive(void)
{
	struct link *to_switch = &interface.to_switch;

	links_awake();
	if (!is_quiet(to_switch)) {
		to_switch->publish_pending |= port_poll(&to_switch->port);
		receive_from_switch();
	}
	for (struct cable *cable = interface.cable; cable != interface.behind; cable++) {
		if (is_quiet(&cable->link))
			continue;
		look_at_cable(cable);
		if (!port_ready(&cable->link.port))
			continue;
		receive_by_cable(cable);
	}
}

void interface_flush(void)
{
	if (!link_is_flushed(&interface.to_switch) && link_flush(&interface.to_switch))
		interface_wake_peer();
	struct cable *cable = interface.used, *next;

	for (interface.used = NULL; cable; cable = next) {
		next = cable->next_used;
		require(cable->used);
		cable->used = false;
		if (link_flush(&cable->link))
			cable_wake_peer(cable->number);
		if (cable->link.waiting)
			mark_used(cable);
	}
}

bool interface_loops(void)
{
	const struct netif *netif;

	NETIF_FOREACH(netif)
		if (netif->loop_first)
			return true;
	return false;
}

void interface_loop(void)
{
	struct netif *netif;

	NETIF_FOREACH(netif)
		if (netif->loop_first)
			netif_poll(netif);
	connections_sent_rest();
}

bool interface_is_congested(uint32_t ipv4)
{
	const struct cable *cable = cable_at(ipv4);

	return (cable && cable->link.port.up ? &cable->link : &interface.to_switch)->waiting >= CONGESTED;
}

bool interface_arm(void)
{
	bool empty;

	links_arm();
	if (link_arm(&interface.to_switch))
		interface_wake_peer();
	empty = !port_ready(&interface.to_switch.port);
	for (struct cable *cable = interface.cable; cable != interface.behind; cable++) {
		if (link_arm(&cable->link))
			cable_wake_peer(cable->number);
		empty &= !port_ready(&cable->link.port);
	}
	return empty;
}
