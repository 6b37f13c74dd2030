/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of several Redis servers that reads one record of 1 kB. `hot`: three operations of four go to the first
 * server, each other one to one of the rest. `all`: an operation asks every server and ends with the last answer, as
 * the front end of a service does. Every answer is checked.
 */
#include <errno.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __skerry__
#include <skerry/manager.h>
#else
static int manager_barrier(unsigned number) { return (int)number; }
#endif

enum { PORT = 6379, SERVERS_MAX = 16, VALUE = 1000, MOST = 1 << 16, WARM = 10, TRIES = 1000 };

static const char get[] = "*2\r\n$3\r\nGET\r\n$5\r\nuser1\r\n";
static char set[VALUE + 64], answer[VALUE + 16]; /* a request that writes the record; what GET has to return */
static size_t set_size, answer_size;
static int server[SERVERS_MAX];
static unsigned servers;
static double taken[MOST]; /* seconds of each operation */

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "shards: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void send_all(int fd, const char *bytes, size_t size)
{
	for (ssize_t n; size; bytes += n, size -= (size_t)n)
		if ((n = write(fd, bytes, size)) <= 0)
			fail("a server takes no request");
}

static void expect(int fd, const char *bytes, size_t size)
{
	static char there[sizeof(answer)];

	for (size_t got = 0; got < size;) {
		const ssize_t n = read(fd, there + got, size - got);
		if (n <= 0)
			fail("a server is gone");
		got += (size_t)n;
		if (memcmp(there, bytes, got))
			fail("a wrong answer");
	}
}

/* Connects, as soon as the server listens, and writes the record. */
static void open_server(unsigned i, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const int on = 1;

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		fail("an address is none of IPv4");
	for (unsigned tries = 0;; tries++) {
		server[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(server[i], (const struct sockaddr *)&at, sizeof(at)))
			break;
		if (tries == TRIES)
			fail(address);
		close(server[i]);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	setsockopt(server[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	errno = 0;
	send_all(server[i], set, set_size);
	expect(server[i], "+OK\r\n", 5);
}

static void make_record(void)
{
	char value[VALUE + 1];

	for (unsigned i = 0; i < VALUE; i++)
		value[i] = (char)('a' + i % 26);
	value[VALUE] = '\0';
	set_size = (size_t)snprintf(set, sizeof(set), "*3\r\n$3\r\nSET\r\n$5\r\nuser1\r\n$%d\r\n%s\r\n", VALUE, value);
	answer_size = (size_t)snprintf(answer, sizeof(answer), "$%d\r\n%s\r\n", VALUE, value);
}

/* The servers that one operation asks: from `first` on, so many. */
static unsigned choose(bool hot, unsigned *count)
{
	static uint32_t state = 1;

	*count = hot ? 1 : servers;
	if (!hot || servers == 1)
		return 0;
	state = state * 1664525 + 1013904223;
	return state >> 30 ? 0 : 1 + (state >> 8) % (servers - 1);
}

static double operate(bool hot)
{
	const double begin = now();
	unsigned count, first = choose(hot, &count);

	for (unsigned i = first; i < first + count; i++)
		send_all(server[i], get, sizeof(get) - 1);
	for (unsigned i = first; i < first + count; i++)
		expect(server[i], answer, answer_size);
	return now() - begin;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const bool hot = argc > 1 && !strcmp(argv[1], "hot");
	const long operations = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 4 || (!hot && strcmp(argv[1], "all")) || operations < 1 || operations > MOST ||
	    argc - 3 > SERVERS_MAX) {
		fprintf(stderr, "usage: shards hot|all OPERATIONS ADDRESS...\n");
		return 2;
	}
	make_record();
	servers = (unsigned)argc - 3;
	for (unsigned i = 0; i < servers; i++)
		open_server(i, argv[3 + i]);
	manager_barrier(1);
	for (unsigned i = 0; i < WARM; i++)
		operate(hot); /* a modelled machine's caches begin empty */
	const double begin = now();
	for (long i = 0; i < operations; i++)
		taken[i] = operate(hot);
	const double seconds = now() - begin;
	for (unsigned i = 0; i < WARM; i++)
		operate(hot); /* others are still measured, beside this one as before */
	manager_barrier(2);
	qsort(taken, (size_t)operations, sizeof(taken[0]), compare);
	printf("skerry-metric: operations %.0f operations/s\n", (double)operations / seconds);
	printf("skerry-metric: p99 %.1f us better=lower\n", 1e6 * taken[(operations - 1) * 99 / 100]);
	return 0;
}
