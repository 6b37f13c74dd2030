/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "ended.h"
#include "stations.h"
#include "../copy.h"
#include "../ethernet.h"

/*
 * The station at the port, or behind the lower switch there, that a frame is for or, if `sent`, from. One that is no
 * station's there has address 0, for which reset.h answers nothing.
 */
static struct reset_port station_of(const struct forward *forward, unsigned port, const void *frame, uint32_t length,
                                    bool sent)
{
	const struct forward_station *found;
	uint8_t header[ARP_FRAME] = { 0 };

	copy_bytes(header, frame, length < ARP_FRAME ? length : ARP_FRAME);
	found = station_by_mac(forward, mac_number(sent ? header + 6 : header));
	if (!found && !sent)
		found = station_by_ipv4(forward, load_raw32(header + ARP_TARGET_IP_OFFSET));
	return found && found->port == port ? (struct reset_port){ .mac = found->mac, .ipv4 = found->ipv4 }
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

/* A reset for each connection of the last frames in one of its rings, newest first, unless there is one already. */
static void collect_resets(struct forward *forward, unsigned number, enum port_direction direction)
{
	struct telling *telling = &forward->telling;
	const struct forward_port *port = &forward->port[number];
	const bool sent = direction == PORT_TO_SWITCH;
	const struct ring_end *ring = sent ? &port->end.receive : &port->end.transmit;

	for (uint64_t i = 1; i <= PORT_SLOTS && i <= port_count(ring); i++) {
		uint64_t slot = (ring->position - i) & ring->mask;
		const struct port_descriptor *d = (const void *)ring->ring->slot[slot].payload;
		uint32_t length = __atomic_load_n(&d->length, __ATOMIC_RELAXED), size = 0;
		const void *frame = port_buffer(port->end.memory, direction, PORT_SLOTS, slot);
		uint8_t *reset = telling->reset[telling->count];
		unsigned k = 0;

		if (length <= PORT_FRAME_MAX) {
			const struct reset_port dead = station_of(forward, number, frame, length, sent);

			if (dead.ipv4)
				size = sent ? reset_after_sent(&dead, frame, length, reset)
					    : reset_answer(&dead, frame, length, reset);
		}
		if (size != RESET_FRAME) /* no TCP */
			continue;
		require(telling->count < sizeof(telling->reset) / sizeof(telling->reset[0]));
		while (k < telling->count && !reset_same(telling->reset[k], reset))
			k++;
		if (k == telling->count)
			telling->count++;
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

/* The next port of which the peers are to be told: none of its own frames waits, which its peers must see before. */
static bool begin_telling(struct forward *forward, uint64_t now)
{
	struct telling *telling = &forward->telling;
	const unsigned first = telling->next; /* the loop moves it */

	require(!telling->count && telling->waiting && telling->waiting <= forward->count);
	for (unsigned i = 0; i < forward->count; i++) {
		unsigned number = (first + i) % forward->count;
		struct forward_port *port = &forward->port[number];
		uint32_t length;

		if (!port->ended || port->told || port_peek(&port->end, &length))
			continue;
		port->told = true;
		require(telling->waiting && !port->upper);
		telling->waiting--;
		telling->port = number;
		telling->next = number + 1;
		telling->since = now;
		collect_resets(forward, number, PORT_TO_SWITCH);
		collect_resets(forward, number, PORT_FROM_SWITCH);
		if (telling->count)
			return true;
	}
	return false;
}

/* Returns whether any reset left. Those for which there is no room stay. */
static bool send_resets(struct forward *forward, uint64_t now, bool last)
{
	struct telling *telling = &forward->telling;
	unsigned kept = 0, count = telling->count;

	require(count <= 2 * PORT_SLOTS && telling->port < forward->count);
	for (unsigned i = 0; i < count; i++) {
		if (forward_make(forward, telling->port, telling->reset[i], RESET_FRAME, now, last))
			continue;
		if (kept != i)
			copy_bytes(telling->reset[kept], telling->reset[i], RESET_FRAME);
		kept++;
	}
	telling->count = kept;
	return kept < count;
}

static void renew_port(struct forward *forward, struct forward_port *port)
{
	require(port->ended || !port->told);
	port_renew(&port->end);
	port->ended = port->told = false;
	port->news = forward->news = true;
}

/* Peers of a port are told first that its far end has ended; then a successor is admitted. */
static void look_at(struct forward *forward, unsigned number)
{
	struct telling *telling = &forward->telling;
	struct forward_port *port = &forward->port[number];
	bool open = port_is_open(atomic_load_explicit(&port_theirs(&port->end)->epoch, memory_order_acquire));

	if (!port->ended && port_changed(&port->end)) {
		if (port->upper || (open && (!port->end.seen || port_is_given_up(&port->end))))
			return renew_port(forward, port);
		port->ended = true;
		telling->waiting++;
		drop_backlog(forward, number);
	} else if (port->ended && port->told && open && (!telling->count || telling->port != number)) {
		renew_port(forward, port);
	}
	port_met(&port->end);
}

/* All ports in the last pass, which comes after each wake-up; one in each other pass, so that a busy switch learns of
 * them, too. */
static void look_for_ended(struct forward *forward, bool last)
{
	struct telling *telling = &forward->telling;

	for (unsigned looks = last || !forward->count ? forward->count : 1; looks; looks--) {
		unsigned number = telling->look;
		const struct forward_port *port = &forward->port[number];

		require(number < forward->count);
		telling->look = number + 1 < forward->count ? number + 1 : 0;
		if (port->ended || !port->end.up || port_changed(&port->end)) /* of others there is nothing to say */
			look_at(forward, number);
	}
}

bool tell_ended(struct forward *forward, uint64_t now, bool last)
{
	struct telling *telling = &forward->telling;
	unsigned waiting;
	bool moved = false;

	look_for_ended(forward, last);
	waiting = telling->waiting;
	if (!telling->count && (!telling->waiting || !begin_telling(forward, now)))
		return telling->waiting < waiting; /* nobody was to be told: a successor that waits already is admitted in the next pass */
	moved = send_resets(forward, now, last);
	if (telling->count && now - telling->since >= forward->patience) {
		forward->port[telling->port].missed += telling->count;
		telling->count = 0;
		moved = true; /* another port's turn */
	}
	return moved;
}
