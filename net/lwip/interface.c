/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No frame is lost for want of room: those that find the ring full wait, in
 * order, until the switch has taken some, or until there is a switch again. They are lwIP's own pbufs, which it
 * does not send again meanwhile, so that waiting takes no memory. Should there
 * be too many, lwIP is told so and tries again.
 */
#include <string.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <netif/ethernet.h>
#include "../machine.h"
#include "../port_end.h"
#include "headers.h"
#include "interface.h"

enum { BACKLOG_MAX = 8192, CONGESTED = 256, WAKE_BATCH = 32 }; /* BACKLOG_MAX: a power of two */

static struct {
	struct netif netif;
	struct port_end port;
	struct pbuf *backlog[BACKLOG_MAX]; /* frames that wait for room: a ring */
	unsigned first, waiting;
	unsigned published; /* frames sent since the switch was last asked whether it sleeps */
	bool released;      /* frames were taken since it was last asked whether it waits for room */
	bool told;          /* it has to hear of this life, or that we know of its own */
	struct pbuf_custom headers; /* of a frame for which there was no memory */
	uint8_t header_bytes[HEADERS_MAX];
	bool headers_used;
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

	while (interface.waiting && (buffer = port_reserve(&interface.port))) {
		struct pbuf *frame = interface.backlog[interface.first++ % BACKLOG_MAX];

		interface.waiting--;
		publish(frame, buffer);
		pbuf_free(frame);
	}
}

static err_t hold(struct pbuf *frame)
{
	if (interface.waiting >= BACKLOG_MAX)
		return ERR_MEM;
	pbuf_ref(frame);
	interface.backlog[(interface.first + interface.waiting++) % BACKLOG_MAX] = frame;
	return ERR_OK;
}

static err_t send_frame(struct netif *netif, struct pbuf *frame)
{
	char *buffer;

	(void)netif;
	if (frame->tot_len > PORT_FRAME_MAX)
		return ERR_BUF;
	if (interface.waiting)
		send_waiting();
	buffer = interface.waiting ? NULL : port_reserve(&interface.port);
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

void interface_start(const struct process_network *network, uint64_t life)
{
	ip4_addr_t ipv4 = { network->ipv4 }, netmask = { network->netmask }, gateway = { network->gateway };

	interface.port = port_open(interface_memory(), PORT_TO_SWITCH, life);
	interface.told = true;
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

/*
 * A stack that stopped reading would stop the switch. Without memory for the
 * whole frame, lwIP gets its acknowledgement.
 */
static struct pbuf *receive_frame(const void *frame, uint32_t length)
{
	struct pbuf *copy = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);

	if (!copy)
		return receive_headers(frame, length);
	copy_bytes(copy->payload, frame, length);
	return copy;
}

void interface_receive(void)
{
	uint32_t length;
	const void *frame;

	interface.told |= port_look(&interface.port);
	for (unsigned n = 0; n < PORT_SLOTS && (frame = port_peek(&interface.port, &length)); n++) {
		struct pbuf *copy = length ? receive_frame(frame, length) : NULL;

		port_release(&interface.port);
		interface.released = true;
		if (copy && interface.netif.input(copy, &interface.netif) != ERR_OK)
			pbuf_free(copy);
	}
}

void interface_flush(void)
{
	bool wake = interface.told;

	send_waiting();
	if (interface.published)
		wake = ring_wanted(&interface.port.transmit);
	if (interface.released && ring_room_wanted(&interface.port.receive))
		wake = true;
	interface.published = 0;
	interface.released = interface.told = false;
	if (wake)
		interface_wake_peer();
}

void interface_loop(void)
{
	struct netif *netif;

	NETIF_FOREACH(netif)
		if (netif->loop_first)
			netif_poll(netif);
}

bool interface_is_congested(void) { return interface.waiting >= CONGESTED; }

bool interface_arm(void)
{
	uint32_t length;

	ring_arm(&interface.port.receive);
	if (interface.waiting) {
		ring_arm_room(&interface.port.transmit);
		interface_flush(); /* the second look */
	}
	return !port_peek(&interface.port, &length);
}
