/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket layer end to end: a server and clients, each a program of a lab with its own lwIP, joined by the switch
 * and cables as on the machine. Each scenario is a program at a place of its own. With the argument "process" each has
 * its lwIP in a stack process beside it; with "edges" only those run.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "lab/lab.h"
#include "test-sockets.h"
#include "test.h"

/* ---- Bytes, frames and connections, few and many ---- */

static uint64_t all_frames(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < lab.places; i++)
		sum += lab.forward.port[i].frames;
	return sum;
}

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

/*
 * A stack keeps freed blocks, as many as were in use at once, and on a busy host more connections wait in TIME_WAIT at
 * the same time. So its memory may grow, but not each time: a leak does.
 */
static void thousand_connections(void)
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
		own = here->calls->allocated();
		if (i && servers <= before && own <= own_before + 4096)
			return;
	}
	CHECK(!"memory grows with each thousand of connections");
}

static void thousand_at_once(void)
{
	static struct file *file[1000];

	for (unsigned i = 0; i < 1000; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
					  .sin_addr.s_addr = address_of(0) };

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
			program_wait(0);
		CHECK(pending_error(file[i]) == 0);
		echo(file[i], 50, i);
	}
	for (unsigned i = 0; i < 1000; i++)
		close_file(file[i]);
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

/* Together more than a program with a stack process can have: those that are too many wait until others close. */
static void six_hundred(unsigned wait)
{
	struct file *file[600];

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

/* ---- Edge-triggered epoll: more data, connections and ends are events, also where a socket is ready already ---- */

enum { PORT = 7100, MOMENT = 50, EDGES_TIMEOUT = 60000 /* ms */, ALL = EPOLLIN | EPOLLOUT | EPOLLRDHUP };

/* Waits for an edge. */
static uint32_t comes(const struct file *file)
{
	const uint64_t deadline = in_ms(EDGES_TIMEOUT);
	uint32_t events;

	while (!(events = file_watched(file)) && program_wait(deadline))
		;
	settle(MOMENT); /* what is the same edge on Linux may come in two parts */
	return events | file_watched(file);
}

static bool nothing(const struct file *file)
{
	settle(MOMENT);
	return !file_watched(file);
}

static void ask(struct file *file, uint32_t size)
{
	char bytes[64] = { 0 };

	request(file, REQUEST_ECHO, size);
	CHECK(write_all(file, bytes, size) == (ssize_t)size);
}

static void take(struct file *file, size_t size)
{
	char bytes[64];

	CHECK(read_all(file, bytes, size) == (ssize_t)size);
}

static void data(void)
{
	struct file *file = connect_server();

	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT && nothing(file));
	ask(file, 10);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	take(file, 1);
	CHECK(nothing(file));
	for (unsigned i = 0; i < 3; i++) {
		ask(file, 10);
		CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	}
	take(file, 39);
	CHECK(nothing(file));
	ask(file, 1);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT));
	request(file, REQUEST_LEAVE, 0);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT | EPOLLRDHUP));
	take(file, 1);
	CHECK(nothing(file));
	CHECK(!file->ops->shutdown(file, SHUT_WR));
	CHECK(comes(file) & EPOLLHUP);
	close_file(file);
}

/* A watcher of one direction. */
static void one_way(uint32_t events)
{
	struct file *file = connect_server();

	settle(MOMENT);
	file_watch(file, events);
	CHECK(file_watched(file) == (events & EPOLLOUT));
	for (unsigned i = 0; i < 2; i++) {
		ask(file, 10);
		CHECK(events & EPOLLIN ? comes(file) == EPOLLIN : nothing(file));
	}
	request(file, REQUEST_LEAVE, 0);
	CHECK(comes(file) == events); /* an end is told to all */
	take(file, 20);
	CHECK(nothing(file));
	close_file(file);
}

static void room(void)
{
	static char bytes[65536];
	struct file *file = connect_server();
	size_t written = 0, taken = 0;
	ssize_t n;

	request(file, REQUEST_ECHO, UINT32_MAX);
	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT);
	/* until neither end's buffers, nor the echo's, take more */
	for (unsigned rounds = 0; rounds < 3; written += n > 0 ? (size_t)n : 0) {
		n = file->ops->write(file, bytes, sizeof(bytes));
		if (n > 0)
			continue;
		CHECK(n == -EAGAIN);
		if (!(comes(file) & EPOLLOUT))
			break;
		rounds++;
	}
	while (taken < written && (n = read_some(file, bytes, sizeof(bytes))) > 0)
		taken += (size_t)n;
	CHECK(taken == written);
	close_file(file);
}

static void listening(void)
{
	struct file *listener = listen_at(PORT, 8), *caller[4], *file;
	int error;

	file_watch(listener, EPOLLIN);
	CHECK(nothing(listener));
	for (unsigned i = 0; i < 3; i++) {
		CHECK((caller[i] = connect_to(address_of(own_place()), PORT, &error)));
		CHECK(comes(listener) == EPOLLIN && nothing(listener));
	}
	CHECK(!listener->ops->accept(listener, &file, NULL, NULL));
	close_file(file);
	CHECK(nothing(listener));
	CHECK((caller[3] = connect_to(address_of(own_place()), PORT, &error)) && comes(listener) == EPOLLIN);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(!listener->ops->accept(listener, &file, NULL, NULL));
		close_file(file);
	}
	CHECK(nothing(listener) && listener->ops->accept(listener, &file, NULL, NULL) == -EAGAIN);
	for (unsigned i = 0; i < 4; i++)
		close_file(caller[i]);
	close_file(listener);
}

static void connecting(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
	                          .sin_addr.s_addr = address_of(0) };
	struct file *file;

	for (unsigned i = 0; i < 2; i++) {
		CHECK(!socket_create(AF_INET, SOCK_STREAM, 0, &file));
		file_watch(file, ALL);
		CHECK(comes(file) == (EPOLLOUT | EPOLLHUP));
		CHECK(file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
		CHECK(comes(file) == (i ? EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR : EPOLLOUT));
		CHECK(nothing(file));
		to.sin_port = htons(1); /* refuses */
		close_file(file);
	}
}

static void edges(void)
{
	data();
	one_way(EPOLLIN);
	one_way(EPOLLOUT);
	room();
	listening();
	connecting();
}

static void datagram_edges(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
	                          .sin_addr.s_addr = address_of(own_place()) };
	struct file *file;
	char bytes[8] = { 0 };

	CHECK(!socket_create(AF_INET, SOCK_DGRAM, 0, &file) &&
	      !file->ops->bind(file, (struct sockaddr *)&to, sizeof(to)));
	CHECK(!file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)));
	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT && nothing(file));
	for (unsigned i = 0; i < 3; i++) {
		CHECK(file->ops->write(file, bytes, 8) == 8);
		CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	}
	CHECK(file->ops->read(file, bytes, 8) == 8 && nothing(file));
	CHECK(file->ops->write(file, bytes, 8) == 8 && comes(file) == (EPOLLIN | EPOLLOUT));
	for (unsigned i = 0; i < 3; i++)
		CHECK(file->ops->read(file, bytes, 8) == 8);
	CHECK(nothing(file) && file->ops->read(file, bytes, 8) == -EAGAIN);
	close_file(file);
}

/* ---- All scenarios ---- */

static void run(void (*scenario)(void), const char *name, unsigned place)
{
	program_finish(program_start(place, scenario), name);
}

#define RUN(scenario, place) run(scenario, #scenario, place)

/* By a cable, by the switch, and datagrams, which are none of a stack process. */
static void run_edges(void)
{
	RUN(edges, 18);
	RUN(edges, 19);
	if (!lab.apart)
		RUN(datagram_edges, 20);
}

static void run_load(void)
{
	struct life *together[4];

	for (unsigned i = 0; i < 4; i++)
		together[i] = program_start(9 + i, load);
	for (unsigned i = 0; i < 4; i++)
		program_finish(together[i], "load");
}

/* Together with another one that must go on. */
static void run_beside(void (*first)(void), unsigned place, void (*scenario)(void), const char *name)
{
	struct life *other = program_start(13, first);

	run(scenario, name, place);
	program_finish(other, "the one beside it");
}

int main(int count, char **arguments)
{
	bool only_edges = false;

	lab_begin(count, arguments);
	for (int i = 2; i < count; i++) {
		lab.apart |= !strcmp(arguments[i], "process");
		only_edges |= !strcmp(arguments[i], "edges");
	}
	for (unsigned i = 0; i < LAB_CABLES - 1; i++) /* every other scenario goes by cable */
		lab_cable(0, 1 + 2 * i);
	lab_cable(0, 18);
	lab_start(LAB_PLACES);
	RUN(server_run, 0);
	if (only_edges) {
		run_edges();
		return 0;
	}
	RUN(values_of_all_sizes, 1);
	RUN(frames_of_a_request, 2);
	RUN(fifty_pipelined, 3);
	RUN(thousand_connections, 4);
	RUN(thousand_at_once, 5);
	RUN(ends, 6);
	RUN(within_one_stack, 7);
	RUN(slow_reader, 8);
	run_edges();
	run_load();
	for (unsigned i = 0; i < lab.places; i++) /* nothing was lost until somebody died */
		CHECK(!lab.forward.port[i].dropped && !lab.forward.port[i].bad);
	if (lab.apart) {
		run_beside(six_hundred_first, 14, six_hundred_more, "six_hundred_more");
		RUN(stack_dies, 15);
		return 0;
	}
	program_start(DATAGRAM_PEER, datagram_peer);
	RUN(datagrams, 17);
	lab.forward.timeout = SECOND;
	run_beside(others_while_one_vanishes, VANISHING, vanish, "vanish"); /* its ring was really full */
	return 0;
}
