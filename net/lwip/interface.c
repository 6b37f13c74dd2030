/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames for a station at the far end of a cable go there, all others to the
 * switch; so do these as long as the cable's ends have not met, which is while
 * the far end's program starts or has ended. The switch then answers for it.
 *
 * What a station sends by a cable and what it sends through the switch may
 * arrive in another order. That happens once in the life of a pair of programs,
 * when the cable's ends have met.
 */
#include <string.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <netif/ethernet.h>
#include "../mac.h"
#include "../machine.h"
#include "connections.h"
#include "headers.h"
#include "interface.h"
#include "link.h"

enum { CONGESTED = 256, WAKE_BATCH = 32, SPARES = 16 };
_Static_assert(sizeof(struct eth_hdr) == ETHERNET_HEADER, "no padding");

/* A link to another stack. */
struct cable {
	struct link link;
	struct cable *next_used;
	bool used; /* frames were given to it, or taken from it, since the last flush */
	unsigned number;
	uint64_t mac;  /* the far end's, as mac_number() has it */
	uint32_t ipv4; /* network byte order */
	struct eth_hdr header; /* of an IPv4 packet to it */
};

/* Memory for a received frame that is read at once, as most are: taken and given back in a few instructions. */
struct spare {
	struct pbuf_custom custom; /* first: free_spare() */
	struct spare *next;
	_Alignas(16) uint8_t frame[PORT_FRAME_MAX];
};

static struct {
	struct netif netif;
	struct link to_switch;
	struct cable cable[PROCESS_MAX_CABLES];
	unsigned cables;
	struct cable *behind; /* the last cable */
	struct cable *used;
	struct spare spare[SPARES], *spares; /* those that are free, the last used first */
	unsigned used_spares; /* others were never touched */
	struct pbuf_custom headers; /* of a frame for which there was no memory */
	uint8_t header_bytes[HEADERS_MAX];
	bool headers_used;
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
	cable->used = true;
	cable->next_used = interface.used;
	interface.used = cable;
}

/* lwIP is in the middle of something: interface_receive() looks to what has changed. */
static bool is_open(const struct cable *cable) { return cable->link.port.up && !port_changed(&cable->link.port); }

static err_t send_by(struct link *link, struct pbuf *frame)
{
	err_t error;

	if (frame->tot_len > PORT_FRAME_MAX)
		return ERR_BUF;
	error = link_send(link, frame);
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

/* The manager has said where a cable leads, so that ARP has nothing to find out. */
static err_t send_packet(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
	struct cable *cable = cable_at(to->addr);

	if (!cable || !is_open(cable) || pbuf_add_header(packet, ETHERNET_HEADER))
		return etharp_output(netif, packet, to);
	memcpy(packet->payload, &cable->header, ETHERNET_HEADER);
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
	for (unsigned i = 0; i < info->port_count && i < PROCESS_MAX_CABLES; i++) {
		const struct process_port *to = &info->port[i];
		const enum port_direction out = to->upper ? PORT_TO_SWITCH : PORT_FROM_SWITCH;
		struct cable *cable = &interface.cable[interface.cables];

		cable->number = interface.cables++;
		interface.behind = cable + 1;
		link_start(&cable->link, cable_open(cable_memory(i), out, info->life), true);
		cable->mac = mac_number(to->mac);
		cable->ipv4 = to->ipv4;
		cable->header.type = PP_HTONS(ETHTYPE_IP);
		memcpy(&cable->header.dest, to->mac, ETH_HWADDR_LEN);
		memcpy(&cable->header.src, info->network.mac, ETH_HWADDR_LEN);
		mark_used(cable); /* the far end must be told of this life */
	}
}

void interface_start(const struct process_info *info)
{
	const struct process_network *network = &info->network;
	ip4_addr_t ipv4 = { network->ipv4 }, netmask = { network->netmask }, gateway = { network->gateway };

	links_start();
	interface.behind = interface.cable;
	link_start(&interface.to_switch, port_open(interface_memory(), PORT_TO_SWITCH, info->life), false);
	start_cables(info);
	netif_add(&interface.netif, &ipv4, &netmask, &gateway, (void *)network, set_up, ethernet_input);
	netif_set_default(&interface.netif);
	netif_set_up(&interface.netif);
	interface_flush();
}

static void free_headers(struct pbuf *pbuf)
{
	(void)pbuf;
	interface.headers_used = false;
}

/* In memory that nothing else uses, or null. lwIP keeps no segment that has no data. */
static struct pbuf *receive_headers(const void *frame, uint32_t length)
{
	if (interface.headers_used || !(length = headers_only(interface.header_bytes, frame, length)))
		return NULL;
	interface.headers_used = true;
	interface.headers.custom_free_function = free_headers;
	return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &interface.headers, interface.header_bytes,
				   sizeof(interface.header_bytes));
}

static void free_spare(struct pbuf *pbuf)
{
	struct spare *spare = (struct spare *)pbuf;

	spare->next = interface.spares;
	interface.spares = spare;
}

/* One that was never used. */
static struct spare *new_spare(void)
{
	struct spare *spare = &interface.spare[interface.used_spares++];

	spare->custom.custom_free_function = free_spare;
	return spare;
}

static struct pbuf *allocate(uint32_t length)
{
	struct spare *spare = interface.spares;

	if (spare)
		interface.spares = spare->next;
	else if (interface.used_spares < SPARES)
		spare = new_spare();
	else
		return pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
	return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &spare->custom, spare->frame, sizeof(spare->frame));
}

/*
 * A stack that stopped reading would stop the switch. Without memory for the
 * whole frame, lwIP gets its acknowledgement.
 */
static struct pbuf *receive_frame(const void *frame, uint32_t length)
{
	struct pbuf *copy = allocate(length);

	if (!copy)
		return receive_headers(frame, length);
	copy_bytes(copy->payload, frame, length);
	return copy;
}

static void look_at_cable(struct cable *cable);

/* At most a ring full. */
static void receive(struct link *link)
{
	const uint64_t most = port_slots(&link->port);
	uint32_t length;
	const void *frame;

	for (uint64_t n = 0; n < most && (frame = port_peek(&link->port, &length)); n++) {
		struct pbuf *copy = length ? receive_frame(frame, length) : NULL;

		port_release(&link->port);
		link->released = true;
		if (!copy)
			continue;
		/* a successor's first frames: what was its predecessor's ends before they are looked at */
		if (!link->cable && interface.cables) {
			struct cable *cable = cable_to((const uint8_t *)copy->payload + 6);

			if (cable)
				look_at_cable(cable);
		}
		if (!connections_frame(copy, &interface.netif) && interface.netif.input(copy, &interface.netif) != ERR_OK)
			pbuf_free(copy);
	}
}

/*
 * The far end's program has ended, or a successor has opened the cable: the
 * frames that it has sent come first, then its connections end, then the
 * successor is let in.
 */
static void renew_cable(struct cable *cable)
{
	struct link *link = &cable->link;

	if (port_is_open(link->port.seen)) {
		receive(link);
		link_drop(link);
		link->port.up = link->port.may_send = false; /* what connections_ended() sends goes through the switch */
		connections_ended(cable->ipv4);
	}
	port_renew(&link->port);
	link->told = true;
	mark_used(cable);
}

static void look_at_cable(struct cable *cable)
{
	if (port_changed(&cable->link.port))
		renew_cable(cable);
	if (!cable->link.port.up)
		port_met(&cable->link.port);
}

/* Both ends have met and go on as they were, and there is no frame. */
static inline bool is_quiet(const struct link *link)
{
	return link->port.up && !port_changed(&link->port) && !ring_ready(&link->port.receive);
}

void interface_receive(void)
{
	struct link *to_switch = &interface.to_switch;

	if (!is_quiet(to_switch)) {
		to_switch->told |= port_look(&to_switch->port);
		receive(to_switch);
	}
	for (struct cable *cable = interface.cable; cable != interface.behind; cable++) {
		if (is_quiet(&cable->link))
			continue;
		look_at_cable(cable);
		if (!port_ready(&cable->link.port))
			continue;
		receive(&cable->link);
		mark_used(cable);
	}
}

void interface_flush(void)
{
	if (!link_is_flushed(&interface.to_switch) && link_flush(&interface.to_switch))
		interface_wake_peer();
	struct cable *cable = interface.used, *next;

	for (interface.used = NULL; cable; cable = next) {
		next = cable->next_used;
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
}

bool interface_is_congested(uint32_t ipv4)
{
	const struct cable *cable = cable_at(ipv4);

	return (cable && cable->link.port.up ? &cable->link : &interface.to_switch)->waiting >= CONGESTED;
}

bool interface_arm(void)
{
	bool empty;

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
