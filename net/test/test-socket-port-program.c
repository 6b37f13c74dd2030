/* SPDX-License-Identifier: BSD-2-Clause */
/* The program is hostile: the stack's end, over sockets that do as they like. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "../backend.h"
#include "../stack/serve.h"
#include "test-socket-port.h"
#include "test.h"

/* --- sockets of the stack that do as they like --- */

static ssize_t moves(struct file *file, const void *buffer, size_t size, enum socket_side producer)
{
	const char *own = socket_port_buffer(port, file->number, producer), *at = buffer;

	CHECK(file->number < SOCKET_PORT_SOCKETS && size && size <= SOCKET_PORT_BUFFER);
	CHECK(at >= own && at + size <= own + SOCKET_PORT_BUFFER);
	moved++;
	switch (chance(8)) {
	case 0: return -EAGAIN;
	case 1: return chance(20) ? -EAGAIN : -ECONNRESET;
	default: return 1 + chance((uint32_t)size);
	}
}

static ssize_t fake_write(struct file *file, const void *buffer, size_t size)
{
	return moves(file, buffer, size, SOCKET_SIDE_PROGRAM);
}

static ssize_t fake_read(struct file *file, void *buffer, size_t size)
{
	ssize_t n = chance(50) ? moves(file, buffer, size, SOCKET_SIDE_STACK) : 0;

	if (n > 0)
		memset(buffer, 1, (size_t)n);
	return n;
}

static const struct file_operations fake;

static int fake_new(struct file **file)
{
	*file = layer_allocate(sizeof(**file));
	file_init(*file, &fake, 0);
	(*file)->ready = EPOLLOUT;
	return chance(10) ? 0 : (free(*file), -ENOBUFS);
}

int socket_create(int domain, int type, int protocol, struct file **file)
{
	CHECK(domain == AF_INET && type == SOCK_STREAM && !protocol);
	return fake_new(file);
}

static int fake_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	CHECK(file && address && length == sizeof(struct sockaddr_in));
	return chance(2) ? 0 : -EADDRINUSE;
}

static int fake_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)fake_bind(file, address, length);
	return chance(2) ? -EINPROGRESS : -EISCONN;
}

static int fake_listen(struct file *file, int backlog)
{
	(void)backlog;
	return file ? -(int)chance(2) : 0;
}

static int fake_accept(struct file *file, struct file **connection, struct sockaddr *address, socklen_t *length)
{
	CHECK(file && !address && !length);
	return chance(2) ? -EAGAIN : fake_new(connection);
}

static int fake_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	memset(address, 0, *length);
	address->sa_family = AF_INET;
	return file ? 0 : -EINVAL;
}

static int fake_set(struct file *file, int level, int option, const void *value, socklen_t size)
{
	(void)level, (void)option;
	CHECK(file && value && size <= SOCKET_OPTION_BYTES);
	return 0;
}

static int fake_get(struct file *file, int level, int option, void *value, socklen_t *size)
{
	(void)level, (void)option;
	CHECK(file && *size <= SOCKET_OPTION_BYTES);
	memset(value, 0, *size);
	return 0;
}

static int fake_shutdown(struct file *file, int how) { return file && how == SHUT_WR ? 0 : -EINVAL; }
static void fake_close(struct file *file) { free(file); }

static const struct file_operations fake = {
	.name = "made up", .read = fake_read, .write = fake_write, .close = fake_close, .bind = fake_bind,
	.listen = fake_listen, .accept = fake_accept, .connect = fake_connect, .getsockname = fake_name,
	.getpeername = fake_name, .setsockopt = fake_set, .getsockopt = fake_get, .shutdown = fake_shutdown,
};

/* --- the program is hostile --- */

static bool asked; /* a call whose answer has not come */

/* Returns a request that a program might make of this socket now. */
static struct socket_request sensible(const struct served *s)
{
	struct socket_request r = { .socket = (uint16_t)served_number(s), .kind = SOCKET_UPDATE };
	uint32_t room = SOCKET_PORT_BUFFER - (s->written - s->taken), held = s->arrived - s->read;

	if (!s->file) {
		r.kind = SOCKET_OPEN;
		for (unsigned i = 0; i < NUMBERS; i++)
			if (served_socket(i)->listening && served_socket(i)->file && chance(2)) {
				r.kind = SOCKET_ACCEPT;
				r.value = (int32_t)i;
			}
		return r;
	}
	if (!asked && !chance(4)) {
		r.kind = (uint16_t)(SOCKET_BIND + chance(SOCKET_GET_OPTION - SOCKET_BIND + 1));
		if (r.kind == SOCKET_ACCEPT)
			r.kind = SOCKET_LISTEN;
		r.size = chance(SOCKET_OPTION_BYTES + 1);
	}
	r.written = s->written + chance(room + 1);
	r.read = s->read + chance(held + 1);
	r.flags = chance(40) ? 0 : chance(8);
	return r;
}

/* The same with something that no program says. */
static void spoil(struct socket_request *r)
{
	switch (chance(6)) {
	case 0: r->socket = (uint16_t)chance(0x10000); break;
	case 1: r->kind = (uint16_t)chance(20); break;
	case 2: r->written = chance(UINT32_MAX); break;
	case 3: r->read = chance(UINT32_MAX); break;
	case 4: r->size = chance(UINT32_MAX); break;
	default: r->value = (int32_t)chance(UINT32_MAX); r->flags = chance(UINT32_MAX);
	}
}

static void some_request(bool wild)
{
	const struct served *s = served_socket(chance(NUMBERS));
	struct socket_request r = sensible(s), *slot;

	if (!wild && ((r.kind != SOCKET_UPDATE && asked) || s->closing || (!s->file && s->changed)))
		return;
	slot = ring_reserve(&out);
	if (!slot)
		return;
	asked |= r.kind != SOCKET_UPDATE;
	if (wild)
		spoil(&r);
	*slot = r;
	ring_publish(&out);
	sent++;
}

void hostile_program(void)
{
	struct socket_event *event;

	out = ring_producer(socket_port_ring(port, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	in = ring_consumer(socket_port_ring(port, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	serve_start();
	for (unsigned step = 0; step < STEPS && !said; step++) {
		some_request(step > 200 && !chance(50));
		serve_pass();
		while (chance(4) && (event = ring_peek(&in))) {
			asked &= event->kind != SOCKET_ANSWER;
			ring_release(&in);
		}
		for (unsigned i = 0; i < NUMBERS; i++) {
			struct served *s = served_socket(i);

			CHECK(s->written - s->taken <= SOCKET_PORT_BUFFER &&
			      s->arrived - s->read <= SOCKET_PORT_BUFFER);
			if (s->file && !chance(10))
				file_ready_again(s->file, EPOLLIN | EPOLLOUT, 0);
		}
		serve_prepare_sleep();
	}
	for (unsigned i = 0; i < 1000; i++) /* what is left comes to an end: a stack without a program rests */
		serve_pass();
}
