/* SPDX-License-Identifier: BSD-2-Clause */
#include "forward.h"
#include "../copy.h"
#include "../ethernet.h"

static unsigned mac_hash(uint64_t mac)
{
	return (unsigned)((mac * 0x9e3779b97f4a7c15ull) >> 56) & (FORWARD_TABLE - 1);
}

static unsigned port_of_mac(const struct forward *forward, uint64_t mac)
{
	unsigned h = mac_hash(mac);

	while (forward->by_mac[h] != FORWARD_NONE && forward->port[forward->by_mac[h]].mac != mac)
		h = (h + 1) & (FORWARD_TABLE - 1);
	return forward->by_mac[h];
}

static unsigned port_of_ipv4(const struct forward *forward, uint32_t ipv4)
{
	for (unsigned i = 0; i < forward->count; i++)
		if (ipv4 && forward->port[i].ipv4 == ipv4)
			return i;
	return FORWARD_NONE;
}

void forward_init(struct forward *forward, const struct process_port *port, unsigned count, void *memory,
		  uint64_t patience)
{
	forward->count = count;
	forward->patience = patience;
	forward->uplink = FORWARD_NONE;
	for (unsigned i = 0; i < FORWARD_TABLE; i++)
		forward->by_mac[i] = FORWARD_NONE;
	for (unsigned i = 0; i < count; i++) {
		uint64_t mac = mac_number(port[i].mac);
		unsigned h = mac_hash(mac);

		forward->port[i] = (struct forward_port){
			.end = port_end((char *)memory + (uint64_t)i * PORT_SIZE, PORT_FROM_SWITCH),
			.mac = mac,
			.ipv4 = port[i].ipv4,
			.uplink = port[i].uplink,
		};
		if (port[i].uplink) {
			forward->uplink = i;
			continue; /* everything unknown goes there, its own address too */
		}
		while (forward->by_mac[h] != FORWARD_NONE)
			h = (h + 1) & (FORWARD_TABLE - 1);
		forward->by_mac[h] = (uint8_t)i;
	}
}

/* Put a copy of the frame into the port's ring; says no when that is full. */
static bool deliver(struct forward_port *to, const void *frame, uint32_t length)
{
	void *buffer = port_reserve(&to->end);

	if (!buffer)
		return false;
	copy_bytes(buffer, frame, length);
	port_publish(&to->end, length);
	to->wake_receiver = true;
	to->full_since = 0;
	return true;
}

static void flood(struct forward *forward, unsigned source, const void *frame, uint32_t length)
{
	for (unsigned i = 0; i < forward->count; i++)
		if (i != source && !deliver(&forward->port[i], frame, length))
			forward->port[i].missed++;
}

enum { TO_ALL = -1, TO_NOBODY = -2 };

/* Where a frame goes: a port, TO_ALL or TO_NOBODY. */
static int destination(const struct forward *forward, unsigned source, const uint8_t *frame, uint32_t length)
{
	uint64_t mac = mac_number(frame);
	unsigned port;

	if (!mac_is_group(mac)) {
		port = port_of_mac(forward, mac);
	} else if (length >= ARP_FRAME && load_be16(frame + ETHERTYPE_OFFSET) == ETHERTYPE_ARP &&
		   load_be16(frame + ARP_OPERATION_OFFSET) == ARP_REQUEST) {
		port = port_of_ipv4(forward, load_raw32(frame + ARP_TARGET_IP_OFFSET));
		if (port == source) /* an announcement: it asks for its own address */
			return TO_ALL;
	} else {
		return TO_ALL;
	}
	if (port == FORWARD_NONE)
		port = forward->uplink;
	return port == FORWARD_NONE || port == source ? TO_NOBODY : (int)port;
}

/* What a pass is given. */
struct pass {
	uint64_t now;
	bool last; /* ask to be woken by room */
};

/* The same for a frame that waits when the ring is full: says no then, and yes once patience has ended. */
static bool deliver_or_wait(struct forward *forward, struct forward_port *to, const void *frame, uint32_t length,
			    const struct pass *pass)
{
	uint64_t end;

	if (deliver(to, frame, length))
		return true;
	if (pass->last) {
		ring_arm_room(&to->end.transmit);
		if (deliver(to, frame, length))
			return true;
	}
	if (!to->full_since)
		to->full_since = pass->now;
	if (pass->now - to->full_since >= forward->patience) {
		to->given_up++;
		return true;
	}
	end = to->full_since + forward->patience;
	if (!forward->deadline || end < forward->deadline)
		forward->deadline = end;
	return false;
}

/* Pass on the frame at the head of `source`. Says no when there is none or it must wait. */
static bool forward_one(struct forward *forward, unsigned source, const struct pass *pass)
{
	struct forward_port *from = &forward->port[source];
	uint32_t length;
	const uint8_t *frame = port_peek(&from->end, &length);

	if (!frame)
		return false;
	if (!length) {
		from->bad++;
	} else {
		int to = destination(forward, source, frame, length);

		if (to == TO_ALL)
			flood(forward, source, frame, length);
		else if (to == TO_NOBODY)
			from->strays++;
		else if (!deliver_or_wait(forward, &forward->port[to], frame, length, pass))
			return false;
		from->frames++;
	}
	port_release(&from->end);
	from->wake_sender = true;
	return true;
}

static bool move(struct forward *forward, const struct pass *pass)
{
	bool moved = false;

	for (unsigned i = 0; i < forward->count; i++) {
		unsigned n = 0;

		while (n < FORWARD_BATCH && forward_one(forward, i, pass))
			n++;
		moved |= n != 0;
	}
	return moved;
}

bool forward_pass(struct forward *forward, uint64_t now)
{
	return move(forward, &(struct pass){ .now = now });
}

bool forward_last_pass(struct forward *forward, uint64_t now)
{
	for (unsigned i = 0; i < forward->count; i++)
		ring_arm(&forward->port[i].end.receive);
	forward->deadline = 0;
	return move(forward, &(struct pass){ .now = now, .last = true });
}

void forward_signal(struct forward *forward, void (*wake)(void *context, unsigned port), void *context)
{
	for (unsigned i = 0; i < forward->count; i++) {
		struct forward_port *port = &forward->port[i];
		bool wanted = port->wake_receiver && ring_wanted(&port->end.transmit);

		if (port->wake_sender && ring_room_wanted(&port->end.receive))
			wanted = true;
		port->wake_receiver = port->wake_sender = false;
		if (wanted)
			wake(context, i);
	}
}
