/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <lwip/priv/tcp_priv.h>
#include <skerry/require.h>
#include "budget.h"
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

enum { WRITE_LOW = TCP_SND_BUF / 4 }; /* writable with this much room */

static bool is_writable(const struct socket *socket)
{
	return socket->pcb && !socket->starved && socket->pcb->snd_buf >= WRITE_LOW &&
	       tcp_sndqueuelen(socket->pcb) < TCP_SND_QUEUELEN / 2 && share_writable(socket->pcb);
}

static uint32_t socket_readiness(const struct socket *socket)
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
	if (socket->write_shut || is_writable(socket))
		ready |= EPOLLOUT;
	if ((socket->peer_closed || socket->read_shut) && socket->write_shut)
		ready |= EPOLLHUP;
	return ready;
}

/* `again`: the event that there is more of. Nearly always readiness alone matters. */
static inline __attribute__((always_inline)) void set_ready(struct socket *socket, uint32_t ready, uint32_t again)
{
	if (ready == socket->file.ready && !(again && socket->file.edge_triggered))
		return;
	if (again | (ready & ~socket->file.ready))
		socket_readiness_changed = true;
	file_ready_again(&socket->file, ready, again);
}

void socket_update(struct socket *socket) { set_ready(socket, socket_readiness(socket), 0); }

void socket_update_again(struct socket *socket, uint32_t again)
{
	socket_readiness_changed = true;
	file_ready_again(&socket->file, socket_readiness(socket), again);
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
		set_ready(socket, is_writable(socket) ? ready | EPOLLOUT : ready & ~(uint32_t)EPOLLOUT, 0);
}

int socket_take_error(struct socket *socket)
{
	int error = socket->error;

	require(error >= 0);
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
	require(pcb->callback_arg == socket);
	unsent_remove(socket);
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

void socket_drop_first(struct socket *socket)
{
	struct pbuf *first = socket->first;

	require(first->ref == 1 && socket->offset <= first->len);
	socket->first = first->next;
	socket->offset = 0;
	first->next = NULL;
	first->tot_len = first->len;
	pbuf_free(first);
}

void socket_discard(struct socket *socket)
{
	while (socket->first)
		socket_drop_first(socket);
	socket->unread = 0;
}

void socket_free(struct socket *socket)
{
	require(!socket->pcb && !socket->unsent && !socket->queue_first);
	socket_discard(socket);
	share_window_end(socket);
	layer_free(socket);
}

struct socket *socket_make(const struct file_operations *operations, struct tcp_pcb *pcb)
{
	struct socket *socket = layer_allocate(sizeof(*socket));

	if (!socket)
		return NULL;
	file_init(&socket->file, operations, O_RDWR);
	socket->pcb = pcb;
	tcp_arg(pcb, socket);
	return socket;
}
