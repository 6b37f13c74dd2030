/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <skerry/require.h>
#include "../lwip/budget.h"
#include "../machine.h"
#include "serve.h"

/* Numbers of sockets, each at most once. */
struct queue {
	uint16_t number[SOCKET_PORT_SOCKETS];
	unsigned first, count;
};

static struct {
	void *memory;
	struct ring_end requests, events;
	struct served served[SOCKET_PORT_SOCKETS];
	struct queue pending, changed;
	struct socket_event answer;
	bool answering;           /* the answer waits for room */
	bool published, released; /* since the program was last asked whether it sleeps */
	bool gone;                /* there is no program any more */
} stack;

struct served *served_socket(unsigned number)
{
	return number < SOCKET_PORT_SOCKETS ? &stack.served[number] : NULL;
}

unsigned served_number(const struct served *s)
{
	require(s >= stack.served && s < stack.served + SOCKET_PORT_SOCKETS);
	return (unsigned)(s - stack.served);
}

void *served_buffer(const struct served *s, enum socket_side producer)
{
	return socket_port_buffer(stack.memory, served_number(s), producer);
}

static void queue_put(struct queue *queue, unsigned number)
{
	require(number < SOCKET_PORT_SOCKETS && queue->count < SOCKET_PORT_SOCKETS);
	queue->number[(queue->first + queue->count++) % SOCKET_PORT_SOCKETS] = (uint16_t)number;
}

static struct served *queue_take(struct queue *queue)
{
	struct served *s = &stack.served[queue->number[queue->first]];

	require(queue->count && queue->first < SOCKET_PORT_SOCKETS);
	queue->first = (queue->first + 1) % SOCKET_PORT_SOCKETS;
	queue->count--;
	return s;
}

void served_pending(struct served *s)
{
	if (!s->pending)
		queue_put(&stack.pending, served_number(s));
	s->pending = true;
}

void served_changed(struct served *s)
{
	if (!s->changed)
		queue_put(&stack.changed, served_number(s));
	s->changed = true;
}

/* A shorter time that the program has named runs on. So does this one, when the program ends after the close. */
static void limit_timeout(struct file *file)
{
	const int timeout = BUDGET_TIMEOUT;
	int limit = 0;
	socklen_t size = sizeof(limit);

	file->ops->getsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, &size);
	if (!limit || limit > timeout)
		file->ops->setsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

/* A close with SO_LINGER and no time waits for nothing. */
static bool close_resets(struct file *file)
{
	struct linger linger = { 0 };
	socklen_t size = sizeof(linger);

	file->ops->getsockopt(file, SOL_SOCKET, SO_LINGER, &linger, &size);
	return linger.l_onoff && !linger.l_linger;
}

/* The program closes the socket: what it wrote comes first, while the peer takes some of it now and then. */
static void begin_closing(struct served *s)
{
	require(s->file);
	s->closing = true;
	limit_timeout(s->file);
	if (close_resets(s->file))
		s->taken = s->written;
	served_pending(s);
}

/* --- the program's end --- */

/* Without its program, what was written is still sent; all connections end. */
static void lose_program(void)
{
	if (stack.gone)
		return;
	stack.gone = true;
	stack.answering = false;
	for (unsigned i = 0; i < SOCKET_PORT_SOCKETS; i++)
		if (stack.served[i].file)
			begin_closing(&stack.served[i]);
}

static bool has_ended(void)
{
	const struct socket_port_header *header = stack.memory;

	return atomic_load_explicit(&header->gone[SOCKET_SIDE_PROGRAM], memory_order_acquire);
}

/* --- requests --- */

static bool take_update(const struct socket_request *r)
{
	struct served *s = served_socket(r->socket);

	if (!s || !s->file || s->closing ||
	    r->written - s->written > SOCKET_PORT_BUFFER - (s->written - s->taken) ||
	    r->read - s->read > s->arrived - s->read)
		return false;
	s->written = r->written;
	s->read = r->read;
	s->shut_wanted |= (r->flags & SOCKET_SHUT_WRITE) != 0;
	s->unread = r->flags & SOCKET_UNREAD;
	if (r->flags & SOCKET_CLOSE)
		begin_closing(s);
	else
		served_pending(s);
	return true;
}

static bool take_request(const struct socket_request *request)
{
	if (request->kind == SOCKET_UPDATE)
		return take_update(request);
	if (stack.answering) /* one call at a time */
		return false;
	stack.answer = (struct socket_event){ .kind = SOCKET_ANSWER, .socket = request->socket };
	stack.answering = call_make(request, &stack.answer);
	return stack.answering;
}

static bool receive_requests(void)
{
	const struct socket_request *slot;
	unsigned n = 0;

	for (; n < SOCKET_PORT_SLOTS && !stack.gone && (slot = ring_peek(&stack.requests)); n++) {
		struct socket_request request;

		memcpy(&request, slot, sizeof(request));
		ring_release(&stack.requests);
		stack.released = true;
		if (!take_request(&request)) {
			console_log("the program broke the socket protocol; all its connections end");
			lose_program();
		}
	}
	if (has_ended())
		lose_program();
	return n;
}

/* --- events --- */

static void event_describe(struct served *s, struct socket_event *event)
{
	require(s->changed);
	*event = (struct socket_event){
		.kind = SOCKET_CHANGED,
		.socket = (uint16_t)served_number(s),
		.flags = s->flags,
		.taken = s->taken,
		.arrived = s->arrived,
		.value = s->value,
	};
	event->local = s->local;
	s->taken_told = s->taken;
	s->value_told = s->value;
	s->changed = false;
}

/* Publishes pending updates before the answer: the client never sees an answer ahead of the state that it depends
 * on. */
static bool publish_events(void)
{
	unsigned before = stack.changed.count;
	struct socket_event *to;

	if (stack.gone)
		return false;
	while (stack.changed.count && (to = ring_reserve(&stack.events))) {
		event_describe(queue_take(&stack.changed), to);
		ring_publish(&stack.events);
		stack.published = true;
	}
	if (stack.answering && !stack.changed.count && (to = ring_reserve(&stack.events))) {
		*to = stack.answer;
		ring_publish(&stack.events);
		stack.published = true;
		stack.answering = false;
	}
	return before != stack.changed.count;
}

static void wake_program(void)
{
	bool wake = stack.published && ring_wanted(&stack.events);

	if (stack.released && ring_room_wanted(&stack.requests))
		wake = true;
	stack.published = stack.released = false;
	if (wake)
		socket_port_wake_peer();
}

/* --- the clockwork --- */

static bool pump_pending(void)
{
	unsigned n = stack.pending.count;

	for (unsigned i = 0; i < n; i++) {
		struct served *s = queue_take(&stack.pending);

		require(s->pending);
		s->pending = false;
		served_pump(s);
	}
	return n;
}

void serve_start(void)
{
	stack.memory = socket_port_memory();
	stack.requests = ring_consumer(socket_port_ring(stack.memory, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	stack.events = ring_producer(socket_port_ring(stack.memory, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
}

/* Serves the program once. Its data goes to lwIP before lwIP sends, so that an answer carries its request's
 * acknowledgement. */
bool serve_pass(void)
{
	bool moved = receive_requests();

	moved |= pump_pending();
	moved |= net_poll();
	moved |= pump_pending();
	moved |= publish_events();
	wake_program();
	return moved;
}

bool serve_prepare_sleep(void)
{
	ring_arm(&stack.requests);
	if (!stack.gone && (stack.changed.count || stack.answering)) {
		ring_arm_room(&stack.events);
		if (ring_reserve(&stack.events)) /* the second look */
			return false;
	}
	if (!stack.gone && (ring_peek(&stack.requests) || has_ended()))
		return false;
	return net_prepare_sleep();
}
