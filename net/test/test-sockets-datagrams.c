/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP between two programs with lwIP of their own, and of one with itself. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "client.h"
#include "test-sockets.h"
#include "test.h"

enum { PORT = 7000, LARGEST = 1500 - 28, QUEUE = 128 * 1024 };

static struct sockaddr_in at(uint32_t ipv4, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ipv4 };
}

static struct file *datagram_socket(void)
{
	struct file *file;

	CHECK(socket_create(AF_INET, SOCK_DGRAM, 0, &file) == 0);
	return file;
}

static int bind_to(struct file *file, uint32_t ipv4, uint16_t port)
{
	struct sockaddr_in address = at(ipv4, port);

	return file->ops->bind(file, (struct sockaddr *)&address, sizeof(address));
}

static int connect_to_peer(struct file *file, uint32_t ipv4, uint16_t port)
{
	struct sockaddr_in address = at(ipv4, port);

	return file->ops->connect(file, (struct sockaddr *)&address, sizeof(address));
}

static ssize_t send_at(struct file *file, const void *bytes, size_t size, struct sockaddr_in *to)
{
	struct iovec iov = { (void *)bytes, size };
	struct msghdr message = { .msg_name = to, .msg_namelen = to ? sizeof(*to) : 0, .msg_iov = &iov,
	                          .msg_iovlen = 1 };

	return file->ops->sendmsg(file, &message, 0);
}

/* Waits for one. */
static ssize_t receive(struct file *file, void *bytes, size_t size, struct sockaddr_in *from, int flags)
{
	struct iovec iov = { bytes, size };
	struct msghdr message = { .msg_name = from, .msg_namelen = from ? sizeof(*from) : 0, .msg_iov = &iov,
	                          .msg_iovlen = 1 };
	ssize_t n;

	while ((n = file->ops->recvmsg(file, &message, flags)) == -EAGAIN)
		layer_wait(0);
	CHECK(n < 0 || !from || message.msg_namelen == sizeof(*from));
	return n;
}

/* Sends each datagram back, without end. */
void datagram_peer(void)
{
	struct file *file = datagram_socket();
	char bytes[LARGEST];

	CHECK(bind_to(file, 0, PORT) == 0);
	for (;;) {
		struct sockaddr_in from;
		ssize_t n = receive(file, bytes, sizeof(bytes), &from, 0);

		CHECK(n >= 0 && send_at(file, bytes, (size_t)n, &from) == n);
	}
}

static void sizes(void)
{
	static const size_t size[] = { 0, 1, 100, LARGEST - 1, LARGEST };
	struct file *file = datagram_socket();
	struct sockaddr_in name;
	socklen_t length = sizeof(name);
	char out[LARGEST + 1], in[LARGEST + 1];

	CHECK(send_at(file, "x", 1, NULL) == -EDESTADDRREQ);
	CHECK(connect_to_peer(file, layer_address(DATAGRAM_PEER), PORT) == 0);
	CHECK(file->ops->getsockname(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == layer_address(own_port) && name.sin_port);
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		ssize_t n = -EAGAIN;

		fill(out, size[i], (unsigned)i);
		/* Until the peer has bound its port, what is sent there is lost: ask again. */
		while (n == -EAGAIN) {
			struct iovec iov = { in, sizeof(in) };
			struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

			CHECK(send_at(file, out, size[i], NULL) == (ssize_t)size[i]);
			settle(20);
			n = file->ops->recvmsg(file, &message, 0);
		}
		CHECK(n == (ssize_t)size[i] && !memcmp(in, out, size[i]));
		settle(20);
		while (file->ops->read(file, in, sizeof(in)) >= 0) /* answers to repetitions */
			;
	}
	CHECK(send_at(file, out, LARGEST + 1, NULL) == -EMSGSIZE);
	CHECK(file->ops->write(file, out, LARGEST + 1) == -EMSGSIZE);
	close_file(file);
}

/* The parts of one write are one datagram, a read returns one datagram, and the excess is discarded. */
static void messages(void)
{
	struct file *here = datagram_socket(), *there = datagram_socket(), *third = datagram_socket();
	struct sockaddr_in from, to = at(layer_address(own_port), PORT);
	struct iovec part[] = { { "one ", 4 }, { NULL, 0 }, { "two", 3 } };
	char in[16];

	CHECK(bind_to(there, 0, PORT) == 0);
	CHECK(bind_to(third, 0, PORT) == -EADDRINUSE);
	CHECK(bind_to(third, layer_address(own_port + 1u), 0) == -EADDRNOTAVAIL);
	CHECK(connect_to_peer(here, htonl(INADDR_LOOPBACK), PORT) == 0);
	CHECK(here->ops->writev(here, part, 3) == 7 && here->ops->write(here, "three", 5) == 5);
	CHECK(there->ready & EPOLLIN);
	CHECK(receive(there, in, sizeof(in), NULL, MSG_PEEK) == 7 && !memcmp(in, "one two", 7));
	CHECK(receive(there, in, 3, &from, MSG_TRUNC) == 7 && from.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	CHECK(receive(there, in, 2, NULL, 0) == 2 && !memcmp(in, "th", 2));
	CHECK(!(there->ready & EPOLLIN) && there->ops->read(there, in, sizeof(in)) == -EAGAIN);

	/* a connected socket hears its peer alone */
	CHECK(send_at(there, "answer", 6, &from) == 6 && receive(here, in, sizeof(in), NULL, 0) == 6);
	CHECK(send_at(third, "hi", 2, &to) == 2 && receive(there, in, sizeof(in), &to, 0) == 2);
	CHECK(send_at(third, "hi", 2, &from) == 2 && !(here->ready & EPOLLIN));

	CHECK(third->ops->shutdown(third, SHUT_RDWR) == -ENOTCONN);
	CHECK(here->ops->shutdown(here, SHUT_RDWR) == 0 && here->ready & EPOLLHUP);
	CHECK(here->ops->read(here, in, sizeof(in)) == 0 && here->ops->write(here, "x", 1) == -EPIPE);
	close_file(here);
	close_file(there);
	close_file(third);
}

/* A socket that is not read takes no more memory than its queue, and those behind the last one are dropped. */
static void flood(void)
{
	struct file *from = datagram_socket(), *to = datagram_socket();
	char bytes[1000] = { 0 };
	size_t taken = 0, before;

	CHECK(bind_to(to, 0, PORT) == 0 && connect_to_peer(from, layer_address(own_port), PORT) == 0);
	before = layer_allocated();
	for (uint32_t i = 0; i < 5000; i++) {
		memcpy(bytes, &i, sizeof(i));
		CHECK(from->ops->write(from, bytes, sizeof(bytes)) == sizeof(bytes));
	}
	CHECK(layer_allocated() - before < 4 * QUEUE);
	for (uint32_t i; to->ops->read(to, bytes, sizeof(bytes)) == sizeof(bytes); taken++) {
		memcpy(&i, bytes, sizeof(i));
		CHECK(i == taken);
	}
	CHECK(taken > QUEUE / 1500 && taken <= QUEUE / 1000);
	CHECK(from->ops->write(from, bytes, 1) == 1 && to->ops->read(to, bytes, sizeof(bytes)) == 1);
	close_file(from);
	close_file(to);
}

/* Nobody knows where the next answer is awaited: in what way a socket gets its port. */
static void ports(void)
{
	enum { SOCKETS = 48 };
	struct sockaddr_in to = at(layer_address(DATAGRAM_PEER), 1), name;
	unsigned next = 0;
	uint16_t last = 0;

	for (unsigned i = 0; i < SOCKETS; i++) {
		struct file *file = datagram_socket();
		socklen_t length = sizeof(name);

		if (i % 3 == 0)
			CHECK(bind_to(file, 0, 0) == 0);
		else if (i % 3 == 1)
			CHECK(connect_to_peer(file, layer_address(DATAGRAM_PEER), 1) == 0);
		else
			CHECK(send_at(file, "x", 1, &to) == 1);
		CHECK(!file->ops->getsockname(file, (struct sockaddr *)&name, &length) &&
		      ntohs(name.sin_port) >= 49152);
		next += (uint16_t)(ntohs(name.sin_port) - last) < 16;
		last = ntohs(name.sin_port);
		close_file(file);
	}
	CHECK(next < SOCKETS / 4);
}

void datagrams(void)
{
	ports();
	sizes();
	messages();
	flood();
}
