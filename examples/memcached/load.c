/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of memcached, for another kernel than the server's:
 *   load SERVER ROUNDS
 * SERVER is a program's name, which /etc/hosts has. In each round 16 connections
 * write values of many sizes, read and check each other's, and count; the exit
 * status is 0 if all answers were right.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 16, LARGEST = 32 * 1024 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

struct server {
	FILE *out, *in;
};

/* Waits until the server listens. */
static struct server connect_to(const struct addrinfo *address)
{
	static const struct timespec pause = { .tv_nsec = 10000000 };
	int s = -1, at_once = 1; /* no segment waits for the acknowledgement of another */

	for (int attempt = 0; attempt < 1000 && s < 0; attempt++) {
		s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, address->ai_addr, address->ai_addrlen) != 0) {
			close(s);
			s = -1;
			nanosleep(&pause, NULL);
		}
	}
	if (s < 0 || setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)) != 0)
		fail("load: connect");
	struct server server = { fdopen(s, "w"), fdopen(dup(s), "r") };
	if (!server.out || !server.in)
		fail("load: fdopen");
	return server;
}

/* Reads one line, which must be this one. */
static void expect(struct server *server, const char *wanted)
{
	char line[128];

	if (!fgets(line, sizeof(line), server->in))
		fail("load: no answer");
	line[strcspn(line, "\r\n")] = '\0';
	if (strcmp(line, wanted) != 0) {
		fprintf(stderr, "load: expected '%s', got '%s'\n", wanted, line);
		exit(1);
	}
}

static size_t size_in(unsigned long round, int i) { return (round * CONNECTIONS + (unsigned long)i) * 211 % LARGEST; }

static void set(struct server *server, const char *key, const char *value, size_t size)
{
	fprintf(server->out, "set %s 0 0 %zu\r\n", key, size);
	fwrite(value, 1, size, server->out);
	fputs("\r\n", server->out);
	fflush(server->out);
}

static void expect_value(struct server *server, const char *key, const char *value, size_t size)
{
	static char found[LARGEST + 2];
	char header[128];

	snprintf(header, sizeof(header), "VALUE %s 0 %zu", key, size);
	expect(server, header);
	if (fread(found, 1, size + 2, server->in) != size + 2 || memcmp(found, value, size) != 0) {
		fprintf(stderr, "load: %s: another value than was written\n", key);
		exit(1);
	}
	expect(server, "END");
}

/* Each connection sets a key, reads the key of its neighbour, and adds 1 to its own counter, all at the same time. */
static void one_round(struct server *servers, unsigned long round, const char *value)
{
	char text[32];

	for (int i = 0; i < CONNECTIONS; i++) {
		snprintf(text, sizeof(text), "key-%d", i);
		set(&servers[i], text, value + i, size_in(round, i));
	}
	for (int i = 0; i < CONNECTIONS; i++)
		expect(&servers[i], "STORED");
	for (int i = 0; i < CONNECTIONS; i++) {
		fprintf(servers[i].out, "get key-%d\r\nincr count-%d 1\r\n", (i + 1) % CONNECTIONS, i);
		fflush(servers[i].out);
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		int next = (i + 1) % CONNECTIONS;

		snprintf(text, sizeof(text), "key-%d", next);
		expect_value(&servers[i], text, value + next, size_in(round, next));
		snprintf(text, sizeof(text), "%lu", round + 1);
		expect(&servers[i], text);
	}
}

int main(int argc, char **argv)
{
	static char value[LARGEST + CONNECTIONS];
	struct server servers[CONNECTIONS];
	struct timespec start, end;
	struct addrinfo *address, wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (rounds == 0 || getaddrinfo(argv[1], "11211", &wanted, &address) != 0) {
		fprintf(stderr, "usage: load SERVER ROUNDS, where SERVER is a program of this machine\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (char)('a' + i * 7 % 26);
	for (int i = 0; i < CONNECTIONS; i++) {
		char key[32];

		servers[i] = connect_to(address);
		snprintf(key, sizeof(key), "count-%d", i);
		set(&servers[i], key, "0", 1);
		expect(&servers[i], "STORED");
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned long round = 0; round < rounds; round++)
		one_round(servers, round, value);
	clock_gettime(CLOCK_MONOTONIC, &end);
	double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	printf("load: %lu operations over %d connections, all answers right, %.0f a second\n", 3 * CONNECTIONS * rounds,
	       CONNECTIONS, 3 * CONNECTIONS * (double)rounds / seconds);
	return 0;
}
