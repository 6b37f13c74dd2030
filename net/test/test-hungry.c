/* SPDX-License-Identifier: BSD-2-Clause */
/* A server has no memory: what its client meets. Two programs of a lab (pair.h). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "../lwip/budget.h"
#include "pair.h"
#include "test.h"

static void set_memory(int memory) { lab.life[SERVER].host.memory = memory; }

/* The server's program has used up its heap: a SYN gets no answer, though lwIP has freed blocks and a reserve. Sent
 * again, it gets one. */
static void connects(void)
{
	connect_both();
	server->ops->close(server);
	close_client();
	set_memory(HUNGRY);
	connect_client();
	lab_pass(4000);
	CHECK(!client->ready);
	set_memory(FED);
	lab_pass(10000);
	CHECK(client->ready == EPOLLOUT);
	accept_client();
	server->ops->close(server);
	close_client();
}

/* The client's time is over, but there is no memory for the reset: without it the client would wait for ever. It is not
 * lost, but late. */
static void is_given_up(void)
{
	connect_both();
	fill();
	server->ops->close(server);
	lab_pass(BUDGET_TIMEOUT - 3000);
	set_memory(STARVED);
	lab_pass(10000);
	set_memory(FED);
	CHECK(!is_reset());
	CHECK(until_reset() < 2000);
	close_client();
}

/* A closed window without memory to ask for it: the connection is there when there is memory again, and the client gets
 * the rest. */
static void waits(void)
{
	static char bytes[4096];
	unsigned got = 0;
	ssize_t n;

	connect_both();
	fill();
	set_memory(STARVED);
	lab_pass(100000);
	set_memory(FED);
	for (unsigned i = 0; i < 100000; i += STEP, lab_pass(STEP))
		while ((n = client->ops->read(client, bytes, sizeof(bytes))) > 0)
			got += (unsigned)n;
	CHECK(!is_reset() && got > 100000);
	server->ops->close(server);
	close_client();
}

static void is_given_up_while_open(void)
{
	const int ms = 7000;
	int error = 0;
	socklen_t size = sizeof(error);

	connect_both();
	fill();
	CHECK(!server->ops->setsockopt(server, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)));
	set_memory(STARVED);
	lab_pass(20000);
	set_memory(FED);
	CHECK(until_reset() < 2000);
	CHECK(!server->ops->getsockopt(server, SOL_SOCKET, SO_ERROR, &error, &size) && error == ETIMEDOUT);
	server->ops->close(server);
	close_client();
}

/* A new socket takes no memory of a connection that still has data for its client. */
static void opens_another(void)
{
	static char bytes[4096];
	struct file *another;
	unsigned got = 0;
	ssize_t n = -EAGAIN;

	connect_both();
	fill();
	CHECK(!client->ops->shutdown(client, SHUT_WR));
	lab_pass(100);
	server->ops->close(server);
	set_memory(STARVED);
	CHECK(lab.life[SERVER].calls->socket(AF_INET, SOCK_STREAM, 0, &another) < 0);
	set_memory(FED);
	for (unsigned i = 0; n && i < 100000; i += STEP, lab_pass(STEP))
		while ((n = client->ops->read(client, bytes, sizeof(bytes))) > 0)
			got += (unsigned)n;
	CHECK(!n && got > 100000);
	close_client();
}

int main(int argc, char **argv)
{
	pair_start(argc, argv);
	connects();
	is_given_up();
	waits();
	is_given_up_while_open();
	opens_another();
	return 0;
}
