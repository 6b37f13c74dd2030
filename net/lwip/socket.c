/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <lwip/priv/tcp_priv.h>
#include "budget.h"
#include "connections.h"
#include "share.h"

bool socket_readiness_changed;

int socket_error_of(err_t error)
{
	switch (error) {
	case ERR_OK: return 0;
	case ERR_MEM: case ERR_BUF: return -ENOBUFS;
	case ERR_TIMEOUT: return -ETIMEDOUT;
	case ERR_RTE: return -ENETUNREACH;
	case ERR_INPROGRESS: return -EINPROGRESS;
	case ERR_VAL: case ERR_ARG: return -EINVAL;
	case ERR_WOULDBLOCK: return -EAGAIN;
	case ERR_USE: return -EADDRINUSE;
	case ERR_ALREADY: return -EALREADY;
	case ERR_ISCONN: return -EISCONN;
	case ERR_CONN: case ERR_CLSD: return -ENOTCONN;
	case ERR_ABRT: return -ETIMEDOUT; /* lwIP gave up repeating itself */
	case ERR_RST: return -ECONNRESET;
	default: return -EIO;
	}
}

static uint32_t readiness(const struct socket *socket)
{
	uint32_t ready = 0;

	switch (socket->state) {
	case SOCKET_NEW:
		return EPOLLOUT | EPOLLHUP;
	case SOCKET_LISTENING:
		return socket->queue_first ? EPOLLIN : 0;
	case SOCKET_CONNECTING:
		return 0;
	case SOCKET_FAILED:
		return EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | (socket->error ? EPOLLERR : 0);
	case SOCKET_CONNECTED:
		break;
	}
	if (socket->first || socket->peer_closed || socket->read_shut)
		ready |= EPOLLIN;
	if (socket->peer_closed || socket->read_shut)
		ready |= EPOLLRDHUP;
	if (socket->write_shut || stream_writable(socket))
		ready |= EPOLLOUT;
	if ((socket->peer_closed || socket->read_shut) && socket->write_shut)
		ready |= EPOLLHUP;
	return ready;
}

/* `again`: what more has come of. Nearly always nobody has to know more than that something is ready. */
static inline __attribute__((always_inline)) void set_ready(struct socket *socket, uint32_t ready, uint32_t again)
{
	if (ready == socket->file.ready && !(again && socket->file.edge_triggered))
		return;
	if (again | (ready & ~socket->file.ready))
		socket_readiness_changed = true;
	file_ready_again(&socket->file, ready, again);
}

void socket_update(struct socket *socket) { set_ready(socket, readiness(socket), 0); }

void socket_update_again(struct socket *socket, uint32_t again)
{
	socket_readiness_changed = true;
	file_ready_again(&socket->file, readiness(socket), again);
}

void socket_update_received(struct socket *socket)
{
	if (socket->state != SOCKET_CONNECTED)
		socket_update(socket);
	else if (!socket->peer_closed)
		set_ready(socket, socket->file.ready | EPOLLIN, EPOLLIN);
}

void socket_update_drained(struct socket *socket)
{
	if (socket->state != SOCKET_CONNECTED)
		socket_update(socket);
	else if (!socket->peer_closed && !socket->read_shut)
		set_ready(socket, socket->file.ready & ~(uint32_t)EPOLLIN, 0);
}

void socket_update_writable(struct socket *socket)
{
	const uint32_t ready = socket->file.ready;

	if (socket->state != SOCKET_CONNECTED)
		socket_update(socket);
	else if (!socket->write_shut)
		set_ready(socket, stream_writable(socket) ? ready | EPOLLOUT : ready & ~(uint32_t)EPOLLOUT, 0);
}

int socket_take_error(struct socket *socket)
{
	int error = socket->error;

	socket->error = 0;
	if (error)
		socket_update(socket);
	return -error;
}

void socket_detach(struct socket *socket)
{
	struct tcp_pcb *pcb = socket->pcb;

	if (!pcb)
		return;
	stream_forget(socket);
	socket->pcb = NULL;
	tcp_arg(pcb, NULL);
	if (socket->state == SOCKET_LISTENING) {
		tcp_accept(pcb, NULL);
		return;
	}
	tcp_recv(pcb, NULL);
	tcp_sent(pcb, NULL);
	tcp_err(pcb, NULL);
	tcp_poll(pcb, NULL, 0);
}

void socket_free(struct socket *socket)
{
	stream_discard(socket);
	share_window_end(socket);
	layer_free(socket);
}

/*
 * The last descriptor is closed. What was written is delivered; unread data
 * makes it a reset (RFC 2525, 2.17), behind what may still be sent: a server's
 * last word on a request that it does not want to read.
 */
static void close_socket(struct file *file)
{
	struct socket *socket = socket_of(file);
	struct tcp_pcb *pcb = socket->pcb;
	const bool reset = socket->options.linger.l_onoff && !socket->options.linger.l_linger && socket->state != SOCKET_LISTENING;

	socket_drop_queue(socket);
	share_window_end(socket);
	socket_detach(socket);
	if (socket->ending && reset && socket->ending->state != TIME_WAIT)
		tcp_abort(socket->ending);
	else if (socket->ending)
		share_orphan(socket->ending, stream_patience(socket, socket->ending));
	if (pcb) {
		if (socket->state != SOCKET_LISTENING)
			share_orphan(pcb, stream_patience(socket, pcb));
		if (socket->state == SOCKET_CONNECTED) {
			connections_restore_order(pcb);
			tcp_output(pcb);
		}
		if (reset)
			tcp_abort(pcb);
		else if (tcp_close(pcb) != ERR_OK)
			tcp_abort(pcb);
	}
	socket_free(socket);
}

static const struct file_operations socket_operations = {
	.name = "socket",
	.read = stream_read,
	.write = stream_write,
	.close = close_socket,
	.bind = socket_bind,
	.listen = socket_listen,
	.accept = socket_accept,
	.connect = socket_connect,
	.getsockname = socket_getsockname,
	.getpeername = socket_getpeername,
	.setsockopt = socket_setsockopt,
	.getsockopt = socket_getsockopt,
	.shutdown = stream_shutdown,
	.sendmsg = stream_send,
	.recvmsg = stream_receive,
};

static struct socket *socket_with(struct tcp_pcb *pcb)
{
	struct socket *socket = layer_allocate(sizeof(*socket));

	if (!socket)
		return NULL;
	file_init(&socket->file, &socket_operations, O_RDWR);
	socket->pcb = pcb;
	socket_options_init(socket);
	tcp_arg(pcb, socket);
	return socket;
}

struct socket *socket_new(void)
{
	struct tcp_pcb *pcb = connections_room() ? tcp_new() : NULL;
	struct socket *socket = pcb ? socket_with(pcb) : NULL;

	if (pcb && !socket)
		tcp_abort(pcb);
	if (!socket)
		return NULL;
	stream_attach(socket);
	socket_update(socket);
	return socket;
}

struct socket *socket_of_connection(struct tcp_pcb *pcb)
{
	struct socket *socket = socket_with(pcb);

	if (!socket)
		return NULL;
	socket->state = SOCKET_CONNECTED;
	socket->connect_told = true;
	socket->local = (struct socket_address){ .ipv4 = ip_2_ip4(&pcb->local_ip)->addr, .port = pcb->local_port };
	socket->remote = (struct socket_address){ .ipv4 = ip_2_ip4(&pcb->remote_ip)->addr, .port = pcb->remote_port };
	stream_attach(socket);
	share_window_begin(socket);
	socket_update(socket);
	return socket;
}
