/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes, frames and connections, few and many. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "client.h"
#include "server.h"
#include "test-sockets.h"
#include "test.h"

static uint64_t all_frames(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NETWORK_PORTS; i++)
		sum += network->forward.port[i].frames;
	return sum;
}

void values_of_all_sizes(void)
{
	static const uint32_t sizes[] = { 1, 2, 100, 1448, 1459, 1460, 1461, 65535, 65536, 1 << 20, 8 << 20 };
	struct file *file = connect_server();

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		echo(file, sizes[i], i);
	close_file(file);
}

/* A request and its answer are a frame each; acknowledgements travel with them. */
void frames_of_a_request(void)
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

void fifty_pipelined(void)
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

/*
 * A stack keeps freed blocks, as many as were in use at once, and on a busy host more connections wait in TIME_WAIT at
 * the same time. So its memory may grow, but not each time: a leak does.
 */
void thousand_connections(void)
{
	enum { BATCHES = 6 };
	size_t own = 0;
	uint64_t servers = 0;

	for (unsigned i = 0; i < BATCHES; i++) {
		uint64_t before = servers;
		size_t own_before = own;

		open_and_close(1000);
		settle(3000); /* TIME_WAIT ends */
		servers = server_memory();
		own = layer_allocated();
		if (i && servers <= before && own <= own_before + 4096)
			return;
	}
	CHECK(!"memory grows with each thousand of connections");
}

void thousand_at_once(void)
{
	static struct file *file[1000];

	for (unsigned i = 0; i < 1000; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
					  .sin_addr.s_addr = layer_address(0) };

		CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file[i]) == 0);
		CHECK(file[i]->ops->connect(file[i], (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
		if (!i) {
			int again = file[i]->ops->connect(file[i], (struct sockaddr *)&to, sizeof(to));

			CHECK(again == -EALREADY || again == -EISCONN || !again); /* the server may have been quicker */
			CHECK(again != -EALREADY || file[i]->ops->write(file[i], "x", 1) == -EAGAIN);
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

/* Three clients that read late, together with one that does not: nobody loses a byte. */
void slow_reader(void)
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

void load(void)
{
	struct file *file[4];

	for (unsigned i = 0; i < 4; i++)
		file[i] = connect_server();
	for (unsigned i = 0; i < 300; i++)
		echo(file[i % 4], 1 + i * 997 % 100000, i);
	for (unsigned i = 0; i < 4; i++)
		close_file(file[i]);
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

void six_hundred_first(void) { six_hundred(2000); }

void six_hundred_more(void)
{
	settle(1000);
	six_hundred(0);
}
