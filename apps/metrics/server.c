/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* accept4() */
#include "http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scrape.h"

enum {
	CONNECTIONS = 16,
	BACKLOG = 64,
	FAIR_MS = 500, /* for so long no client is cut off in favour of a new one */
};

static struct connection connection[CONNECTIONS];
static bool scraping;

int server_open(unsigned port)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

/* --- places for clients --- */

/*
 * Time since which a client has been slow to ask, to take its answer or to close; UINT64_MAX: this server is the slow
 * side.
 */
static uint64_t slow_since(const struct connection *c)
{
	switch (c->state) {
	case CONNECTION_READING:
	case CONNECTION_DRAINING:
		return c->since;
	case CONNECTION_WRITING:
		return c->took;
	default:
		return UINT64_MAX;
	}
}

/* Returns the connection that is dropped first for a new one. */
static struct connection *slowest_connection(void)
{
	struct connection *slowest = connection;

	for (struct connection *c = connection; c < connection + CONNECTIONS; c++)
		if (slow_since(c) < slow_since(slowest))
			slowest = c;
	return slowest;
}

/* A free place, or null; *when: at which there may be one. */
static struct connection *free_place(uint64_t *when)
{
	struct connection *slow = slowest_connection();

	for (struct connection *c = connection; c < connection + CONNECTIONS; c++)
		if (c->state == CONNECTION_FREE)
			return c;
	if (slow_since(slow) == UINT64_MAX)
		return NULL;
	if (now() - slow_since(slow) >= FAIR_MS)
		return slow;
	*when = slow_since(slow) + FAIR_MS;
	return NULL;
}

static void take_in(int listener)
{
	uint64_t ignored;
	struct connection *c;

	while ((c = free_place(&ignored))) {
		const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (c->state != CONNECTION_FREE)
			connection_end(c);
		connection_begin(c, fd);
		connection_go_on(c); /* most have asked by now */
	}
}

/* --- scrapes --- */

/* All in state `from` get the scrape, or are told that there is none. */
static void hand_out(enum connection_state from, struct body *body)
{
	for (struct connection *c = connection; c < connection + CONNECTIONS; c++) {
		if (c->state != from)
			continue;
		if (body)
			connection_answer_scrape(c, body);
		else
			connection_answer(c, HTTP_UNAVAILABLE);
	}
}

static void end_scrape(void)
{
	struct text text = scrape_end();
	struct body *body = text.failed ? NULL : malloc(sizeof(*body));

	scraping = false;
	if (body)
		*body = (struct body){ 0, text.data, text.length };
	else
		free(text.data);
	hand_out(CONNECTION_SCRAPED, body);
	if (body && !body->users) {
		free(body->data);
		free(body);
	}
}

static void begin_scrape(unsigned redis_port)
{
	bool needed = false;

	for (unsigned i = 0; i < CONNECTIONS; i++)
		needed |= connection[i].state == CONNECTION_WAITING;
	if (!needed || scraping)
		return;
	scraping = scrape_begin(redis_port);
	if (!scraping)
		hand_out(CONNECTION_WAITING, NULL);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (connection[i].state == CONNECTION_WAITING)
			connection[i].state = CONNECTION_SCRAPED;
	if (scraping && scrape_polled(NULL, 0)) /* there is no Redis to wait for */
		end_scrape();
}

/* --- the loop --- */

static void cut_off(void)
{
	const uint64_t time = now();

	for (struct connection *c = connection; c < connection + CONNECTIONS; c++)
		if (connection_events(c) && time >= c->deadline)
			connection_too_late(c);
}

static int poll_timeout(uint64_t until)
{
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (connection_events(&connection[i]) && connection[i].deadline < until)
			until = connection[i].deadline;
	if (scraping && scrape_deadline() < until)
		until = scrape_deadline();
	const uint64_t time = now();
	return until == UINT64_MAX ? -1 : until <= time ? 0 : (int)(until - time);
}

_Noreturn void server_run(int listener, unsigned redis_port)
{
	struct pollfd fds[1 + CONNECTIONS + SCRAPE_POLLS_MAX];
	struct pollfd *const of_connections = fds + 1, *const of_scrape = of_connections + CONNECTIONS;

	for (;;) {
		uint64_t until = UINT64_MAX;
		fds[0] = (struct pollfd){ .fd = free_place(&until) ? listener : -1, .events = POLLIN };
		for (unsigned i = 0; i < CONNECTIONS; i++) {
			const short events = connection_events(&connection[i]);
			of_connections[i] = (struct pollfd){ .fd = events ? connection[i].fd : -1, .events = events };
		}
		const unsigned scraped = scraping ? scrape_poll_set(of_scrape) : 0;
		poll(fds, 1 + CONNECTIONS + scraped, poll_timeout(until));

		for (unsigned i = 0; i < CONNECTIONS; i++)
			if (of_connections[i].revents)
				connection_go_on(&connection[i]);
		if (scraping && scrape_polled(of_scrape, scraped))
			end_scrape();
		cut_off();
		if (fds[0].revents)
			take_in(listener);
		begin_scrape(redis_port);
	}
}
