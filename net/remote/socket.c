/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <skerry/require.h>
#include "remote.h"

static uint32_t remote_readiness(const struct remote_socket *socket)
{
	bool ended = socket->peer_closed || socket->read_shut;
	uint32_t ready = 0;

	switch (socket->state) {
	case REMOTE_NEW:
		return EPOLLOUT | EPOLLHUP;
	case REMOTE_LISTENING: /* an error, until accept() has returned it */
		if (socket->error)
			return socket->acceptable ? EPOLLIN | EPOLLERR : 0;
		return socket->acceptable && remote_has_room() ? EPOLLIN : 0;
	case REMOTE_CONNECTING:
		return 0;
	case REMOTE_FAILED:
		return EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | (socket->error ? EPOLLERR : 0);
	case REMOTE_CONNECTED:
		break;
	}
	if (socket->arrived != socket->read || ended)
		ready |= EPOLLIN;
	if (ended)
		ready |= EPOLLRDHUP;
	if (socket->write_shut || remote_writable(socket))
		ready |= EPOLLOUT;
	if (ended && socket->write_shut)
		ready |= EPOLLHUP;
	return ready;
}

void remote_update_again(struct remote_socket *socket, uint32_t again)
{
	uint32_t ready = remote_readiness(socket);

	if (ready == socket->file.ready && !(again && socket->file.edge_triggered))
		return;
	if (again | (ready & ~socket->file.ready))
		remote_happened();
	file_ready_again(&socket->file, ready, again);
}

void remote_update(struct remote_socket *socket) { remote_update_again(socket, 0); }

int remote_take_error(struct remote_socket *socket)
{
	int error = socket->error;

	require(error >= 0);
	socket->error = 0;
	if (error)
		remote_update(socket);
	return -error;
}

void remote_apply(struct remote_socket *socket, const struct socket_event *event)
{
	const bool more = event->arrived != socket->arrived;
	uint32_t again = more ? EPOLLIN : 0;

	socket->taken = event->taken;
	socket->arrived = event->arrived;
	if (socket->closing)
		return;
	socket->acceptable = event->flags & SOCKET_ACCEPTABLE;
	if (socket->state == REMOTE_LISTENING && event->value != socket->connections) {
		socket->connections = event->value;
		again = EPOLLIN;
	}
	if (event->flags & SOCKET_CONNECTED && socket->state == REMOTE_CONNECTING) {
		socket->state = REMOTE_CONNECTED;
		socket->local = event->local;
	}
	if (event->flags & SOCKET_ENDED && !socket->peer_closed) {
		socket->peer_closed = true;
		again = REMOTE_ALL;
	}
	if (event->flags & SOCKET_BROKEN && socket->state != REMOTE_FAILED) {
		socket->state = REMOTE_FAILED;
		socket->error = event->value < 0 && event->value > -4096 ? -event->value : 0;
	}
	if (more && socket->read_shut)
		remote_discard(socket);
	remote_update_again(socket, again);
}

void remote_lost(struct remote_socket *socket)
{
	if (socket->closing) {
		remote_free(socket);
		return;
	}
	if (socket->state == REMOTE_LISTENING) {
		socket->error = ENETDOWN;
		socket->acceptable = true;
	} else if (socket->state != REMOTE_NEW && socket->state != REMOTE_FAILED) {
		socket->error = ECONNRESET;
		socket->state = REMOTE_FAILED;
	}
	remote_update(socket);
}

/* --- operations --- */

static void close_socket(struct file *file)
{
	struct remote_socket *socket = remote_of(file);

	require(!socket->closing);
	socket->unread = socket->state == REMOTE_CONNECTED && socket->arrived != socket->read;
	socket->closing = true;
	if (remote_gone())
		remote_free(socket);
	else
		remote_changed(socket);
}

static int bind_socket(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct socket_request request = { .kind = SOCKET_BIND };
	struct remote_socket *socket = remote_of(file);
	struct socket_event answer;
	int error = address_take(address, length, &request.address);

	if (!error)
		error = remote_call(socket, &request, &answer);
	if (!error)
		socket->local = answer.local;
	return error;
}

static int listen_socket(struct file *file, int backlog)
{
	struct socket_request request = { .kind = SOCKET_LISTEN, .value = backlog };
	struct remote_socket *socket = remote_of(file);
	struct socket_event answer;
	int error = remote_call(socket, &request, &answer);

	if (error || socket->state != REMOTE_NEW)
		return error;
	socket->state = REMOTE_LISTENING;
	socket->local = answer.local;
	remote_update(socket);
	return 0;
}

static const struct file_operations remote_operations;

static int accept_socket(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length)
{
	struct remote_socket *listener = remote_of(file), *connection;
	struct socket_request request = { .kind = SOCKET_ACCEPT, .value = listener->number };
	struct socket_event answer;
	int error;

	if (listener->state != REMOTE_LISTENING)
		return -EINVAL;
	if (remote_gone()) {
		/* reported once: a waiter for readiness need not be woken again and again */
		listener->acceptable = false;
		remote_update(listener);
		return -ENETDOWN;
	}
	if (!listener->acceptable)
		return -EAGAIN;
	if (!remote_has_room()) { /* they wait with the stack until another is closed */
		remote_update(listener);
		return -EAGAIN;
	}
	connection = remote_new();
	if (!connection)
		return -ENOBUFS;
	file_init(&connection->file, &remote_operations, O_RDWR);
	connection->state = REMOTE_CONNECTED;
	connection->connect_told = true;
	error = remote_call(connection, &request, &answer);
	if (error) {
		remote_free(connection);
		return error;
	}
	connection->local = answer.local;
	connection->remote = answer.remote;
	remote_update(connection);
	address_give(&connection->remote, address, length);
	*out = &connection->file;
	return 0;
}

static int connect_socket(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct socket_request request = { .kind = SOCKET_CONNECT };
	struct remote_socket *socket = remote_of(file);
	struct socket_event answer;
	int error;

	switch (socket->state) {
	case REMOTE_NEW:
		break;
	case REMOTE_CONNECTING:
		return -EALREADY;
	case REMOTE_CONNECTED: /* the first look after it was in progress says 0 */
		error = socket->connect_told ? -EISCONN : 0;
		socket->connect_told = true;
		return error;
	case REMOTE_FAILED:
		return socket->error ? remote_take_error(socket) : -ECONNABORTED;
	case REMOTE_LISTENING:
		return -EISCONN;
	}
	error = address_take(address, length, &request.address);
	if (error)
		return error;
	socket->state = REMOTE_CONNECTING; /* how it went may be heard together with the answer */
	remote_update(socket);
	socket->remote = request.address;
	error = remote_call(socket, &request, &answer);
	if (error == -EINPROGRESS) {
		socket->local = answer.local;
	} else if (socket->state == REMOTE_CONNECTING) {
		socket->state = REMOTE_NEW;
		remote_update(socket);
	}
	return error;
}

static int name_socket(struct file *file, struct sockaddr *address, socklen_t *length)
{
	address_give(&remote_of(file)->local, address, length);
	return 0;
}

static int name_peer(struct file *file, struct sockaddr *address, socklen_t *length)
{
	struct remote_socket *socket = remote_of(file);

	if (socket->state != REMOTE_CONNECTED)
		return -ENOTCONN;
	address_give(&socket->remote, address, length);
	return 0;
}

/* The stack knows what options there are and what they mean. */
static int set_option(struct file *file, int level, int option, const void *value, socklen_t size)
{
	struct socket_request request = { .kind = SOCKET_SET_OPTION, .level = level, .option = option };

	if (!value)
		return -EINVAL;
	request.size = size < SOCKET_OPTION_BYTES ? size : SOCKET_OPTION_BYTES;
	memcpy(request.data, value, request.size);
	return remote_call(remote_of(file), &request, NULL);
}

static int get_option(struct file *file, int level, int option, void *value, socklen_t *size)
{
	struct socket_request request = { .kind = SOCKET_GET_OPTION, .level = level, .option = option };
	struct socket_event answer = { 0 };
	int number, error = 0;

	if (level == SOL_SOCKET && option == SO_ERROR) { /* known here */
		number = -remote_take_error(remote_of(file));
		answer.size = sizeof(number);
		memcpy(answer.data, &number, sizeof(number));
	} else {
		request.size = *size < SOCKET_OPTION_BYTES ? *size : SOCKET_OPTION_BYTES;
		error = remote_call(remote_of(file), &request, &answer);
	}
	if (error)
		return error;
	if (*size > answer.size)
		*size = answer.size;
	memcpy(value, answer.data, *size < SOCKET_OPTION_BYTES ? *size : SOCKET_OPTION_BYTES);
	return 0;
}

static const struct file_operations remote_operations = {
	.name = "socket",
	.read = remote_read,
	.write = remote_write,
	.close = close_socket,
	.bind = bind_socket,
	.listen = listen_socket,
	.accept = accept_socket,
	.connect = connect_socket,
	.getsockname = name_socket,
	.getpeername = name_peer,
	.setsockopt = set_option,
	.getsockopt = get_option,
	.shutdown = remote_shutdown,
	.sendmsg = remote_send,
	.recvmsg = remote_receive,
};

int remote_create(struct file **out)
{
	struct socket_request request = { .kind = SOCKET_OPEN };
	struct remote_socket *socket = remote_new();
	int error;

	if (!socket)
		return -ENOBUFS;
	file_init(&socket->file, &remote_operations, O_RDWR);
	error = remote_call(socket, &request, NULL);
	if (error) {
		remote_free(socket);
		return error;
	}
	remote_update(socket);
	*out = &socket->file;
	return 0;
}
