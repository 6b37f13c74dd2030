/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "../copy.h"
#include "../ethernet.h"
#include "switch.h"

void forward_init(struct forward *forward, const struct process_port *port, unsigned count, void *memory,
                  uint64_t timeout, uint64_t life)
{
	require(count <= PROCESS_MAX_PORTS && port_is_open(life));
	forward->count = count;
	forward->timeout = timeout;
	forward->uplink = FORWARD_NONE;
	stations_init(forward);
	forward->deadline = forward->dropped = forward->lost_answers = 0;
	forward->reset_queue.count = forward->reset_queue.next = forward->reset_queue.polled =
		forward->reset_queue.waiting = 0;
	forward->behind = forward->first = 0;
	forward->bell = &forward->private_bell;
	forward->publish_pending = count;
	backlog_init(&forward->backlog);
	for (unsigned i = 0; i < count; i++) {
		enum port_direction out = port[i].upper ? PORT_TO_SWITCH : PORT_FROM_SWITCH;

		forward->port[i] = (struct forward_port){
			.end = port_open((char *)memory + (uint64_t)i * PORT_SIZE, out, life),
			.publish_pending = true,
			.ipv4 = port[i].ipv4,
			.uplink = port[i].uplink || port[i].upper,
			.upper = port[i].upper,
			.lower = port[i].lower,
		};
		require(!forward->port[i].uplink || forward->uplink == FORWARD_NONE);
		if (forward->port[i].uplink)
			forward->uplink = i; /* everything unknown goes there, its own address too */
		else if (!port[i].lower)
			station_add(forward, port[i].mac, port[i].ipv4, i);
	}
}

/* Puts a copy of the frame into the port's ring. Returns false if that is full. */
static inline __attribute__((always_inline)) bool port_put(struct forward_port *to, const void *frame, uint32_t length)
{
	void *buffer = port_reserve(&to->end);

	if (!buffer)
		return false;
	require(length >= ETHERNET_HEADER && length <= PORT_FRAME_MAX);
	copy_bytes(buffer, frame, length);
	port_publish(&to->end, length);
	to->wake_receiver = true;
	to->delivered++;
	return true;
}

/* The same behind the frames that wait for the port already. */
static bool port_deliver(struct forward *forward, unsigned to, const void *frame, uint32_t length)
{
	require(to < forward->count);
	return !backlog_count(&forward->backlog, to) && port_put(&forward->port[to], frame, length);
}

static void forward_flood(struct forward *forward, unsigned source, const void *frame, uint32_t length)
{
	require(source < forward->count);
	for (unsigned i = 0; i < forward->count; i++)
		if (i != source && !port_deliver(forward, i, frame, length))
			forward->port[i].missed++;
}

struct pass {
	uint64_t now;
	bool last;           /* ask to be woken by room */
	unsigned next;       /* the source that the next pass begins with; FORWARD_NONE: no source competed */
};

/* --- ports that are behind --- */

static void stall_begin(struct forward_stall *stall, uint64_t now)
{
	require(!stall->since || stall->since == now);
	stall->since = now;
}

/* Ends a stall. Each pass ends all stalls, then begins those that go on. */
static void stall_end(struct forward_stall *stall, uint64_t now)
{
	require(now >= stall->since);
	if (stall->since)
		stall->used += now - stall->since;
	stall->since = 0;
}

/* Returns how much longer it may last. Called between stall_end() and stall_begin(). */
static uint64_t stall_left(struct forward_stall *stall, uint64_t now, uint64_t timeout, uint64_t limit)
{
	require(now >= stall->period);
	if (!stall->period || now - stall->period >= timeout) {
		stall->period = now;
		stall->used = 0;
	}
	return stall->used < limit ? limit - stall->used : 0;
}

static void backlog_drop(struct forward *forward, unsigned to)
{
	forward->port[to].dropped++;
	forward->dropped++;
}

/* Marks the port as behind: its ring is full, or was and is not yet half empty. */
static void fall_behind(struct forward *forward, struct forward_port *port, uint64_t now)
{
	if (port->behind_since)
		return;
	require(now && forward->behind < forward->count);
	port->behind_since = now;
	port->behind_from = port->delivered;
	forward->behind++;
}

static bool half_empty(const struct forward_port *port)
{
	const struct ring_end *ring = &port->end.transmit;

	return ring->position - atomic_load_explicit(&ring->ring->taken, memory_order_acquire) <= PORT_SLOTS / 2;
}

/* The ring of a port that is behind stays full, so the frames delivered to it count the room that it has made. */
static void port_judge(struct forward *forward, unsigned number, uint64_t now)
{
	struct forward_port *port = &forward->port[number];
	uint64_t took = port->delivered - port->behind_from;

	require(port->behind_since && now >= port->behind_since && port->delivered >= port->behind_from);
	if (now - port->behind_since < forward->timeout)
		return;
	port->late |= took < FORWARD_KEEPS_UP;
	while (!took && backlog_count(&forward->backlog, number)) {
		backlog_release(&forward->backlog, number);
		backlog_drop(forward, number);
	}
	if (took) {
		port->behind_since = now;
		port->behind_from = port->delivered;
	}
}

/* Returns whether the port takes nothing at all. */
static bool port_is_dead(const struct forward *forward, const struct forward_port *port, uint64_t now)
{
	return port->delivered == port->behind_from && now - port->behind_since >= forward->timeout;
}

/* Delivers the frames of the port's backlog that its ring has room for. Returns whether any moved. */
static bool backlog_drain(struct forward *forward, unsigned number)
{
	struct backlog *backlog = &forward->backlog;
	bool moved = false;

	while (backlog_count(backlog, number)) {
		uint32_t length;
		const void *frame = backlog_first(backlog, number, &length);

		if (!port_put(&forward->port[number], frame, length))
			break;
		backlog_release(backlog, number);
		moved = true;
	}
	return moved;
}

/* At the beginning of a pass. Returns whether any frame moved. */
static bool serve_backlogs(struct forward *forward, struct pass *pass)
{
	bool moved = false;

	for (unsigned i = 0; i < forward->count; i++) {
		struct forward_port *port = &forward->port[i];

		stall_end(&port->by_receiver, pass->now);
		stall_end(&port->of_source, pass->now);
		require(port->behind_since || !backlog_count(&forward->backlog, i));
		if (!port->behind_since)
			continue;
		moved |= backlog_drain(forward, i);
		if (pass->last && backlog_count(&forward->backlog, i)) {
			ring_arm_room(&port->end.transmit);
			moved |= backlog_drain(forward, i);
		}
		if (!backlog_count(&forward->backlog, i) && half_empty(port)) {
			require(forward->behind);
			port->behind_since = 0;
			port->late = false;
			forward->behind--;
		}
	}
	return moved;
}

/*
 * Returns whether a frame for another port is behind the head of the source's ring, which is for port `to`. Each frame
 * is examined once: `ahead` is the position reached. True, too, if the ring of a source that carries many programs'
 * frames is full: frames that did not fit may be for other ports.
 */
static bool delays_others(const struct forward *forward, struct forward_port *from, unsigned source, unsigned to)
{
	struct port_end ahead = from->end;
	uint64_t head = ahead.receive.position, end = head + PORT_SLOTS;
	const uint8_t *frame;
	uint32_t length;
	int other = TO_NOBODY;

	require(source != to && to < forward->count);
	if (from->ahead - head > PORT_SLOTS)
		from->ahead = head;
	for (ahead.receive.position = from->ahead; ahead.receive.position != end; ahead.receive.position++) {
		frame = port_peek(&ahead, &length);
		if (!frame)
			break;
		other = length ? frame_destination(forward, source, frame, length) : TO_NOBODY;
		if (other != TO_NOBODY && other != (int)to)
			break;
		other = TO_NOBODY;
	}
	from->ahead = ahead.receive.position;
	return other != TO_NOBODY || (from->ahead == end && (from->uplink || from->lower));
}

/* Lets the source wait until `end`. Returns false, for the caller. */
static bool wait_until(struct forward *forward, uint64_t end)
{
	require(end);
	if (!forward->deadline || end < forward->deadline)
		forward->deadline = end;
	return false;
}

/* Returns how long the source may yet delay its frames for others on account of port `to`, which may be late now. */
static uint64_t delay_left(struct forward *forward, struct forward_port *from, struct forward_port *to, uint64_t now)
{
	uint64_t left = stall_left(&to->by_receiver, now, forward->timeout, forward->timeout / 8);
	uint64_t of_source = stall_left(&from->of_source, now, forward->timeout, forward->timeout / 4);

	to->late |= !left;
	return to->late ? 0 : left < of_source ? left : of_source;
}

/*
 * Handles a frame without room in the ring of its port. Returns true if it was
 * delivered, held or dropped; false if it waits at the head of its source.
 */
static bool deliver_behind(struct forward *forward, unsigned source, unsigned number, const void *frame,
                           uint32_t length, struct pass *pass)
{
	struct forward_port *from = &forward->port[source], *to = &forward->port[number];
	uint64_t left;

	require(source != number && length);
	if (!to->behind_since && pass->next == FORWARD_NONE)
		pass->next = source; /* others have filled the ring before it */
	fall_behind(forward, to, pass->now);
	port_judge(forward, number, pass->now);
	if (pass->last && !port_is_dead(forward, to, pass->now)) {
		ring_arm_room(&to->end.transmit);
		if (port_deliver(forward, number, frame, length))
			return true;
	}
	if (!to->late && !delays_others(forward, from, source, number))
		return wait_until(forward, to->behind_since + forward->timeout);
	if (!port_is_dead(forward, to, pass->now) && backlog_hold(&forward->backlog, source, number, frame, length))
		return true;
	left = delay_left(forward, from, to, pass->now);
	if (left) {
		stall_begin(&to->by_receiver, pass->now);
		stall_begin(&from->of_source, pass->now);
		return wait_until(forward, pass->now + left);
	}
	backlog_drop(forward, number);
	return true;
}

bool forward_make(struct forward *forward, unsigned source, const void *frame, uint32_t length, uint64_t now, bool last)
{
	int number = frame_destination(forward, source, frame, length);
	struct forward_port *to = &forward->port[number < 0 ? 0 : number];

	require(source < forward->count && length <= PORT_FRAME_MAX);
	if (number < 0 || has_ended(to) || is_cut_off(to) || port_deliver(forward, (unsigned)number, frame, length))
		return true;
	fall_behind(forward, to, now);
	if (last) {
		ring_arm_room(&to->end.transmit);
		if (port_deliver(forward, (unsigned)number, frame, length))
			return true;
	}
	return !port_is_dead(forward, to, now) &&
	       backlog_hold(&forward->backlog, source, (unsigned)number, frame, length);
}

/* --- passes --- */

/* Returns whether the program there runs on, by one cheap check: pass_on() makes the complete one. */
static inline bool is_as_before(const struct forward_port *port)
{
	return !port->ended && !is_cut_off(port) && !port_epoch_changed(&port->end);
}

/* Puts the frame into the ring of its port, which succeeds for nearly all frames. Where no port is behind, none has a
 * backlog. */
static inline bool put_at_once(struct forward *forward, int number, const uint8_t *frame, uint32_t length)
{
	if (number < 0 || forward->behind)
		return false;
	struct forward_port *to = &forward->port[number];

	__asm__("" : "+r"(to)); /* else it is computed anew, by a multiplication, at each of its uses */
	require(!backlog_count(&forward->backlog, (unsigned)number));
	return is_as_before(to) && port_put(to, frame, length);
}

/* Passes on a frame that put_at_once() has not put. False if it must wait. Not in line: the loop over frames needs the
 * registers. */
static __attribute__((noinline)) bool pass_on(struct forward *forward, unsigned source, int to, const uint8_t *frame,
                                              uint32_t length, struct pass *pass)
{
	if (to == TO_ALL)
		forward_flood(forward, source, frame, length);
	else if (to == TO_NOBODY)
		forward->port[source].strays++;
	else if (is_cut_off(&forward->port[to]))
		forward->port[to].missed++;
	else if (has_ended(&forward->port[to]))
		answer_for_ended(forward, (unsigned)to, frame, length, pass->now);
	else if (!port_deliver(forward, (unsigned)to, frame, length) &&
		 !deliver_behind(forward, source, (unsigned)to, frame, length, pass))
		return false;
	else if (forward->behind && forward->port[to].behind_since && pass->next == FORWARD_NONE)
		pass->next = source + 1;
	return true;
}

/* Passes on the frame at the head of `source`. Returns false if there is none or it must wait. */
static inline bool forward_one(struct forward *forward, unsigned source, struct pass *pass)
{
	struct forward_port *from = &forward->port[source];
	uint32_t length;
	const uint8_t *frame = port_peek(&from->end, &length);

	if (!frame)
		return false;
	if (!length) {
		from->bad++;
	} else {
		int to = frame_destination(forward, source, frame, length);

		if (!put_at_once(forward, to, frame, length) && !pass_on(forward, source, to, frame, length, pass))
			return false;
		from->frames++;
	}
	port_release(&from->end);
	from->wake_sender = true;
	return true;
}

/* Serves all sources once. Sources that compete for room take turns: the next pass begins behind the one that got it
 * first, or with the first that finds a ring full again. */
static bool sources_serve(struct forward *forward, struct pass *pass)
{
	bool moved = forward->behind && serve_backlogs(forward, pass);
	unsigned source = forward->first;

	require(pass->now && (source < forward->count || !forward->count));
	moved |= reset_queue_serve(forward, pass->now, pass->last);
	moved |= forward->publish_pending;
	forward->publish_pending = false;
	if (forward->reset_queue.count)
		wait_until(forward, forward->reset_queue.since + forward->timeout);

	for (unsigned i = 0; i < forward->count; i++) {
		unsigned n = 0;

		while (n < FORWARD_BATCH && forward_one(forward, source, pass))
			n++;
		moved |= n != 0;
		source = source + 1 < forward->count ? source + 1 : 0;
	}
	if (pass->next != FORWARD_NONE)
		forward->first = pass->next % forward->count;
	return moved;
}

bool forward_pass(struct forward *forward, uint64_t now)
{
	bell_awake(forward->bell);
	return sources_serve(forward, &(struct pass){ .now = now, .next = FORWARD_NONE });
}

bool forward_last_pass(struct forward *forward, uint64_t now)
{
	bell_arm(forward->bell);
	for (unsigned i = 0; i < forward->count; i++)
		port_arm(&forward->port[i].end);
	forward->deadline = 0;
	return sources_serve(forward, &(struct pass){ .now = now, .last = true, .next = FORWARD_NONE });
}

void forward_signal(struct forward *forward, void (*wake)(void *context, unsigned port), void *context)
{
	for (unsigned i = 0; i < forward->count; i++) {
		struct forward_port *port = &forward->port[i];
		bool wakes = port->wake_receiver && port_rings(&port->end);

		wakes |= port->publish_pending;
		if (port->wake_sender && ring_room_wanted(&port->end.receive))
			wakes = true;
		port->wake_receiver = port->wake_sender = port->publish_pending = false;
		if (wakes)
			wake(context, i);
	}
}
