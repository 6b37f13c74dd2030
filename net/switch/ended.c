/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "../copy.h"
#include "../ethernet.h"
#include "switch.h"

/*
 * Returns the station at the port, or behind the lower switch there, that a frame is for or, if `sent`, from. Of other
 * frames the address is 0, for which reset_answer() answers nothing.
 */
static struct reset_port station_of(const struct forward *forward, unsigned port, const void *frame, uint32_t length,
                                    bool sent)
{
	const struct forward_station *station;
	uint8_t header[ARP_FRAME] = { 0 };

	copy_bytes(header, frame, length < ARP_FRAME ? length : ARP_FRAME);
	station = station_by_mac(forward, mac_number(sent ? header + 6 : header));
	if (!station && !sent)
		station = station_by_ipv4(forward, load_raw32(header + ARP_TARGET_IP_OFFSET));
	return station && station->port == port ? (struct reset_port){ .mac = station->mac, .ipv4 = station->ipv4 }
	       : (struct reset_port){ 0 };
}

void answer_for_ended(struct forward *forward, unsigned number, const void *frame, uint32_t length, uint64_t now)
{
	const struct reset_port dead = station_of(forward, number, frame, length, false);
	uint8_t reply[RESET_FRAME];
	uint32_t size = dead.ipv4 ? reset_answer(&dead, frame, length, reply) : 0;

	/* the switch sleeps after no pass that took a frame */
	if (size && !forward_make(forward, number, reply, size, now, false))
		forward->lost_answers++; /* its peer sends the segment again */
}

/* Queues a reset for each connection of the last frames in one of its rings, newest first, unless it has one. */
static void collect_resets(struct forward *forward, unsigned number, enum port_direction direction)
{
	struct reset_queue *queue = &forward->reset_queue;
	const struct forward_port *port = &forward->port[number];
	const bool sent = direction == PORT_TO_SWITCH;
	const struct ring_end *ring = sent ? &port->end.receive : &port->end.transmit;

	for (uint64_t i = 1; i <= PORT_SLOTS && i <= port_count(ring); i++) {
		uint64_t slot = (ring->position - i) & ring->mask;
		const struct port_descriptor *d = (const void *)ring->ring->slot[slot].payload;
		uint32_t length = __atomic_load_n(&d->length, __ATOMIC_RELAXED), size = 0;
		const void *frame = port_buffer(port->end.memory, direction, PORT_SLOTS, slot);
		uint8_t *reset = queue->reset[queue->count];
		unsigned k = 0;

		if (length <= PORT_FRAME_MAX) {
			const struct reset_port dead = station_of(forward, number, frame, length, sent);

			if (dead.ipv4)
				size = sent ? reset_after_sent(&dead, frame, length, reset)
					    : reset_answer(&dead, frame, length, reset);
		}
		if (size != RESET_FRAME) /* no TCP */
			continue;
		require(queue->count < sizeof(queue->reset) / sizeof(queue->reset[0]));
		while (k < queue->count && !reset_same(queue->reset[k], reset))
			k++;
		if (k == queue->count)
			queue->count++;
	}
}

static void drop_backlog(struct forward *forward, unsigned number)
{
	struct forward_port *port = &forward->port[number];

	while (backlog_count(&forward->backlog, number)) {
		backlog_release(&forward->backlog, number);
		port->dropped++;
		forward->dropped++;
	}
	require(!port->behind_since || forward->behind);
	if (port->behind_since)
		forward->behind--;
	port->behind_since = 0;
	port->late = false;
}

/* Collects the resets of the next ended port that has any. Frames that it sent before its end are forwarded first. */
static bool reset_queue_next(struct forward *forward, uint64_t now)
{
	struct reset_queue *queue = &forward->reset_queue;
	const unsigned first = queue->next; /* the loop moves it */

	require(!queue->count && queue->waiting && queue->waiting <= forward->count);
	for (unsigned i = 0; i < forward->count; i++) {
		unsigned number = (first + i) % forward->count;
		struct forward_port *port = &forward->port[number];
		uint32_t length;

		if (!port->ended || port->resets_sent || port_peek(&port->end, &length))
			continue;
		port->resets_sent = true;
		require(queue->waiting && !port->upper);
		queue->waiting--;
		queue->port = number;
		queue->next = number + 1;
		queue->since = now;
		collect_resets(forward, number, PORT_TO_SWITCH);
		collect_resets(forward, number, PORT_FROM_SWITCH);
		if (queue->count)
			return true;
	}
	return false;
}

/* Sends queued resets. Returns whether any left; those without room stay queued. */
static bool send_resets(struct forward *forward, uint64_t now, bool last)
{
	struct reset_queue *queue = &forward->reset_queue;
	unsigned kept = 0, count = queue->count;

	require(count <= 2 * PORT_SLOTS && queue->port < forward->count);
	for (unsigned i = 0; i < count; i++) {
		if (forward_make(forward, queue->port, queue->reset[i], RESET_FRAME, now, last))
			continue;
		if (kept != i)
			copy_bytes(queue->reset[kept], queue->reset[i], RESET_FRAME);
		kept++;
	}
	queue->count = kept;
	return kept < count;
}

static void reset_port_end(struct forward *forward, struct forward_port *port)
{
	require(port->ended || !port->resets_sent);
	port_reset(&port->end);
	port->ended = port->resets_sent = false;
	port->publish_pending = forward->publish_pending = true;
}

/* Resets the connections of a port whose far end has ended, before it admits a successor. */
static void poll_port(struct forward *forward, unsigned number)
{
	struct reset_queue *queue = &forward->reset_queue;
	struct forward_port *port = &forward->port[number];
	bool open = port_is_open(atomic_load_explicit(&port_theirs(&port->end)->epoch, memory_order_acquire));

	if (!port->ended && port_changed(&port->end)) {
		if (port->upper || (open && (!port->end.seen || port_is_given_up(&port->end))))
			return reset_port_end(forward, port);
		port->ended = true;
		queue->waiting++;
		drop_backlog(forward, number);
	} else if (port->ended && port->resets_sent && open && (!queue->count || queue->port != number)) {
		reset_port_end(forward, port);
	}
	port_handshake_done(&port->end);
}

/* Polls all ports in the last pass, which comes after each wake-up; one in each other pass, so that a busy switch sees
 * changes, too. */
static void poll_ports(struct forward *forward, bool last)
{
	struct reset_queue *queue = &forward->reset_queue;

	for (unsigned polls = last || !forward->count ? forward->count : 1; polls; polls--) {
		unsigned number = queue->polled;
		const struct forward_port *port = &forward->port[number];

		require(number < forward->count);
		queue->polled = number + 1 < forward->count ? number + 1 : 0;
		if (port->ended || !port->end.up || port_changed(&port->end)) /* of others there is nothing to say */
			poll_port(forward, number);
	}
}

bool reset_queue_serve(struct forward *forward, uint64_t now, bool last)
{
	struct reset_queue *queue = &forward->reset_queue;
	unsigned waiting;
	bool moved = false;

	poll_ports(forward, last);
	waiting = queue->waiting;
	if (!queue->count && (!queue->waiting || !reset_queue_next(forward, now)))
		return queue->waiting < waiting; /* no resets: a successor that waits is admitted in the next pass */
	moved = send_resets(forward, now, last);
	if (queue->count && now - queue->since >= forward->timeout) {
		forward->port[queue->port].missed += queue->count;
		queue->count = 0;
		moved = true; /* another port's turn */
	}
	return moved;
}
