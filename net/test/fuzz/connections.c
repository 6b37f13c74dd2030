/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include "fuzz.h"

enum { FIRST_PORT = 10000, PORTS = 50000 };

struct connection *connection_between(unsigned from, unsigned to, uint16_t from_port, uint16_t to_port,
                                      unsigned *direction)
{
	for (unsigned i = 0; i < run.connections; i++) {
		struct connection *c = &run.connection[i];
		const unsigned opener = (unsigned)c->end[0].stack, other = (unsigned)c->end[1].stack;

		if (!c->used)
			continue;
		*direction = from_port == SERVICE;
		if (*direction ? opener == to && other == from && c->port == to_port
			       : opener == from && other == to && c->port == from_port && to_port == SERVICE)
			return c;
	}
	return NULL;
}

static struct connection *unused(void)
{
	for (unsigned i = 0; i < run.connections; i++)
		if (!run.connection[i].used)
			return &run.connection[i];
	return NULL;
}

static bool is_over(const struct connection *c, unsigned cable)
{
	const unsigned a = (unsigned)c->end[0].stack, b = (unsigned)c->end[1].stack;

	return (lab.cable_end[cable][0] == a && lab.cable_end[cable][1] == b) ||
	       (lab.cable_end[cable][0] == b && lab.cable_end[cable][1] == a);
}

static void loosen(struct connection *c, unsigned cable, bool words)
{
	if (is_over(c, cable))
		*(words ? &c->broken : &c->loose) = true;
}

void connections_loosen(unsigned cable, bool words)
{
	for (unsigned i = 0; i < run.connections; i++)
		if (run.connection[i].used)
			loosen(&run.connection[i], cable, words);
}

static void set_options(struct file *file)
{
	const int one = 1;

	if (draw(2))
		file->ops->setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Nobody else has this port any more. */
static void take_port(const struct connection *of)
{
	for (unsigned i = 0; i < run.connections; i++) {
		struct connection *c = &run.connection[i];

		if (c != of && c->used && c->port == of->port && c->end[0].stack == of->end[0].stack &&
		    c->end[1].stack == of->end[1].stack)
			c->port = 0;
	}
}

void connection_open(unsigned stack)
{
	const unsigned to = draw(STACKS);
	struct connection *c = unused();
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(SERVICE),
	                             .sin_addr.s_addr = address_of(to) };
	struct sockaddr_in here = { .sin_family = AF_INET };
	struct file *file;
	int error;

	if (!c || to == stack || (!lab.life[to].calls && draw(4)))
		return;
	error = lab.life[stack].calls->socket(AF_INET, SOCK_STREAM, 0, &file);
	if (error && error != -ENOBUFS)
		fail("no socket: %d", error);
	if (error)
		return;
	set_options(file);
	*c = (struct connection){ .id = ++run.opened, .port = (uint16_t)(FIRST_PORT + run.opened % PORTS) };
	here.sin_port = htons(c->port);
	error = file->ops->bind(file, (struct sockaddr *)&here, sizeof(here));
	if (error && error != -ENOBUFS && error != -ENOMEM)
		fail("port %u is not free: %d", c->port, error);
	if (error || file->ops->connect(file, (struct sockaddr *)&there, sizeof(there)) != -EINPROGRESS) {
		file->ops->close(file);
		return;
	}
	c->used = true;
	c->end[0] = (struct end){ .stack = (int)stack, .life = lab.life[stack].host.info.life, .file = file };
	c->end[1] = (struct end){ .stack = (int)to };
	if (run.data != NONE)
		loosen(c, (unsigned)run.data, false);
	if (run.words != NONE)
		loosen(c, (unsigned)run.words, true);
	take_port(c);
}

static struct connection *opened_by(const struct sockaddr_in *from, unsigned to)
{
	for (unsigned i = 0; i < run.connections; i++) {
		struct connection *c = &run.connection[i];

		if (c->used && !c->accepted && c->end[1].stack == (int)to && c->port == ntohs(from->sin_port) &&
		    address_of((unsigned)c->end[0].stack) == from->sin_addr.s_addr)
			return c;
	}
	return NULL;
}

void connections_accept(unsigned stack)
{
	struct file *listener = run.program[stack].listener, *file;
	struct sockaddr_in from;

	for (;;) {
		socklen_t size = sizeof(from);
		struct connection *c;

		if (listener->ops->accept(listener, &file, (struct sockaddr *)&from, &size))
			return;
		c = opened_by(&from, stack);
		if (!c) { /* its opener is no more */
			file->ops->close(file);
			continue;
		}
		set_options(file);
		c->accepted = true;
		c->end[1].gone = false;
		c->end[1].file = file;
		c->end[1].life = lab.life[stack].host.info.life;
		run.totals.accepted++;
	}
}

void end_close(struct connection *c, unsigned side, bool reset)
{
	static const struct linger at_once = { 1, 0 };
	struct end *end = &c->end[side];

	trace(c, "end %u closes%s", side, reset ? " with a reset" : "");
	if (reset)
		end->file->ops->setsockopt(end->file, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	end->cut |= reset || end->read != c->end[!side].written;
	end->file->ops->close(end->file);
	end->file = NULL;
	end->closed = true;
}

void end_shut(struct connection *c, unsigned side)
{
	struct end *end = &c->end[side];

	if (end->file->ops->shutdown(end->file, SHUT_WR)) /* not connected yet */
		return;
	trace(c, "end %u shuts", side);
	end->shut = true;
}

void connections_reap(void)
{
	for (unsigned i = 0; i < run.connections; i++) {
		struct connection *c = &run.connection[i];
		const struct end *one = &c->end[0], *other = &c->end[1];

		if (c->used && (one->closed || one->gone) && (other->closed || other->gone || !c->accepted))
			c->used = false;
	}
}

static bool end_is_pending(struct connection *c, unsigned side)
{
	struct end *end = &c->end[side];
	const struct end *peer = &c->end[!side];

	if (!end->file || end->failed || end->ended)
		return false;
	if (side == 0 && !c->accepted) {
		end->failed = end->file->ready & EPOLLERR;
		/* without memory for a socket, the acceptor has reset it, and perhaps had none for the reset */
		return !end->failed && !(run.modes & HUNGER && end->file->ready & EPOLLOUT);
	}
	if (peer->gone || peer->failed || peer->cut) /* told by a reset when something is sent */
		return false;
	return end->read < peer->written || ((peer->shut || peer->closed) && !end->ended);
}

bool connection_is_pending(struct connection *c)
{
	return c->used && !c->broken && (end_is_pending(c, 0) | end_is_pending(c, 1));
}
