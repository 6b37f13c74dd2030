/* SPDX-License-Identifier: BSD-2-Clause */
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scrape.h"

#define PLAIN "text/plain; charset=utf-8"

enum { DRAIN_MAX = 256 << 10 }; /* bytes that a client may go on sending */

static void connection_enter(struct connection *c, enum connection_state state, uint64_t timeout)
{
	c->state = state;
	c->deadline = now() + timeout;
}

void connection_begin(struct connection *c, int fd)
{
	c->fd = fd;
	c->since = now();
	c->received = c->sent = 0;
	c->body = NULL;
	connection_enter(c, CONNECTION_READING, REQUEST_MS);
}

static void body_release(struct body *body)
{
	if (!body || --body->users)
		return;
	free(body->data);
	free(body);
}

void connection_end(struct connection *c)
{
	close(c->fd);
	body_release(c->body);
	c->body = NULL;
	c->state = CONNECTION_FREE;
}

static void connection_reply(struct connection *c, enum http_status status, const char *type, const char *text,
			     size_t length)
{
	c->head_length = http_head(c->head, status, type, length);
	c->text = text;
	c->body_length = c->wants.head ? 0 : length;
	c->took = now();
	connection_enter(c, CONNECTION_WRITING, ANSWER_MS);
}

void connection_answer(struct connection *c, enum http_status status)
{
	static const struct {
		enum http_status status;
		const char *text;
	} said[] = {
		{ HTTP_OK, "Skerry: what its clusters count is at /metrics, for Prometheus.\n" },
		{ HTTP_BAD_REQUEST, "That is no request of HTTP/1.1.\n" },
		{ HTTP_NOT_FOUND, "There is nothing here: the metrics are at /metrics.\n" },
		{ HTTP_METHOD_NOT_ALLOWED, "GET and HEAD are what can be asked.\n" },
		{ HTTP_TIMEOUT, "The request did not come in time.\n" },
		{ HTTP_TOO_LARGE, "The request is too long.\n" },
		{ HTTP_VERSION, "HTTP/1.0 and HTTP/1.1 are spoken here.\n" },
		{ HTTP_UNAVAILABLE, "The statistics cannot be read now; the console says why.\n" },
	};
	const char *text = "";

	for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (said[i].status == status)
			text = said[i].text;
	connection_reply(c, status, PLAIN, text, strlen(text));
}

void connection_answer_scrape(struct connection *c, struct body *body)
{
	c->body = body;
	body->users++;
	connection_reply(c, HTTP_OK, EXPOSITION_TYPE, body->data, body->length);
}

static void connection_receive(struct connection *c)
{
	const ssize_t got = recv(c->fd, c->request + c->received, sizeof(c->request) - c->received, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		connection_end(c);
		return;
	}
	c->received += (size_t)got;
	const enum http_status status = http_parse(c->request, c->received, &c->wants);
	if (status == HTTP_OK && c->wants.resource == HTTP_METRICS)
		c->state = CONNECTION_WAITING;
	else if (status != HTTP_MORE)
		connection_answer(c, status);
}

/* False: no more can be sent now. */
static bool send_part(struct connection *c, const char *bytes, size_t length)
{
	const ssize_t sent = send(c->fd, bytes, length, MSG_NOSIGNAL);

	if (sent > 0) {
		c->sent += (size_t)sent;
		c->took = now();
	} else if (sent == 0 || (errno != EAGAIN && errno != EINTR)) {
		connection_end(c);
	}
	return sent == (ssize_t)length;
}

static void connection_transmit(struct connection *c)
{
	if (c->sent < c->head_length && !send_part(c, c->head + c->sent, c->head_length - c->sent))
		return;
	const size_t from = c->sent - c->head_length;
	if (from < c->body_length && !send_part(c, c->text + from, c->body_length - from))
		return;
	shutdown(c->fd, SHUT_WR);
	c->received = 0;
	connection_enter(c, CONNECTION_DRAINING, DRAIN_MS);
}

static void connection_drain(struct connection *c)
{
	const ssize_t got = recv(c->fd, c->request, sizeof(c->request), 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->received += got > 0 ? (size_t)got : 0;
	if (got <= 0 || c->received > DRAIN_MAX)
		connection_end(c);
}

short connection_events(const struct connection *c)
{
	switch (c->state) {
	case CONNECTION_READING:
	case CONNECTION_DRAINING:
		return POLLIN;
	case CONNECTION_WRITING:
		return POLLOUT;
	default:
		return 0;
	}
}

void connection_go_on(struct connection *c)
{
	if (c->state == CONNECTION_READING)
		connection_receive(c);
	else if (c->state == CONNECTION_DRAINING)
		connection_drain(c);
	if (c->state == CONNECTION_WRITING)
		connection_transmit(c);
}

void connection_too_late(struct connection *c)
{
	if (c->state == CONNECTION_READING && c->received)
		connection_answer(c, HTTP_TIMEOUT);
	else
		connection_end(c);
}
