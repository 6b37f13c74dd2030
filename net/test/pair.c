/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include "../lwip/budget.h"
#include "lab/program.h"
#include "pair.h"
#include "test.h"

struct file *listener, *server, *client;

bool is_reset(void) { return client->ready & EPOLLERR; }

unsigned until_reset(void)
{
	for (unsigned ms = 0; ms < 3 * BUDGET_TIMEOUT; ms += STEP, lab_pass(STEP))
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

	CHECK(!lab.life[CLIENT].calls->socket(AF_INET, SOCK_STREAM, 0, &client));
	CHECK(client->ops->connect(client, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
}

void accept_client(void) { CHECK(!listener->ops->accept(listener, &server, NULL, NULL)); }

void connect_both(void)
{
	connect_client();
	lab_pass(100);
	accept_client();
}

void close_client(void)
{
	close_file(client);
	lab_pass(1000);
}

/*
 * All that the server's stack takes; the client's window is closed by less. It is announced in units of 8 bytes: the
 * last 7 go byte by byte, each by a probe, of which one comes each minute in the end.
 */
void fill(void)
{
	static const char bytes[4096];

	for (unsigned i = 0; i < 50; i++, lab_pass(STEP))
		while (server->ops->write(server, bytes, sizeof(bytes)) > 0)
			;
	lab_pass(STUCK);
	CHECK(!is_reset()); /* an open connection waits for as long as its program does */
}

void pair_start(int count, char **arguments)
{
	lab_begin(count, arguments);
	lab_cable(SERVER, CLIENT);
	lab.heap = 64 << 20;
	lab_start(2);
	here = life_start(SERVER);
	listener = listen_at(SERVICE, 64);
	life_start(CLIENT);
	lab_pass(1000);
}
