/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of a TCP socket, and how one begins and ends. socket.c and what it calls know none of them. */
#include <sys/socket.h>
#include <lwip/priv/tcp_priv.h>
#include "connections.h"
#include "share.h"

/*
 * The last descriptor is closed. What was written is delivered; unread data
 * makes it a reset (RFC 2525, 2.17), behind what may still be sent: a server's
 * last word on a request that it does not want to read.
 */
static void close_socket(struct file *file)
{
	struct socket *socket = socket_of(file);
	struct tcp_pcb *pcb = socket->pcb;
	const bool reset = socket->options.linger.l_onoff && !socket->options.linger.l_linger &&
	                   socket->state != SOCKET_LISTENING;

	socket_drop_queue(socket);
	share_window_end(socket);
	socket_detach(socket);
	if (socket->ending && reset && socket->ending->state != TIME_WAIT)
		tcp_abort(socket->ending);
	else if (socket->ending)
		share_orphan(socket->ending, stream_timeout(socket, socket->ending));
	if (pcb) {
		if (socket->state != SOCKET_LISTENING)
			share_orphan(pcb, stream_timeout(socket, pcb));
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

struct socket *socket_new(void)
{
	struct tcp_pcb *pcb = connections_room() ? tcp_new() : NULL;
	struct socket *socket = pcb ? socket_make(&socket_operations, pcb) : NULL;

	if (pcb && !socket)
		tcp_abort(pcb);
	if (!socket)
		return NULL;
	socket_options_init(socket);
	stream_attach(socket);
	socket_update(socket);
	return socket;
}
