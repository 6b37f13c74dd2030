/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's end of the socket port. */
#include <errno.h>
#include <string.h>
#include <skerry/require.h>
#include "../machine.h"
#include "../net.h"
#include "remote.h"

static struct {
	void *memory;
	struct ring_end requests, events;
	struct remote_socket *socket[SOCKET_PORT_SOCKETS];
	uint16_t free[SOCKET_PORT_SOCKETS]; /* numbers */
	unsigned free_count;
	struct remote_socket *first, **last; /* those that changed, in order */
	/* a call is on its way; it sleeps until there is room; its answer is there */
	bool calling, asked, answered;
	struct socket_event answer;
	bool published, released;            /* since the stack was last asked whether it sleeps */
	bool happened;                       /* something that a thread may sleep for, since the last poll */
	bool gone;
} port;

bool remote_gone(void) { return port.gone; }
void remote_happened(void) { port.happened = true; }

void *remote_buffer(const struct remote_socket *socket, enum socket_side producer)
{
	require(port.memory && socket->number < SOCKET_PORT_SOCKETS);
	return socket_port_buffer(port.memory, socket->number, producer);
}

/* Wakes the thread in remote_call(), which may be another than the calling one. */
static void call_goes_on(void)
{
	port.happened = true;
	event_notify();
}

/* --- sockets --- */

struct remote_socket *remote_new(void)
{
	struct remote_socket *socket = port.free_count ? layer_allocate(sizeof(*socket)) : NULL;

	if (!socket)
		return NULL;
	socket->number = port.free[--port.free_count];
	require(!port.socket[socket->number]);
	port.socket[socket->number] = socket;
	return socket;
}

bool remote_has_room(void) { return port.free_count; }

void remote_free(struct remote_socket *socket)
{
	require(port.socket[socket->number] == socket && !socket->changed && port.free_count < SOCKET_PORT_SOCKETS);
	port.socket[socket->number] = NULL;
	port.free[port.free_count++] = socket->number;
	layer_free(socket);
	for (unsigned i = 0; port.free_count == 1 && i < SOCKET_PORT_SOCKETS; i++)
		if (port.socket[i] && port.socket[i]->state == REMOTE_LISTENING)
			remote_update(port.socket[i]);
}

void remote_changed(struct remote_socket *socket)
{
	if (socket->changed || port.gone)
		return;
	require(!*port.last);
	socket->changed = true;
	socket->next_changed = NULL;
	*port.last = socket;
	port.last = &socket->next_changed;
}

/* --- the end --- */

static void port_lose(const char *reason)
{
	if (port.gone)
		return;
	port.gone = true;
	call_goes_on();
	port.first = NULL;
	port.last = &port.first;
	console_log("the network stack is gone: %s; all connections are reset", reason);
	for (unsigned i = 0; i < SOCKET_PORT_SOCKETS; i++)
		if (port.socket[i]) {
			port.socket[i]->changed = false;
			remote_lost(port.socket[i]);
		}
}

static bool has_ended(void)
{
	const struct socket_port_header *header = port.memory;

	return atomic_load_explicit(&header->gone[SOCKET_SIDE_STACK], memory_order_acquire);
}

/* --- requests --- */

static void port_publish_request(struct socket_request *to, const struct remote_socket *socket,
				 const struct socket_request *request)
{
	require(port.socket[socket->number] == socket);
	*to = *request;
	to->socket = socket->number;
	to->written = socket->written;
	to->read = socket->read;
	ring_publish(&port.requests);
	port.published = true;
}

/* Returns whether all changes have been sent. */
static bool tell_changes(void)
{
	struct socket_request *to;

	while (port.first && (to = ring_reserve(&port.requests))) {
		struct remote_socket *socket = port.first;
		struct socket_request request = {
			.kind = SOCKET_UPDATE,
			.flags = (socket->write_shut ? SOCKET_SHUT_WRITE : 0) | (socket->closing ? SOCKET_CLOSE : 0) |
				 (socket->unread ? SOCKET_UNREAD : 0),
		};

		port.first = socket->next_changed;
		if (!port.first)
			port.last = &port.first;
		require(socket->changed);
		socket->changed = false;
		socket->read_told = socket->read;
		port_publish_request(to, socket, &request);
	}
	return !port.first;
}

static bool port_ask(const struct remote_socket *socket, const struct socket_request *request)
{
	struct socket_request *to = tell_changes() ? ring_reserve(&port.requests) : NULL;

	if (to)
		port_publish_request(to, socket, request);
	return to;
}

int remote_call(struct remote_socket *socket, struct socket_request *request, struct socket_event *answer)
{
	int error;

	file_hold(&socket->file);
	while (port.calling && !port.gone)
		event_wait(0);
	if (port.gone) {
		file_put(&socket->file);
		return -ENETDOWN;
	}
	port.calling = true;
	port.answered = false;
	while (!port.gone && !port_ask(socket, request)) {
		port.asked = true;
		event_wait(0);
	}
	port.asked = false;
	while (!port.gone && !port.answered)
		event_wait(0);
	require(port.calling);
	port.calling = false;
	call_goes_on(); /* others may be waiting for their turn */
	error = port.answered ? port.answer.value : -ENETDOWN;
	if (answer)
		*answer = port.answer;
	file_put(&socket->file);
	return error;
}

/* --- events --- */

/* The positions that it names lie where they can. */
static bool is_plausible(const struct remote_socket *socket, const struct socket_event *event)
{
	require(socket->written - socket->taken <= SOCKET_PORT_BUFFER);
	require(socket->arrived - socket->read <= SOCKET_PORT_BUFFER);
	return event->taken - socket->taken <= socket->written - socket->taken &&
	       event->arrived - socket->arrived <= SOCKET_PORT_BUFFER - (socket->arrived - socket->read);
}

static void take_event(const struct socket_event *event)
{
	struct remote_socket *socket = event->socket < SOCKET_PORT_SOCKETS ? port.socket[event->socket] : NULL;

	if (event->kind == SOCKET_ANSWER && port.calling && !port.answered) {
		port.answer = *event;
		port.answered = true;
		call_goes_on();
		return;
	}
	if (event->kind != SOCKET_CHANGED || !socket || !is_plausible(socket, event))
		return port_lose("it broke the protocol");
	if (event->flags & SOCKET_CLOSED) {
		if (!socket->closing || socket->changed)
			return port_lose("it closed what is open");
		return remote_free(socket);
	}
	remote_apply(socket, event);
}

static void receive_events(void)
{
	const struct socket_event *slot;

	for (unsigned n = 0; n < SOCKET_PORT_SLOTS && !port.gone && (slot = ring_peek(&port.events)); n++) {
		struct socket_event event;

		memcpy(&event, slot, sizeof(event));
		ring_release(&port.events);
		port.released = true;
		take_event(&event);
	}
	if (has_ended())
		port_lose("its process has ended");
}

/* --- struct net_backend --- */

static int backend_start(void)
{
	port.memory = socket_port_memory();
	port.requests = ring_producer(socket_port_ring(port.memory, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	port.events = ring_consumer(socket_port_ring(port.memory, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	port.last = &port.first;
	for (unsigned i = 0; i < SOCKET_PORT_SOCKETS; i++)
		port.free[i] = (uint16_t)(SOCKET_PORT_SOCKETS - 1 - i);
	port.free_count = SOCKET_PORT_SOCKETS;
	return 0;
}

static void wake_stack(void)
{
	bool wake = port.published && ring_wanted(&port.requests);

	if (port.released && ring_room_wanted(&port.events))
		wake = true;
	port.published = port.released = false;
	if (wake)
		socket_port_wake_peer();
}

static bool backend_poll(void)
{
	bool happened;

	if (!port.gone) {
		receive_events();
		if (tell_changes() && port.asked && ring_reserve(&port.requests)) {
			port.asked = false; /* its thread has been woken and asks again */
			call_goes_on();
		}
		wake_stack();
	}
	happened = port.happened;
	port.happened = false;
	return happened;
}

static uint64_t backend_deadline(void) { return 0; }

static bool prepare_sleep(void)
{
	if (port.gone)
		return true;
	ring_arm(&port.events);
	if (port.first || port.asked) {
		ring_arm_room(&port.requests);
		if (ring_reserve(&port.requests)) /* the second look */
			return false;
	}
	return !ring_peek(&port.events) && !has_ended();
}

const struct net_backend remote_backend = {
	.start = backend_start, .socket = remote_create,
	.poll = backend_poll, .deadline = backend_deadline, .prepare_sleep = prepare_sleep,
};
