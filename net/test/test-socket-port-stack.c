/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's end of the socket protocol against a hostile stack. */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include "../backend.h"
#include "../remote/remote.h"
#include "test-socket-port.h"
#include "test.h"

static uint32_t arrived[SOCKET_PORT_SOCKETS];

/* Returns an answer that a stack might give to this request. */
static struct socket_event proper(const struct socket_request *r)
{
	struct socket_event e = { .kind = SOCKET_ANSWER, .socket = r->socket, .taken = r->written };

	if (r->kind == SOCKET_CONNECT)
		e.value = -EINPROGRESS;
	if (r->kind == SOCKET_OPEN || r->kind == SOCKET_ACCEPT)
		arrived[r->socket] = 0;
	if (r->kind == SOCKET_GET_OPTION)
		e.size = sizeof(int);
	if (r->kind != SOCKET_UPDATE)
		return e;
	e.kind = SOCKET_CHANGED;
	e.flags = r->flags & SOCKET_CLOSE ? SOCKET_CLOSED
	          : SOCKET_CONNECTED | SOCKET_ACCEPTABLE | (chance(50) ? 0 : SOCKET_ENDED);
	arrived[r->socket] += chance(SOCKET_PORT_BUFFER - (arrived[r->socket] - r->read) + 1);
	e.arrived = arrived[r->socket];
	return e;
}

static void lie(struct socket_event *e)
{
	switch (chance(6)) {
	case 0: e->socket = (uint16_t)chance(SOCKET_PORT_SOCKETS * 2); break;
	case 1: e->kind = (uint16_t)chance(5); break;
	case 2: e->taken = chance(UINT32_MAX); break;
	case 3: e->arrived = chance(UINT32_MAX); break;
	case 4: e->flags = chance(32); break;
	default: e->value = (int32_t)chance(UINT32_MAX); e->size = chance(UINT32_MAX);
	}
}

static void tell(const struct socket_request *request, bool wild)
{
	struct socket_event *e = ring_reserve(&out);

	if (!e)
		return;
	*e = proper(request);
	if (wild)
		lie(e);
	ring_publish(&out);
	sent++;
}

static void some_event(bool wild)
{
	struct socket_request *slot = ring_peek(&in), request;

	if (!slot)
		return;
	request = *slot;
	ring_release(&in);
	tell(&request, wild);
	if (request.kind == SOCKET_CONNECT || request.kind == SOCKET_LISTEN) { /* somebody answers, somebody comes */
		request.kind = SOCKET_UPDATE;
		tell(&request, false);
	}
}

void event_notify(void) {} /* there is one thread */

/* A waiter for an answer gets one; where the stack never sends it, the error for its end. */
bool event_wait(uint64_t deadline)
{
	static unsigned waits;
	struct socket_port_header *header = (void *)port;

	CHECK(!deadline && ++waits < STEPS * 10);
	if (waits > STEPS)
		atomic_store(&header->gone[SOCKET_SIDE_STACK], 1);
	remote_backend.poll();
	remote_backend.prepare_sleep();
	some_event(sent > 100 && !chance(50));
	remote_backend.poll();
	return true;
}

static void use(struct file **file)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct file *other;
	static char bytes[10000];
	int number = 1;
	socklen_t size = sizeof(number);
	ssize_t n = 0;

	if (!*file) {
		if (remote_backend.socket(file))
			*file = NULL;
		return;
	}
	switch (chance(8)) {
	case 0: (*file)->ops->connect(*file, (struct sockaddr *)&address, sizeof(address)); break;
	case 1: (*file)->ops->listen(*file, 1); break;
	case 2: n = (*file)->ops->write(*file, bytes, sizeof(bytes)); break;
	case 3: n = (*file)->ops->read(*file, bytes, sizeof(bytes)); break;
	case 4: (*file)->ops->getsockopt(*file, SOL_SOCKET, SO_TYPE, &number, &size); break;
	case 5: (*file)->ops->setsockopt(*file, SOL_SOCKET, SO_KEEPALIVE, &number, sizeof(number)); break;
	case 6:
		if (!(*file)->ops->accept(*file, &other, NULL, NULL))
			other->ops->close(other);
		break;
	default:
		if (chance(10))
			break;
		file_put(*file);
		*file = NULL;
	}
	CHECK(n <= SOCKET_PORT_BUFFER && size <= sizeof(number));
	moved += n > 0;
}

void hostile_stack(void)
{
	struct file *file[NUMBERS] = { NULL };

	out = ring_producer(socket_port_ring(port, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	in = ring_consumer(socket_port_ring(port, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	remote_backend.start();
	for (unsigned step = 0; step < STEPS && !remote_gone(); step++) {
		use(&file[chance(NUMBERS)]);
		while (chance(3) && ring_peek(&in))
			some_event(sent > 100 && !chance(50));
		remote_backend.poll();
	}
	if (!remote_gone())
		return;
	for (unsigned i = 0; i < NUMBERS; i++) {
		struct remote_socket *s = file[i] ? remote_of(file[i]) : NULL;

		CHECK(!s || s->state == REMOTE_NEW || s->state == REMOTE_LISTENING || s->state == REMOTE_FAILED);
		CHECK(remote_backend.socket(&file[i]) == -ENETDOWN);
	}
}
