/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket layer end to end: a server and clients, each a process with its
 * own lwIP, joined by the switch over shared memory as on the machine. Each
 * scenario is a process with a port of its own. With the argument "process"
 * each process has its lwIP in a stack process beside it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include "layer.h"
#include "server.h"
#include "test.h"

static struct network *network;
static unsigned own_port;
static bool apart;       /* lwIP is in stack processes */
static pid_t own_stack;  /* 0: within this process */

static struct file *connect_server(void)
{
	int error;
	struct file *file = connect_to(layer_address(0), SERVER_PORT, &error);

	if (!file)
		fprintf(stderr, "connect: %s\n", strerror(error));
	CHECK(file);
	return file;
}

static void close_file(struct file *file) { file->ops->close(file); }

static void request(struct file *file, uint32_t operation, uint32_t size)
{
	struct request r = { operation, size };

	CHECK(write_all(file, &r, sizeof(r)) == sizeof(r));
}

static void fill(char *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
}

static void echo(struct file *file, uint32_t size, unsigned seed)
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

static uint64_t server_memory(void)
{
	struct file *file = connect_server();
	uint64_t memory = 0;

	request(file, REQUEST_MEMORY, 0);
	CHECK(read_all(file, &memory, sizeof(memory)) == sizeof(memory));
	close_file(file);
	return memory;
}

static uint64_t all_frames(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NETWORK_PORTS; i++)
		sum += network->forward.port[i].frames;
	return sum;
}

/* --- scenarios --- */

static void values_of_all_sizes(void)
{
	static const uint32_t sizes[] = { 1, 2, 100, 1448, 1459, 1460, 1461, 65535, 65536, 1 << 20, 8 << 20 };
	struct file *file = connect_server();

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		echo(file, sizes[i], i);
	close_file(file);
}

/* A request and its answer are a frame each; acknowledgements travel with them. */
static void frames_of_a_request(void)
{
	enum { ROUNDS = 2000 };
	struct file *file = connect_server();
	uint64_t before;

	echo(file, 100, 1);
	before = all_frames();
	for (unsigned i = 0; i < ROUNDS; i++)
		echo(file, 100, i);
	before = all_frames() - before;
	printf("%.2f frames for a request and its answer\n", (double)before / ROUNDS);
	CHECK(before <= ROUNDS * 2 + ROUNDS / 50);
	close_file(file);
}

static void fifty_pipelined(void)
{
	enum { CLIENTS = 50, DEPTH = 16, ROUNDS = 100, SIZE = 64 };
	static struct file *file[CLIENTS];
	char out[SIZE], in[SIZE];

	for (unsigned i = 0; i < CLIENTS; i++)
		file[i] = connect_server();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < CLIENTS; i++)
			for (unsigned k = 0; k < DEPTH; k++) {
				request(file[i], REQUEST_ECHO, SIZE);
				fill(out, SIZE, round * 1000 + i * 20 + k);
				CHECK(write_all(file[i], out, SIZE) == SIZE);
			}
		for (unsigned i = 0; i < CLIENTS; i++)
			for (unsigned k = 0; k < DEPTH; k++) {
				fill(out, SIZE, round * 1000 + i * 20 + k);
				CHECK(read_all(file[i], in, SIZE) == SIZE);
				CHECK(!memcmp(in, out, SIZE));
			}
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		close_file(file[i]);
}

static void open_and_close(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		struct file *file = connect_server();

		if (i % 3)
			echo(file, 10, i);
		if (i % 2)
			CHECK(file->ops->shutdown(file, SHUT_WR) == 0);
		close_file(file);
	}
}

static void settle(unsigned milliseconds)
{
	uint64_t deadline = layer_in(milliseconds);

	while (layer_wait(deadline))
		;
}

static void thousand_connections(void)
{
	size_t own;
	uint64_t servers;

	open_and_close(1000);
	settle(3000); /* TIME_WAIT ends */
	servers = server_memory();
	own = layer_allocated();
	open_and_close(1000);
	settle(3000);
	CHECK(server_memory() <= servers);
	CHECK(layer_allocated() <= own + 4096);
}

static void thousand_at_once(void)
{
	static struct file *file[1000];

	for (unsigned i = 0; i < 1000; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
					  .sin_addr.s_addr = layer_address(0) };

		CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file[i]) == 0);
		CHECK(file[i]->ops->connect(file[i], (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
		if (!i) {
			CHECK(file[i]->ops->connect(file[i], (struct sockaddr *)&to, sizeof(to)) == -EALREADY);
			CHECK(file[i]->ops->write(file[i], "x", 1) == -EAGAIN);
		}
	}
	for (unsigned i = 0; i < 1000; i++) {
		while (!(file[i]->ready & EPOLLOUT))
			layer_wait(0);
		CHECK(pending_error(file[i]) == 0);
		echo(file[i], 50, i);
	}
	for (unsigned i = 0; i < 1000; i++)
		close_file(file[i]);
}

/* Dies with requests half sent and answers on their way; its port stays behind, unread. */
static void vanish(void)
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
	_exit(0);
}

static void others_while_one_vanishes(void)
{
	struct file *file = connect_server();
	uint64_t deadline = layer_in(6000), slowest = 0;

	echo(file, 100, 0);
	while (clock_cycles() < deadline) {
		uint64_t start = clock_cycles();

		echo(file, 100, 1);
		if (clock_cycles() - start > slowest)
			slowest = clock_cycles() - start;
	}
	printf("slowest request beside a dead stack: %lu ms\n", slowest / (clock_cycles_per_second() / 1000));
	CHECK(slowest < 4 * clock_cycles_per_second());
	close_file(file);
}

static void ends(void)
{
	struct linger hard = { 1, 0 };
	struct file *file;
	char byte[200];
	int error;

	CHECK(!connect_to(layer_address(0), SERVER_PORT + 1, &error) && error == ECONNREFUSED);

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

	/* names */
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	file = connect_server();
	CHECK(file->ops->getpeername(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == layer_address(0) && name.sin_port == htons(SERVER_PORT));
	CHECK(file->ops->getsockname(file, (struct sockaddr *)&name, &length) == 0);
	CHECK(name.sin_addr.s_addr == layer_address(own_port) && name.sin_port);

	/* looking without taking, and pieces of a message */
	echo(file, 1, 1);
	request(file, REQUEST_SOURCE, 5000);
	while (!(file->ready & EPOLLIN))
		layer_wait(0);
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

/* A connection from a stack to itself, a reset seen by its peer, and a listener closed with connections waiting. */
static void within_one_stack(void)
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
		client = connect_to(i ? layer_address(own_port) : htonl(INADDR_LOOPBACK), 7000, &error);
		CHECK(client);
		while (!(listener->ready & EPOLLIN))
			layer_wait(0);
		CHECK(listener->ops->accept(listener, &server, NULL, NULL) == 0);
		CHECK(listener->ops->accept(listener, &server, NULL, NULL) == -EAGAIN);
		CHECK(write_all(client, "hello", 5) == 5 && read_all(server, bytes, 5) == 5 && !memcmp(bytes, "hello", 5));
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
	client = connect_to(layer_address(own_port), 7000, &error);
	while (!(listener->ready & EPOLLIN))
		layer_wait(0);
	CHECK(client && listener->ops->accept(listener, &server, NULL, NULL) == 0);
	CHECK(write_all(client, bytes, 1000) == 1000);
	while (!(server->ready & EPOLLIN))
		layer_wait(0);
	close_file(server);
	CHECK(read_some(client, bytes, 1) == -ECONNRESET);
	close_file(client);

	client = connect_to(layer_address(own_port), 7000, &error);
	while (!(listener->ready & EPOLLIN))
		layer_wait(0);
	close_file(listener);
	CHECK(client && read_some(client, bytes, 1) == -ECONNRESET);
	close_file(client);
}

/* Three clients that read late, together with one that does not: nobody loses a byte. */
static void slow_reader(void)
{
	enum { SIZE = 4 << 20 };
	struct file *slow[3], *quick = connect_server();
	char *bytes = malloc(SIZE);

	for (unsigned i = 0; i < 3; i++) {
		slow[i] = connect_server();
		request(slow[i], REQUEST_SOURCE, SIZE);
	}
	for (unsigned i = 0; i < 300; i++)
		echo(quick, 3000, i);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(read_all(slow[i], bytes, SIZE) == SIZE);
		for (uint32_t k = 0; k < SIZE; k++)
			CHECK(bytes[k] == (char)(k * 7));
		close_file(slow[i]);
	}
	close_file(quick);
	free(bytes);
}

static void load(void)
{
	struct file *file[4];

	for (unsigned i = 0; i < 4; i++)
		file[i] = connect_server();
	for (unsigned i = 0; i < 300; i++)
		echo(file[i % 4], 1 + i * 997 % 100000, i);
	for (unsigned i = 0; i < 4; i++)
		close_file(file[i]);
}

/* The stack dies: its program hears of it in every place where it could wait for ever. */
static void stack_dies(void)
{
	struct file *connection = connect_server(), *listener, *other;
	char byte;
	int error;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->listen(listener, 1) == 0 && !(listener->ready & EPOLLIN));
	echo(connection, 1000, 1);
	kill(own_stack, SIGKILL);
	layer_end(own_port, SOCKET_SIDE_STACK);
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

/* Together more than a program with a stack process can have: those that are too many wait until others close. */
static void six_hundred(unsigned wait)
{
	static struct file *file[600];

	for (unsigned i = 0; i < 600; i++)
		file[i] = connect_server();
	for (unsigned i = 0; i < 600; i++)
		echo(file[i], 50, i);
	settle(wait);
	for (unsigned i = 0; i < 600; i++)
		close_file(file[i]);
}

static void six_hundred_first(void) { six_hundred(2000); }

static void six_hundred_more(void)
{
	settle(1000);
	six_hundred(0);
}

static pid_t start(void (*scenario)(void), unsigned port)
{
	pid_t pid = fork();

	if (!pid) {
		own_port = port;
		if (apart)
			own_stack = layer_start_apart(network, port);
		else
			layer_start(network, port);
		scenario();
		settle(50);
		_exit(0);
	}
	return pid;
}

static void finish(pid_t pid, const char *name)
{
	static uint64_t last;
	uint64_t now;
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	now = clock_milliseconds();
	printf("%s %s, after %lu ms\n", status ? "failed:" : "passed:", name, last ? now - last : 0);
	last = now;
	if (status)
		exit(1);
}

#define RUN(scenario, port) finish(start(scenario, port), #scenario)

int main(int argc, char **argv)
{
	pid_t together[4];

	(void)argv;
	apart = argc > 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	network = network_start();
	start(server_run, 0);
	RUN(values_of_all_sizes, 1);
	RUN(frames_of_a_request, 2);
	RUN(fifty_pipelined, 3);
	RUN(thousand_connections, 4);
	RUN(thousand_at_once, 5);
	RUN(ends, 6);
	RUN(within_one_stack, 7);
	RUN(slow_reader, 8);
	for (unsigned i = 0; i < 4; i++)
		together[i] = start(load, 9 + i);
	for (unsigned i = 0; i < 4; i++)
		finish(together[i], "load");
	for (unsigned i = 0; i < NETWORK_PORTS; i++) /* nothing was lost until somebody died */
		CHECK(!network->forward.port[i].given_up && !network->forward.port[i].bad);
	if (apart) {
		together[0] = start(six_hundred_first, 13);
		RUN(six_hundred_more, 14);
		finish(together[0], "six_hundred_first");
		RUN(stack_dies, 15);
		return 0;
	}
	together[0] = start(others_while_one_vanishes, 13);
	usleep(500000);
	RUN(vanish, 14);
	finish(together[0], "others_while_one_vanishes");
	CHECK(network->forward.port[14].given_up); /* its ring was really full */
	return 0;
}
