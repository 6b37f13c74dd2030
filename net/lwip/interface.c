/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No frame is lost for want of room: those that find the ring full wait in a
 * list, in order, until the switch has taken some. The list is bounded by what
 * TCP's windows let out; should something else fill it, lwIP is told so
 * and tries again.
 */
#include <string.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <netif/ethernet.h>
#include "../machine.h"
#include "../port_end.h"
#include "interface.h"

enum { BACKLOG_MAX = 8192, WAKE_BATCH = 32 };

static struct {
	struct netif netif;
	struct port_end port;
	struct pbuf *first, *last; /* frames that wait for room, one pbuf each, chained by `next` */
	unsigned waiting;
	unsigned published; /* frames sent since the switch was last asked whether it sleeps */
	bool released;      /* frames were taken since it was last asked whether it waits for room */
} interface;

static void publish(const struct pbuf *frame, char *buffer)
{
	uint32_t length = 0;

	for (; frame; length += frame->len, frame = frame->next)
		copy_bytes(buffer + length, frame->payload, frame->len);
	port_publish(&interface.port, length);
	interface.published++;
}

static void send_waiting(void)
{
	char *buffer;

	while (interface.first && (buffer = port_reserve(&interface.port))) {
		struct pbuf *frame = interface.first;

		interface.first = frame->next;
		interface.waiting--;
		frame->next = NULL;
		publish(frame, buffer);
		pbuf_free(frame);
	}
}

static err_t hold(const struct pbuf *frame)
{
	struct pbuf *copy;

	if (interface.waiting >= BACKLOG_MAX || !(copy = pbuf_clone(PBUF_RAW, PBUF_RAM, (struct pbuf *)frame)))
		return ERR_MEM;
	if (interface.first)
		interface.last->next = copy;
	else
		interface.first = copy;
	interface.last = copy;
	interface.waiting++;
	return ERR_OK;
}

static err_t send_frame(struct netif *netif, struct pbuf *frame)
{
	char *buffer;

	(void)netif;
	if (frame->tot_len > PORT_FRAME_MAX)
		return ERR_BUF;
	if (interface.first)
		send_waiting();
	buffer = interface.first ? NULL : port_reserve(&interface.port);
	if (!buffer)
		return hold(frame);
	publish(frame, buffer);
	if (interface.published >= WAKE_BATCH) /* let the switch begin while this batch goes on */
		interface_flush();
	return ERR_OK;
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
	netif->output = etharp_output;
	netif->linkoutput = send_frame;
	return ERR_OK;
}

void interface_start(const struct process_network *network)
{
	ip4_addr_t ipv4 = { network->ipv4 }, netmask = { network->netmask }, gateway = { network->gateway };

	interface.port = port_end(interface_memory(), PORT_TO_SWITCH);
	netif_add(&interface.netif, &ipv4, &netmask, &gateway, (void *)network, set_up, ethernet_input);
	netif_set_default(&interface.netif);
	netif_set_up(&interface.netif);
	interface_flush();
}

void interface_receive(void)
{
	uint32_t length;
	const void *frame;

	for (unsigned n = 0; n < PORT_SLOTS && (frame = port_peek(&interface.port, &length)); n++) {
		/* without memory the frame is lost, for a stack that stopped reading would stop the switch */
		struct pbuf *copy = length ? pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM) : NULL;

		if (copy)
			copy_bytes(copy->payload, frame, length);
		port_release(&interface.port);
		interface.released = true;
		if (copy && interface.netif.input(copy, &interface.netif) != ERR_OK)
			pbuf_free(copy);
	}
}

void interface_flush(void)
{
	bool wake = false;

	send_waiting();
	if (interface.published)
		wake = ring_wanted(&interface.port.transmit);
	if (interface.released && ring_room_wanted(&interface.port.receive))
		wake = true;
	interface.published = 0;
	interface.released = false;
	if (wake)
		interface_wake_peer();
}

bool interface_arm(void)
{
	uint32_t length;

	ring_arm(&interface.port.receive);
	if (interface.first) {
		ring_arm_room(&interface.port.transmit);
		interface_flush(); /* the second look */
	}
	return !port_peek(&interface.port, &length);
}
