/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections come about: addresses, listening, accepting, connecting. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <lwip/priv/tcp_priv.h>
#include <skerry/require.h>
#include "connections.h"
#include "share.h"

enum { BACKLOG_MAX = 511 };

/* --- addresses --- */

int socket_getsockname(struct file *file, struct sockaddr *address, socklen_t *length)
{
	address_give(&socket_of(file)->local, address, length);
	return 0;
}

int socket_getpeername(struct file *file, struct sockaddr *address, socklen_t *length)
{
	struct socket *socket = socket_of(file);

	if (socket->state != SOCKET_CONNECTED)
		return -ENOTCONN;
	address_give(&socket->remote, address, length);
	return 0;
}

/* --- listening --- */

int socket_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct socket *socket = socket_of(file);
	struct socket_address to;
	int error = address_take(address, length, &to);
	ip_addr_t ip;

	if (error)
		return error;
	if (socket->state != SOCKET_NEW || socket->local.port)
		return -EINVAL;
	ip_addr_set_ip4_u32(&ip, to.ipv4);
	if (to.ipv4 && !ip4_addr_isloopback(ip_2_ip4(&ip)) &&
	    !ip4_addr_eq(ip_2_ip4(&ip), netif_ip4_addr(netif_default)))
		return -EADDRNOTAVAIL;
	error = socket_error_of(tcp_bind(socket->pcb, &ip, to.port));
	if (!error)
		socket->local = (struct socket_address){ .ipv4 = to.ipv4, .port = socket->pcb->local_port };
	return error;
}

static void queue_put(struct socket *listener, struct socket *connection)
{
	require(!connection->queue_next && !listener->queue_first == !listener->queued);
	if (listener->queue_first)
		listener->queue_last->queue_next = connection;
	else
		listener->queue_first = connection;
	listener->queue_last = connection;
	listener->queued++;
}

static struct socket *queue_take(struct socket *listener)
{
	struct socket *connection = listener->queue_first;

	if (connection) {
		require(listener->queued);
		listener->queue_first = connection->queue_next;
		listener->queued--;
	}
	return connection;
}

/* Returns the socket, with the listener's operations, of a connection that lwIP has made for the listener. Null without
 * memory. */
static struct socket *socket_of_connection(const struct socket *listener, struct tcp_pcb *pcb)
{
	struct socket *socket = socket_make(listener->file.ops, pcb);

	if (!socket)
		return NULL;
	socket_options_inherit(socket, listener);
	socket->state = SOCKET_CONNECTED;
	socket->connect_told = true;
	socket->local = (struct socket_address){ .ipv4 = ip_2_ip4(&pcb->local_ip)->addr, .port = pcb->local_port };
	socket->remote = (struct socket_address){ .ipv4 = ip_2_ip4(&pcb->remote_ip)->addr, .port = pcb->remote_port };
	stream_attach(socket);
	share_window_begin(socket);
	socket_update(socket);
	return socket;
}

enum { DELAYED_MAX = 0xff }; /* lwIP counts them in a byte, and drops SYNs while there are so many */

/*
 * A connection whose handshake is done. Beyond the backlog lwIP counts it; of half-open ones, which are not counted,
 * some may still come when no SYN is taken any more.
 */
static err_t on_accept(void *argument, struct tcp_pcb *pcb, err_t error)
{
	struct socket *listener = argument;
	struct socket *connection;

	if (error != ERR_OK || !pcb)
		return ERR_VAL;
	require(listener->state == SOCKET_LISTENING);
	connection = socket_of_connection(listener, pcb);
	if (!connection)
		return ERR_MEM; /* lwIP resets it */
	connections_opened(pcb);
	connection->backlog_held = listener->queued >= listener->backlog &&
	                           pcb->listener->accepts_pending < DELAYED_MAX;
	if (connection->backlog_held)
		tcp_backlog_delayed(pcb);
	queue_put(listener, connection);
	socket_update_again(listener, EPOLLIN);
	return ERR_OK;
}

int socket_listen(struct file *file, int backlog)
{
	struct socket *socket = socket_of(file);
	struct tcp_pcb *pcb;
	ip_addr_t any = IPADDR4_INIT(IPADDR_ANY);
	err_t error = ERR_OK;

	if (backlog < 1)
		backlog = 1;
	socket->backlog = backlog < BACKLOG_MAX ? (unsigned)backlog : BACKLOG_MAX;
	if (socket->state == SOCKET_LISTENING)
		return 0;
	if (socket->state != SOCKET_NEW)
		return -EINVAL;
	if (!socket->local.port && (error = tcp_bind(socket->pcb, &any, 0)) != ERR_OK)
		return socket_error_of(error);
	pcb = tcp_listen_with_backlog_and_err(socket->pcb, DELAYED_MAX, &error);
	if (!pcb)
		return socket_error_of(error);
	socket->pcb = pcb; /* a smaller one; lwIP freed the other */
	socket->local.port = pcb->local_port;
	socket->state = SOCKET_LISTENING;
	require(pcb->local_port && pcb->callback_arg == socket);
	tcp_accept(pcb, on_accept);
	share_listen(pcb);
	connections_listen(pcb);
	socket_update(socket);
	return 0;
}

int socket_accept(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length)
{
	struct socket *listener = socket_of(file), *connection;

	if (listener->state != SOCKET_LISTENING)
		return -EINVAL;
	connection = queue_take(listener);
	if (!connection)
		return -EAGAIN;
	require(connection->connect_told && connection->state != SOCKET_LISTENING);
	if (connection->backlog_held && connection->pcb)
		tcp_backlog_accepted(connection->pcb);
	address_give(&connection->remote, address, length);
	*out = &connection->file;
	socket_update(listener);
	return 0;
}

/* The listener closes: resets the connections that were not accepted. */
void socket_drop_queue(struct socket *socket)
{
	struct socket *connection;

	while ((connection = queue_take(socket))) {
		struct tcp_pcb *pcb = connection->pcb;

		socket_detach(connection);
		if (pcb)
			tcp_abort(pcb);
		socket_free(connection);
	}
}

/* --- connecting --- */

static err_t on_connected(void *argument, struct tcp_pcb *pcb, err_t error)
{
	struct socket *socket = argument;

	(void)pcb, (void)error; /* failures come as errors */
	require(socket->state == SOCKET_CONNECTING && socket->pcb);
	socket->state = SOCKET_CONNECTED;
	share_window_connected(socket);
	socket_update(socket);
	return ERR_OK;
}

/* Where lwIP would count, strangers would know the port of the next connection. */
static void bind_at_random(struct tcp_pcb *pcb)
{
	const ip_addr_t any = IPADDR4_INIT(IPADDR_ANY);

	for (unsigned i = 0; i < OPENING_TRIES && !pcb->local_port; i++)
		tcp_bind(pcb, &any, opening_port());
}

int socket_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct socket *socket = socket_of(file);
	struct socket_address to;
	ip_addr_t ip;
	int error;

	switch (socket->state) {
	case SOCKET_NEW:
		break;
	case SOCKET_CONNECTING:
		return -EALREADY;
	case SOCKET_CONNECTED: /* the first look after it was in progress says 0 */
		error = socket->connect_told ? -EISCONN : 0;
		socket->connect_told = true;
		return error;
	case SOCKET_FAILED:
		return socket->error ? socket_take_error(socket) : -ECONNABORTED;
	case SOCKET_LISTENING:
		return -EISCONN;
	}
	error = address_take(address, length, &to);
	if (error)
		return error;
	ip_addr_set_ip4_u32(&ip, to.ipv4 ? to.ipv4 : PP_HTONL(IPADDR_LOOPBACK)); /* INADDR_ANY is this host */
	bind_at_random(socket->pcb);
	error = socket_error_of(tcp_connect(socket->pcb, &ip, to.port, on_connected));
	if (error)
		return error;
	require(socket->pcb->state == SYN_SENT && !socket->connect_told);
	connections_add(socket->pcb);
	socket->local = (struct socket_address){ .ipv4 = ip_2_ip4(&socket->pcb->local_ip)->addr,
	                                         .port = socket->pcb->local_port };
	socket->remote = (struct socket_address){ .ipv4 = ip_2_ip4(&ip)->addr, .port = to.port };
	socket->state = SOCKET_CONNECTING;
	socket_update(socket);
	return -EINPROGRESS;
}
