/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "../../lwip/budget.h"
#include "../test.h"
#include "pair.h"

enum { MS = 1000000 };

struct run run;
struct file *server, *client;
bool client_stands;

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	exit(1);
}

uint32_t draw(uint32_t below) { return below - 1; }
void connections_accept(unsigned stack) { (void)stack; }
void frames_look(unsigned stack) { (void)stack; }

/* Without time: all that is under way arrives. */
void turn(void)
{
	for (unsigned i = 0; i < 8; i++) {
		stack_poll(SERVER);
		if (!client_stands)
			stack_poll(CLIENT);
		switch_run();
	}
}

void pass(unsigned ms)
{
	for (unsigned i = 0; i < ms; i += STEP) {
		run.now += STEP * MS;
		turn();
	}
}

bool is_reset(void) { return client->ready & EPOLLERR; }

/* Milliseconds until the client is told of a reset; NEVER, if it is not within three times the timeout. */
unsigned until_reset(void)
{
	for (unsigned ms = 0; ms < 3 * BUDGET_TIMEOUT; ms += STEP, pass(STEP))
		if (is_reset())
			return ms;
	return NEVER;
}

/* Looks at a connection come each second, TCP's ticks each half. */
bool is_about(unsigned ms, unsigned expected)
{
	const bool is = ms + 500 >= expected && ms <= expected + 2000;

	if (!is)
		fprintf(stderr, "reset after %u ms, expected after %u\n", ms, expected);
	return is;
}

void connect_client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVICE),
	                          .sin_addr.s_addr = address_of(SERVER) };

	CHECK(!run.stack[CLIENT].calls->socket(AF_INET, SOCK_STREAM, 0, &client));
	CHECK(client->ops->connect(client, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
}

void accept_client(void)
{
	CHECK(!run.stack[SERVER].listener->ops->accept(run.stack[SERVER].listener, &server, NULL, NULL));
}

void connect_both(void)
{
	connect_client();
	pass(100);
	accept_client();
}

void close_client(void)
{
	client->ops->close(client);
	pass(1000);
}

/*
 * All that the server's stack takes; the client's window is closed by less. It is announced in units of 8 bytes: the
 * last 7 go byte by byte, each by a probe, of which one comes each minute in the end.
 */
void fill(void)
{
	static const char bytes[4096];

	for (unsigned i = 0; i < 50; i++, pass(STEP))
		while (server->ops->write(server, bytes, sizeof(bytes)) > 0)
			;
	pass(STUCK);
	CHECK(!is_reset()); /* an open connection waits for as long as its program does */
}

void pair_start(int argc, char **argv)
{
	CHECK(argc == 2);
	module_read(argv[1]);
	run.now = 1000ull * MS;
	lives_start();
	pass(1000);
}
