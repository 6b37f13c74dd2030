/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/lab.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include "test.h"

enum { CONNECTIONS = 2048, CHUNK = 65536 };

struct connection {
	struct file *file;
	struct request request;
	unsigned header;     /* bytes of it that have come */
	uint32_t echo_left;
	char *out;           /* what is to be sent */
	size_t out_start, out_end, out_room;
	bool ended;          /* the client has sent its last */
	bool leaves;         /* REQUEST_LEAVE */
	bool holds, shut;    /* REQUEST_HOLD */
};

static struct connection connection[CONNECTIONS];

static char *room_for(struct connection *c, size_t size)
{
	if (c->out_start == c->out_end)
		c->out_start = c->out_end = 0;
	if (c->out_end + size > c->out_room) {
		c->out_room = (c->out_end + size) * 2;
		c->out = realloc(c->out, c->out_room);
	}
	c->out_end += size;
	return c->out + c->out_end - size;
}

static void drop(struct connection *c)
{
	c->file->ops->close(c->file);
	free(c->out);
	*c = (struct connection){ 0 };
}

static void drop_held(void)
{
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (connection[i].shut)
			drop(&connection[i]);
}

static void begin(struct connection *c)
{
	const struct linger hard = { .l_onoff = 1 };
	uint64_t memory;

	c->header = 0;
	switch (c->request.operation) {
	case REQUEST_ECHO:
		c->echo_left = c->request.size;
		break;
	case REQUEST_SOURCE:
		for (uint32_t i = 0; i < c->request.size; i += CHUNK) {
			uint32_t n = c->request.size - i < CHUNK ? c->request.size - i : CHUNK;
			char *to = room_for(c, n);

			for (uint32_t k = 0; k < n; k++)
				to[k] = (char)((i + k) * 7);
		}
		break;
	case REQUEST_LEAVE:
		c->leaves = true;
		break;
	case REQUEST_HOLD:
		c->holds = true;
		if (c->request.size)
			CHECK(!c->file->ops->setsockopt(c->file, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)));
		break;
	case REQUEST_MEMORY:
		drop_held();
		memory = here->calls->allocated();
		memcpy(room_for(c, sizeof(memory)), &memory, sizeof(memory));
		break;
	default:
		CHECK(!"a request that no client sent");
	}
}

static void take(struct connection *c, const char *bytes, size_t size)
{
	while (size) {
		size_t n;

		if (c->echo_left) {
			n = size < c->echo_left ? size : c->echo_left;
			memcpy(room_for(c, n), bytes, n);
			c->echo_left -= (uint32_t)n;
		} else {
			n = sizeof(c->request) - c->header;
			n = size < n ? size : n;
			memcpy((char *)&c->request + c->header, bytes, n);
			c->header += (unsigned)n;
			if (c->header == sizeof(c->request))
				begin(c);
		}
		bytes += n;
		size -= n;
	}
}

/* Says whether anything was done. */
static bool serve(struct connection *c)
{
	static char buffer[CHUNK];
	bool done = false;
	ssize_t n;

	if (!c->ended && c->file->ready & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		n = c->file->ops->read(c->file, buffer, sizeof(buffer));
		if (n > 0) {
			take(c, buffer, (size_t)n);
			done = true;
		} else if (n == 0) {
			c->ended = done = true;
		} else if (n != -EAGAIN) {
			drop(c);
			return true;
		}
	}
	if (c->leaves) {
		drop(c);
		return true;
	}
	if (c->out_start < c->out_end && c->file->ready & (EPOLLOUT | EPOLLERR)) {
		n = c->file->ops->write(c->file, c->out + c->out_start, c->out_end - c->out_start);
		if (n < 0 && n != -EAGAIN) {
			drop(c);
			return true;
		}
		if (n > 0) {
			c->out_start += (size_t)n;
			done = true;
		}
	}
	if (!c->ended || c->shut || c->out_start < c->out_end)
		return done;
	if (c->holds) {
		CHECK(!c->file->ops->shutdown(c->file, SHUT_WR));
		c->shut = true;
	} else {
		drop(c);
	}
	return true;
}

static struct connection *idle_connection(void)
{
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (!connection[i].file)
			return &connection[i];
	CHECK(!"too many connections");
	return NULL;
}

static bool accept_all(struct file *listener)
{
	bool done = false;
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	struct file *file;
	int one = 1;

	while (listener->ops->accept(listener, &file, (struct sockaddr *)&from, &length) == 0) {
		CHECK(from.sin_family == AF_INET && length == sizeof(from));
		CHECK(file->ops->setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
		idle_connection()->file = file;
		done = true;
	}
	return done;
}

void server_run(void)
{
	struct file *listener;
	int one = 1;

	for (unsigned i = 0; i < CONNECTIONS; i++) { /* its predecessor's */
		free(connection[i].out);
		connection[i] = (struct connection){ 0 };
	}
	CHECK(socket_create(AF_INET6, SOCK_STREAM, 0, &listener) == -EAFNOSUPPORT);
	listener = listen_at(SERVER_PORT, 511);
	CHECK(listener->ops->setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	program_passed();
	for (;;) {
		bool done;

		net_poll();
		done = accept_all(listener);
		for (unsigned i = 0; i < CONNECTIONS; i++)
			if (connection[i].file)
				done |= serve(&connection[i]);
		if (!done)
			program_wait(0);
	}
}

/* --- its clients --- */

struct file *connect_server(void)
{
	int error;
	struct file *file = connect_to(address_of(0), SERVER_PORT, &error);

	if (!file)
		fprintf(stderr, "connect: %s\n", strerror(error));
	CHECK(file);
	return file;
}

void request(struct file *file, uint32_t operation, uint32_t size)
{
	struct request r = { operation, size };

	CHECK(write_all(file, &r, sizeof(r)) == sizeof(r));
}

uint64_t server_memory(void)
{
	struct file *file = connect_server();
	uint64_t memory = 0;

	request(file, REQUEST_MEMORY, 0);
	CHECK(read_all(file, &memory, sizeof(memory)) == sizeof(memory));
	close_file(file);
	return memory;
}

void fill(char *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
}

void echo(struct file *file, uint32_t size, unsigned seed)
{
	char *out = malloc(size + 1), *in = malloc(size + 1);

	fill(out, size, seed);
	request(file, REQUEST_ECHO, size);
	CHECK(write_all(file, out, size) == (ssize_t)size);
	CHECK(read_all(file, in, size) == (ssize_t)size);
	CHECK(!memcmp(in, out, size));
	free(out);
	free(in);
}
