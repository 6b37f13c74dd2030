/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time for which a peer may take nothing until its connection is reset, to the second: two programs of a lab that
 * are played by hand, a client that is connected by a cable, and a server that has more to send than the client reads.
 * With the argument "hungry": what the client meets when the server has no memory.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "../lwip/budget.h"
#include "../lwip/link.h"
#include "lab/lab.h"
#include "test.h"

enum { SERVER, CLIENT, SERVICE = 6379, PART = 16384, STEP = 10 /* ms */, STUCK = 500000, NEVER = 1000000 };

static struct file *listener, *server, *client; /* the last two are the ends of the connection */

/* The client has been told of an error. */
static bool is_reset(void) { return client->ready & EPOLLERR; }

/* Milliseconds until it is; NEVER, if it is not within three times the timeout. */
static unsigned until_reset(void)
{
	for (unsigned ms = 0; ms < 3 * BUDGET_TIMEOUT; ms += STEP, lab_pass(STEP))
		if (is_reset())
			return ms;
	return NEVER;
}

/* Looks at a connection come each second, TCP's ticks each half. */
static bool is_about(unsigned ms, unsigned expected)
{
	const bool is = ms + 500 >= expected && ms <= expected + 2000;

	if (!is)
		fprintf(stderr, "reset after %u ms, expected after %u\n", ms, expected);
	return is;
}

static void connect_client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVICE),
	                          .sin_addr.s_addr = address_of(SERVER) };

	CHECK(!lab.life[CLIENT].calls->socket(AF_INET, SOCK_STREAM, 0, &client));
	CHECK(client->ops->connect(client, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
}

static void accept_client(void) { CHECK(!listener->ops->accept(listener, &server, NULL, NULL)); }

static void connect_both(void)
{
	connect_client();
	lab_pass(100);
	accept_client();
}

static void close_client(void)
{
	close_file(client);
	lab_pass(1000);
}

/*
 * The server writes all that its stack takes, and the client reads nothing: its window is closed by less. It is
 * announced in units of 8 bytes: the last 7 go byte by byte, each by a probe, of which one comes each minute in the
 * end.
 */
static void fill_up(void)
{
	static const char bytes[4096];

	for (unsigned i = 0; i < 50; i++, lab_pass(STEP))
		while (server->ops->write(server, bytes, sizeof(bytes)) > 0)
			;
	lab_pass(STUCK);
	CHECK(!is_reset()); /* an open connection waits for as long as its program does */
}

static void pair_start(int count, char **arguments)
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

/* All that is there. Returns what the last read has. */
static ssize_t read_all_of(unsigned *got)
{
	static char bytes[PART];
	ssize_t n;

	while ((n = client->ops->read(client, bytes, sizeof(bytes))) > 0)
		*got += (unsigned)n;
	return n;
}

static void set_timeout(int ms)
{
	CHECK(!server->ops->setsockopt(server, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)));
}

/* At any moment between two looks. */
static void closed(void)
{
	for (unsigned i = 0; i < 12; i++) {
		connect_both();
		fill_up();
		lab_pass(i * 3370);
		server->ops->close(server);
		CHECK(is_about(until_reset(), BUDGET_TIMEOUT));
		close_client();
	}
}

static void read_part(void)
{
	static char bytes[PART];
	ssize_t n;

	for (ssize_t got = 0; got < PART; got += n) {
		n = client->ops->read(client, bytes, PART);
		CHECK(n > 0);
	}
}

/* The client reads a part when the time has nearly passed: it gets all of it again, behind the last bytes of the window
 * that this opens. */
static void closed_and_read(void)
{
	unsigned ms;

	connect_both();
	fill_up();
	server->ops->close(server);
	for (unsigned i = 0; i < 3; i++) {
		lab_pass(BUDGET_TIMEOUT - 3000);
		CHECK(!is_reset());
		read_part();
	}
	ms = until_reset();
	CHECK(ms + 500 >= BUDGET_TIMEOUT && ms != NEVER);
	close_client();
}

/* Loses the frames that one side has sent on its cable and the other has not taken yet. */
static void lose_from(unsigned side)
{
	struct link *from = link_of_cable(0, side), *to = link_of_cable(0, !side);
	const struct port_end *out = &from->port;

	for (uint64_t at = to->port.receive.position; at != out->transmit.position; at++)
		((struct port_descriptor *)out->transmit.ring->slot[at & out->transmit.mask].payload)->length = 0;
}

/* The client has room again, but the update of its window is lost. The server must ask within the client's time,
 * however long it asked in vain. */
static void update_lost(int ms, unsigned later)
{
	unsigned got = 0;

	connect_both();
	fill_up();
	lab_pass(later); /* it asks once a minute */
	if (ms)
		set_timeout(ms);
	else
		server->ops->close(server);
	read_all_of(&got);
	CHECK(got > PART);
	lab.life[CLIENT].calls->poll();
	lose_from(1);
	got = 0;
	for (unsigned i = 0; i < BUDGET_TIMEOUT + 5000; i += STEP, lab_pass(STEP))
		read_all_of(&got);
	CHECK(got > PART && !is_reset());
	if (ms)
		server->ops->close(server);
	close_client();
}

/* The client was away, and is there again soon after the server closes: it needs what was sent before once more, and
 * twice. */
static void away(unsigned ms)
{
	char bytes[8];

	connect_both();
	CHECK(server->ops->write(server, "last", 4) == 4);
	lab.life[CLIENT].stopped = true;
	lab_pass(ms);
	server->ops->close(server);
	lab_pass(2000);
	lose_from(0);
	lab.life[CLIENT].stopped = false;
	lab_pass(BUDGET_TIMEOUT + 5000);
	CHECK(client->ops->read(client, bytes, sizeof(bytes)) == 4 &&
	      client->ops->read(client, bytes, sizeof(bytes)) == 0);
	close_client();
}

/* The server's end is open for `open` ms of its time-out, then closed: `left` ms are left. */
static void expect_reset(int ms, unsigned open, unsigned left)
{
	set_timeout(ms);
	lab_pass(open);
	CHECK(!is_reset());
	server->ops->close(server);
	CHECK(is_about(until_reset(), left));
	close_client();
}

static void timeout(int ms, unsigned open, unsigned left)
{
	connect_both();
	fill_up();
	expect_reset(ms, open, left);
}

static void timeout_open(void)
{
	connect_both();
	fill_up();
	set_timeout(7000);
	for (unsigned i = 0; i < 3; i++) {
		lab_pass(5000);
		CHECK(!is_reset());
		read_part();
	}
	CHECK(until_reset() != NEVER);
	server->ops->close(server);
	close_client();
	connect_both();
	fill_up();
	set_timeout(7000);
	CHECK(is_about(until_reset(), 7000));
	server->ops->close(server);
	close_client();
}

/* Less than from one look to the next, of which some see data under way: the client acknowledges all of it soon. */
static void timeout_short(void)
{
	char byte;

	connect_both();
	set_timeout(500);
	for (unsigned i = 0; i < 50; i++) {
		CHECK(server->ops->write(server, "x", 1) == 1);
		lab.life[CLIENT].stopped = true;
		lab_pass(200);
		lab.life[CLIENT].stopped = false;
		lab_pass(2170);
		CHECK(!is_reset() && client->ops->read(client, &byte, 1) == 1);
	}
	server->ops->close(server);
	close_client();
}

/* Idle for longer than its time-out: the time begins with what is written last. The client answers nothing for a
 * while. */
static void timeout_idle(void)
{
	connect_both();
	set_timeout(25000);
	lab_pass(STUCK + 330);
	CHECK(server->ops->write(server, "last", 4) == 4);
	server->ops->close(server);
	lab.life[CLIENT].stopped = true;
	lab_pass(BUDGET_TIMEOUT - 3000);
	lab.life[CLIENT].stopped = false;
	lab_pass(20000);
	CHECK(!is_reset() && client->ready & EPOLLIN);
	close_client();
}

/*
 * The client has taken all, and its side stays open: lwIP forgets the connection after as long. Before that it answers,
 * after that it resets. The client asks each second. Nothing has come from it for a while when the server closes, and
 * then for `away` ms.
 */
static void finished(int ms, bool shut, unsigned away)
{
	int on = 1;

	connect_both();
	set_timeout(ms);
	lab_pass(STUCK);
	if (shut)
		CHECK(!server->ops->shutdown(server, SHUT_WR));
	lab_pass(100);
	server->ops->close(server);
	lab.life[CLIENT].stopped = true;
	lab_pass(away);
	lab.life[CLIENT].stopped = false;
	lab_pass(STEP); /* it finds the end before it asks, or would give up at once: nothing has come for so long */
	CHECK(!client->ops->setsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &on, sizeof(on)));
	CHECK(!client->ops->setsockopt(client, IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof(on)));
	CHECK(!client->ops->setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
	CHECK(is_about(until_reset(), BUDGET_TIMEOUT));
	close_client();
}

/* The client reads what it has when the server has forgotten the connection: all, and the end. */
static void finished_and_read(void)
{
	static const char bytes[2 * PART]; /* less than its window */
	char byte;

	connect_both();
	CHECK(server->ops->write(server, bytes, sizeof(bytes)) == sizeof(bytes));
	server->ops->close(server);
	lab_pass(BUDGET_TIMEOUT + 5000);
	for (unsigned i = 0; i < sizeof(bytes) / PART; i++, lab_pass(1000))
		read_part();
	CHECK(client->ops->read(client, &byte, 1) == 0);
	close_client();
}

/* Both sides have shut; the server's program holds the connection for `open` ms of its time-out, then closes it: `left`
 * ms are left. */
static void held(int ms, unsigned open, unsigned left)
{
	char byte;

	connect_both();
	fill_up();
	CHECK(!client->ops->shutdown(client, SHUT_WR));
	lab_pass(100);
	CHECK(server->ops->read(server, &byte, 1) == 0);
	CHECK(!server->ops->shutdown(server, SHUT_WR));
	expect_reset(ms, open, left);
}

/* More than the server's stack takes at once. Each counts until it has ended, also where its program holds it until
 * then. */
static void held_often(void)
{
	char byte;

	for (unsigned i = 0; i < 1100; i++) {
		connect_both();
		CHECK(!client->ops->shutdown(client, SHUT_WR));
		lab_pass(STEP);
		CHECK(server->ops->read(server, &byte, 1) == 0);
		CHECK(!server->ops->shutdown(server, SHUT_WR));
		server->ops->close(server);
		close_client();
	}
}

static void time_outs(void)
{
	closed();
	closed_and_read();
	timeout(30000, 25000, 5000);
	timeout(90000, 30000, BUDGET_TIMEOUT);
	timeout_open();
	timeout_idle();
	timeout_short();
	held(0, STUCK, BUDGET_TIMEOUT);
	held(30000, 25000, 5000);
	finished(0, false, 0);
	finished(0, true, 0);
	finished(1000, true, 0);
	finished(0, false, BUDGET_TIMEOUT - 5000);
	finished_and_read();
	for (unsigned i = 0; i < 6; i++)
		update_lost(i % 2 ? BUDGET_TIMEOUT : 0, i / 2 * 20000);
	for (unsigned i = 0; i < 6; i++)
		away(30000 + i * 17770);
	held_often();
}

/* --- a server without memory --- */

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
	fill_up();
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
	unsigned got = 0;

	connect_both();
	fill_up();
	set_memory(STARVED);
	lab_pass(100000);
	set_memory(FED);
	for (unsigned i = 0; i < 100000; i += STEP, lab_pass(STEP))
		read_all_of(&got);
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
	fill_up();
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
	struct file *another;
	unsigned got = 0;
	ssize_t n = -EAGAIN;

	connect_both();
	fill_up();
	CHECK(!client->ops->shutdown(client, SHUT_WR));
	lab_pass(100);
	server->ops->close(server);
	set_memory(STARVED);
	CHECK(lab.life[SERVER].calls->socket(AF_INET, SOCK_STREAM, 0, &another) < 0);
	set_memory(FED);
	for (unsigned i = 0; n && i < 100000; i += STEP, lab_pass(STEP))
		n = read_all_of(&got);
	CHECK(!n && got > 100000);
	close_client();
}

static void hunger(void)
{
	connects();
	is_given_up();
	waits();
	is_given_up_while_open();
	opens_another();
}

int main(int count, char **arguments)
{
	pair_start(count, arguments);
	if (count > 2 && !strcmp(arguments[2], "hungry"))
		hunger();
	else
		time_outs();
	return 0;
}
