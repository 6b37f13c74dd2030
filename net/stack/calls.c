/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's calls, made on lwIP's sockets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <skerry/require.h>
#include "serve.h"

static void on_ready(struct file *file)
{
	struct served *s = served_socket(file->number);

	if (s->listening)
		s->value = s->value == INT32_MAX ? 0 : s->value + 1;
	served_pending(s);
}

static void served_begin(struct served *s, struct file *file)
{
	require(!s->file && file->ops);
	/* it may still stand in a queue from before */
	*s = (struct served){ .file = file, .pending = s->pending, .changed = s->changed };
	file->number = served_number(s);
	file->on_ready = on_ready;
}

static void answer_names(struct file *file, struct socket_event *answer)
{
	struct sockaddr name;
	socklen_t length = sizeof(name);

	if (!file->ops->getsockname(file, &name, &length))
		address_take(&name, length, &answer->local);
	length = sizeof(name);
	if (!file->ops->getpeername(file, &name, &length))
		address_take(&name, length, &answer->remote);
}

static int open_socket(struct served *s)
{
	struct file *file;
	int error = socket_create(AF_INET, SOCK_STREAM, 0, &file);

	if (!error)
		served_begin(s, file);
	return error;
}

static int accept_socket(struct served *listener, struct served *s, struct socket_event *answer)
{
	struct file *file;
	int error = listener->file->ops->accept(listener->file, &file, NULL, NULL);

	served_pending(listener); /* whether more wait */
	if (error)
		return error;
	served_begin(s, file);
	s->flags = SOCKET_CONNECTED;
	answer_names(file, answer);
	served_pending(s); /* its first bytes may be there already */
	return 0;
}

static int connect_socket(struct served *s, const struct sockaddr *address, socklen_t length,
                          struct socket_event *answer)
{
	int error = s->file->ops->connect(s->file, address, length);

	if (error == -EINPROGRESS) {
		s->connecting = true;
		answer_names(s->file, answer);
		served_pending(s);
	}
	return error;
}

static int listen_socket(struct served *s, int backlog)
{
	int error = s->file->ops->listen(s->file, backlog);

	s->listening |= !error;
	return error;
}

static int get_option(struct file *file, const struct socket_request *r, struct socket_event *answer)
{
	socklen_t size = r->size;
	int error = file->ops->getsockopt(file, r->level, r->option, answer->data, &size);

	answer->size = size;
	return error;
}

/* A call on an open socket. */
static int call_on(struct served *s, const struct socket_request *r, struct socket_event *answer)
{
	struct sockaddr address;
	socklen_t length = sizeof(address);
	struct file *file = s->file;
	int error;

	address_give(&r->address, &address, &length);
	require(file && !s->closing);
	switch (r->kind) {
	case SOCKET_BIND:
		error = file->ops->bind(file, &address, length);
		answer_names(file, answer);
		return error;
	case SOCKET_LISTEN:
		error = listen_socket(s, r->value);
		answer_names(file, answer);
		return error;
	case SOCKET_CONNECT:
		return connect_socket(s, &address, length, answer);
	case SOCKET_SET_OPTION:
		return file->ops->setsockopt(file, r->level, r->option, r->data, r->size);
	default:
		return get_option(file, r, answer);
	}
}

bool call_make(const struct socket_request *r, struct socket_event *answer)
{
	struct served *s = served_socket(r->socket), *listener;

	if (!s || r->kind < SOCKET_OPEN || r->kind > SOCKET_GET_OPTION || r->size > SOCKET_OPTION_BYTES)
		return false;
	if (r->kind == SOCKET_OPEN || r->kind == SOCKET_ACCEPT) {
		/* the program may use a number again once it has this answer */
		if (s->file || (s->changed && s->flags & SOCKET_CLOSED))
			return false;
		if (r->kind == SOCKET_OPEN) {
			answer->value = open_socket(s);
			return true;
		}
		listener = r->value >= 0 ? served_socket((unsigned)r->value) : NULL;
		if (!listener || !listener->file || listener->closing)
			return false;
		answer->value = accept_socket(listener, s, answer);
		return true;
	}
	if (!s->file || s->closing)
		return false;
	answer->value = call_on(s, r, answer);
	return true;
}
