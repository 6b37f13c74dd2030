/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections, listeners, programs and stacks that end; UDP between two programs, and of one with itself. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include "lab/lab.h"
#include "test-sockets.h"
#include "test.h"

/* The first one starts a timer of 250 ms, before the one for which the program would have slept. */
static void first_connection(void)
{
	struct file *file;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file) == 0);
	net_poll();
	net_deadline();
	close_file(file);
	file = connect_server();
	CHECK(net_deadline() <= in_ms(252));
	close_file(file);
}

/* A connection with a name of its own from the beginning, and the peer's when there is one. */
static struct file *named(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
	                                .sin_addr.s_addr = address_of(0) };
	struct sockaddr_in own, name;
	socklen_t length = sizeof(own);
	struct file *file;
	int error;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file) == 0);
	CHECK(file->ops->connect(file, (const struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
	CHECK(file->ops->getsockname(file, (struct sockaddr *)&own, &length) == 0 && own.sin_family == AF_INET);
	CHECK(own.sin_addr.s_addr == address_of(own_place()) && own.sin_port);
	error = file->ops->getpeername(file, (struct sockaddr *)&name, &length);
	CHECK(error == -ENOTCONN || (lab.apart && !error)); /* a process apart may have connected meanwhile */
	while (!(file->ready & EPOLLOUT))
		program_wait(0);
	CHECK(file->ops->getpeername(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == to.sin_addr.s_addr && name.sin_port == to.sin_port);
	CHECK(file->ops->getsockname(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == own.sin_addr.s_addr && name.sin_port == own.sin_port);
	return file;
}

/* Nobody knows the port of the next connection. */
static void ports(void)
{
	enum { CONNECTIONS = 32 };
	unsigned next = 0;
	uint16_t last = 0;

	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct file *file = named();
		struct sockaddr_in own;
		socklen_t length = sizeof(own);

		CHECK(!file->ops->getsockname(file, (struct sockaddr *)&own, &length) && ntohs(own.sin_port) >= 49152);
		next += (uint16_t)(ntohs(own.sin_port) - last) < 16;
		last = ntohs(own.sin_port);
		close_file(file);
	}
	CHECK(next < CONNECTIONS / 4);
}

void ends(void)
{
	struct linger hard = { 1, 0 };
	struct file *file;
	char byte[200];
	int error;

	first_connection();
	ports();
	CHECK(!connect_to(address_of(0), SERVER_PORT + 1, &error) && error == ECONNREFUSED);

	/* half-close: the answer still comes, then the end */
	file = connect_server();
	request(file, REQUEST_SOURCE, 300000);
	CHECK(file->ops->shutdown(file, SHUT_WR) == 0);
	CHECK(file->ops->write(file, "x", 1) == -EPIPE);
	for (uint32_t i = 0; i < 300000; i += 100) {
		CHECK(read_all(file, byte, 100) == 100);
		for (uint32_t k = 0; k < 100; k++)
			CHECK(byte[k] == (char)((i + k) * 7));
	}
	CHECK(read_some(file, byte, 1) == 0 && file->ready & EPOLLRDHUP && file->ready & EPOLLHUP);
	CHECK(pending_error(file) == 0);
	close_file(file);

	/* the server resets a client that it dropped with unread data, or whose request makes no sense */
	file = connect_server();
	CHECK(file->ops->setsockopt(file, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)) == 0);
	request(file, REQUEST_SOURCE, 1 << 20);
	CHECK(read_all(file, byte, 100) == 100);
	close_file(file); /* with a reset */

	file = named();

	/* looking without taking, and pieces of a message */
	echo(file, 1, 1);
	request(file, REQUEST_SOURCE, 5000);
	while (!(file->ready & EPOLLIN))
		program_wait(0);
	struct iovec iov[2] = { { byte, 3 }, { byte + 3, 50 } };
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = 2 };
	for (int i = 0; i < 2; i++) {
		memset(byte, 0, sizeof(byte));
		CHECK(file->ops->recvmsg(file, &message, MSG_PEEK) == 53);
		for (unsigned k = 0; k < 53; k++)
			CHECK(byte[k] == (char)(k * 7));
	}
	CHECK(file->ops->recvmsg(file, &message, 0) == 53 && byte[52] == (char)(52 * 7));
	CHECK(read_all(file, byte, 1) == 1 && byte[0] == (char)(53 * 7));
	close_file(file);
}

/* Both ends of a connection to the listener. */
static void connect_within(struct file *listener, uint16_t port, struct file **client, struct file **server)
{
	int error;

	*client = connect_to(address_of(own_place()), port, &error);
	CHECK(*client);
	while (!(listener->ready & EPOLLIN))
		program_wait(0);
	CHECK(listener->ops->accept(listener, server, NULL, NULL) == 0);
}

/* The text arrives without waiting for any timer. */
static void at_once(struct file *from, struct file *to, size_t size)
{
	static char bytes[20000];
	size_t got = 0;

	CHECK(from->ops->write(from, bytes, size) == (ssize_t)size);
	for (unsigned turn = 0; turn < 100 && got < size; turn++) {
		ssize_t n = to->ops->read(to, bytes, size - got);

		got += n > 0 ? (size_t)n : 0;
		net_poll();
	}
	CHECK(got == size);
}

/*
 * A listener's options are its connections'. And with Nagle's algorithm the end of a text waits for the acknowledgement
 * of another end, not of full segments: a reader keeps back every other one's for a quarter of a second.
 */
static void ends_of_texts(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7001) };
	struct file *listener, *client, *server;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listener->ops->listen(listener, 10) == 0);
	for (size_t size = 1; !lab.apart && size < 20000; size += 367) { /* a process apart takes its time */
		connect_within(listener, 7001, &client, &server);
		at_once(server, client, size);
		close_file(client);
		close_file(server);
	}
	int on = 1, idle = 77, found = 0;
	socklen_t length = sizeof(found);

	CHECK(listener->ops->setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	CHECK(listener->ops->setsockopt(listener, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) == 0);
	connect_within(listener, 7001, &client, &server);
	CHECK(server->ops->getsockopt(server, IPPROTO_TCP, TCP_NODELAY, &found, &length) == 0 && found == 1);
	CHECK(server->ops->getsockopt(server, IPPROTO_TCP, TCP_KEEPIDLE, &found, &length) == 0 && found == idle);
	for (unsigned i = 0; !lab.apart && i < 10; i++)
		at_once(server, client, 1 + i * 900); /* ends behind ends */
	CHECK(server->ops->setsockopt(server, IPPROTO_TCP, TCP_USER_TIMEOUT, &idle, sizeof(idle)) == 0);
	found = 0;
	CHECK(server->ops->getsockopt(server, IPPROTO_TCP, TCP_USER_TIMEOUT, &found, &length) == 0 && found == idle);
	close_file(client);
	close_file(server);
	close_file(listener);
}

/* A connection from a stack to itself, a reset seen by its peer, and a listener closed with connections waiting. */
void within_one_stack(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7000) };
	struct linger hard = { 1, 0 };
	struct file *listener, *client, *server;
	char bytes[1000];
	int error;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->listen(listener, 1) == 0); /* on a port of lwIP's choice */
	close_file(listener);
	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listener->ops->listen(listener, 10) == 0);
	for (unsigned i = 0; i < 2; i++) {
		client = connect_to(i ? address_of(own_place()) : htonl(INADDR_LOOPBACK), 7000, &error);
		CHECK(client);
		while (!(listener->ready & EPOLLIN))
			program_wait(0);
		CHECK(listener->ops->accept(listener, &server, NULL, NULL) == 0);
		CHECK(listener->ops->accept(listener, &server, NULL, NULL) == -EAGAIN);
		CHECK(write_all(client, "hello", 5) == 5 && read_all(server, bytes, 5) == 5 &&
		      !memcmp(bytes, "hello", 5));
		if (i) {
			CHECK(client->ops->setsockopt(client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)) == 0);
			close_file(client);
			CHECK(read_some(server, bytes, 1) == -ECONNRESET);
			CHECK(read_some(server, bytes, 1) == 0 && server->ops->write(server, "x", 1) == -EPIPE);
		} else {
			close_file(client);
			CHECK(read_some(server, bytes, 1) == 0);
		}
		close_file(server);
	}
	/* close with unread data: the other side learns that it was lost */
	client = connect_to(address_of(own_place()), 7000, &error);
	while (!(listener->ready & EPOLLIN))
		program_wait(0);
	CHECK(client && listener->ops->accept(listener, &server, NULL, NULL) == 0);
	CHECK(write_all(client, bytes, 1000) == 1000);
	while (!(server->ready & EPOLLIN))
		program_wait(0);
	close_file(server);
	CHECK(read_some(client, bytes, 1) == -ECONNRESET);
	close_file(client);

	client = connect_to(address_of(own_place()), 7000, &error);
	while (!(listener->ready & EPOLLIN))
		program_wait(0);
	close_file(listener);
	CHECK(client && read_some(client, bytes, 1) == -ECONNRESET);
	close_file(client);
	ends_of_texts();
}

/* Dies with requests half sent and answers on their way; its port stays behind, unread. */
void vanish(void)
{
	static char some[100000];
	struct file *file[8];

	for (unsigned i = 0; i < 8; i++) {
		file[i] = connect_server();
		request(file[i], REQUEST_SOURCE, 8 << 20);
		request(file[i], REQUEST_ECHO, 100000);
		CHECK(write_all(file[i], some, 1000) == 1000);
	}
	for (unsigned round = 0; round < 20; round++) /* until the server sends whole windows */
		for (unsigned i = 0; i < 8; i++)
			CHECK(read_all(file[i], some, sizeof(some)) == sizeof(some));
	program_vanish();
}

/* Until the switch gives up the dead port, and beyond. */
void others_while_one_vanishes(void)
{
	struct file *file = connect_server();
	uint64_t slowest = 0;

	for (unsigned beyond = 0; beyond < 1000;
	     beyond += lab.forward.port[VANISHING].dropped != 0) {
		uint64_t start = lab.now;

		echo(file, 100, 1);
		if (lab.now - start > slowest)
			slowest = lab.now - start;
	}
	printf("slowest request beside a dead stack: %lu ms\n", slowest / MILLISECOND);
	close_file(file);
}

/* The stack dies: its program hears of it in every place where it could wait for ever. */
void stack_dies(void)
{
	struct file *connection = connect_server(), *listener, *other;
	char byte;
	int error;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->listen(listener, 1) == 0 && !(listener->ready & EPOLLIN));
	echo(connection, 1000, 1);
	lab.life[own_place()].stopped = true;
	sockets_end(own_place(), SOCKET_SIDE_STACK);
	CHECK(read_some(connection, &byte, 1) == -ECONNRESET);
	CHECK(read_some(connection, &byte, 1) == 0 && connection->ops->write(connection, "x", 1) == -EPIPE);
	CHECK(listener->ready & EPOLLIN && listener->ops->accept(listener, &other, NULL, NULL) == -ENETDOWN);
	CHECK(!(listener->ready & EPOLLIN)); /* told once, so that no loop over ready files spins */
	CHECK(listener->ops->bind(listener, NULL, 0) == -EINVAL);
	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &other) == -ENETDOWN);
	CHECK(!pending_error(connection));
	error = 1;
	CHECK(connection->ops->setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &error, sizeof(error)) == -ENETDOWN);
	close_file(connection);
	close_file(listener);
}

/* ---- UDP between two programs with lwIP of their own, and of one with itself ---- */

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
		program_wait(0);
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
	CHECK(connect_to_peer(file, address_of(DATAGRAM_PEER), PORT) == 0);
	CHECK(file->ops->getsockname(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == address_of(own_place()) && name.sin_port);
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
	struct sockaddr_in from, to = at(address_of(own_place()), PORT);
	struct iovec part[] = { { "one ", 4 }, { NULL, 0 }, { "two", 3 } };
	char in[16];

	CHECK(bind_to(there, 0, PORT) == 0);
	CHECK(bind_to(third, 0, PORT) == -EADDRINUSE);
	CHECK(bind_to(third, address_of(own_place() + 1u), 0) == -EADDRNOTAVAIL);
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

	CHECK(bind_to(to, 0, PORT) == 0 && connect_to_peer(from, address_of(own_place()), PORT) == 0);
	before = here->calls->allocated();
	for (uint32_t i = 0; i < 5000; i++) {
		memcpy(bytes, &i, sizeof(i));
		CHECK(from->ops->write(from, bytes, sizeof(bytes)) == sizeof(bytes));
	}
	CHECK(here->calls->allocated() - before < 4 * QUEUE);
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
static void datagram_ports(void)
{
	enum { SOCKETS = 48 };
	struct sockaddr_in to = at(address_of(DATAGRAM_PEER), 1), name;
	unsigned next = 0;
	uint16_t last = 0;

	for (unsigned i = 0; i < SOCKETS; i++) {
		struct file *file = datagram_socket();
		socklen_t length = sizeof(name);

		if (i % 3 == 0)
			CHECK(bind_to(file, 0, 0) == 0);
		else if (i % 3 == 1)
			CHECK(connect_to_peer(file, address_of(DATAGRAM_PEER), 1) == 0);
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
	datagram_ports();
	sizes();
	messages();
	flood();
}
