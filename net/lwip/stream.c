/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's data: writing, ends, and lwIP's callbacks about both directions; reading is in read.c. */
#include <errno.h>
#include <lwip/priv/tcp_priv.h>
#include <skerry/require.h>
#include "../net.h"
#include "budget.h"
#include "connections.h"
#include "memory.h"
#include "prediction.h"
#include "recovery.h"
#include "share.h"

enum {
	WRITE_MAX = 32 * TCP_MSS,     /* one call of tcp_write: its length has 16 bits */
	FLUSH_BYTES = 16 * TCP_MSS,   /* a large write does not wait for stream_flush() */
	POLL_INTERVAL = 2,            /* of TCP_SLOW_INTERVAL: 1 s */
	COLLECTOR = TCP_MSS,
	SMALL = COLLECTOR / 2,        /* a segment of at most so many bytes is copied behind others */
};

/* --- writing --- */

static bool short_in_flight(const struct tcp_pcb *pcb)
{
	for (const struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
		if (segment->len < pcb->mss)
			return true;
	return false;
}

/*
 * Nagle's rule as Minshall has it (draft-minshall-nagle), and Linux: a short segment waits for the acknowledgement
 * of another short one, but not of full ones. lwIP lets it wait for these, too, and its peer delays the
 * acknowledgement of an odd one for a quarter of a second: with the end of each longer text.
 */
static void stream_output(struct tcp_pcb *pcb)
{
	if (prediction_send(pcb))
		return;
	const bool at_once = !tcp_nagle_disabled(pcb) && !short_in_flight(pcb);
	if (at_once)
		tcp_nagle_disable(pcb);
	recovery_output(pcb);
	if (at_once)
		tcp_nagle_enable(pcb);
}

void stream_flush(void)
{
	struct socket *socket;

	while ((socket = unsent_take()))
		stream_output(socket->pcb);
}

/* Returns the error with which a write has to fail now, or 0. -EAGAIN: it has to wait. */
static int write_obstacle(struct socket *socket)
{
	switch (socket->state) {
	case SOCKET_NEW: case SOCKET_LISTENING: return -ENOTCONN;
	case SOCKET_CONNECTING: return -EAGAIN;
	default: break;
	}
	if (socket->error)
		return socket_take_error(socket);
	return socket->write_shut || !socket->pcb ? -EPIPE : 0;
}

/* A connection that has nothing under way may always hold one segment, and stays writable with it. */
_Static_assert(TCP_MSS + BUDGET_SEGMENT_OVERHEAD <= BUDGET_SEND_MIN - BUDGET_SEND_MIN / 4, "net/lwip/budget.h");

static bool write_segment(struct tcp_pcb *pcb, const char *bytes, size_t size)
{
	bool written;

	require(pcb && pcb->state != LISTEN);
	net_memory_sending(true);
	written = prediction_write(pcb, bytes, size);
	net_memory_sending(false);
	return written;
}

static ssize_t write_bytes(void *connection, const char *bytes, size_t size, bool more)
{
	struct socket *socket = connection;
	struct tcp_pcb *pcb = socket->pcb;
	size_t done = 0;
	err_t error = ERR_OK;

	if (!more && write_segment(pcb, bytes, size)) {
		unsent_put(socket);
		return (ssize_t)size;
	}
	connections_restore_order(pcb);
	while (done < size && error == ERR_OK) {
		size_t part = size - done, room = share_send_bytes(pcb);

		if (part > room)
			part = room;
		if (part > WRITE_MAX)
			part = WRITE_MAX;
		if (!part)
			break;
		net_memory_sending(true);
		error = tcp_write(pcb, bytes + done, (u16_t)part,
				  TCP_WRITE_FLAG_COPY | (more || done + part < size ? TCP_WRITE_FLAG_MORE : 0));
		net_memory_sending(false);
		if (error == ERR_OK)
			done += part;
	}
	if (error != ERR_OK)
		socket->starved = true;
	if (done >= FLUSH_BYTES || error != ERR_OK)
		stream_output(pcb);
	else if (done)
		unsent_put(socket);
	socket_update_writable(socket);
	return done || !size ? (ssize_t)done : -EAGAIN;
}

ssize_t stream_write(struct file *file, const void *buffer, size_t size)
{
	struct socket *socket = socket_of(file);
	int obstacle = write_obstacle(socket);

	return obstacle ? obstacle : write_bytes(socket, buffer, size, false);
}

ssize_t stream_send(struct file *file, const struct msghdr *message, int flags)
{
	struct socket *socket = socket_of(file);
	int obstacle = message_refused(message, flags, socket->state == SOCKET_CONNECTED);

	if (!obstacle)
		obstacle = write_obstacle(socket);
	return obstacle ? obstacle : message_write(message, write_bytes, socket, flags & MSG_MORE);
}

/* --- ends --- */

/* When both sides have closed nothing more arrives; lwIP acknowledges and waits alone. */
static void detach_if_over(struct socket *socket)
{
	struct tcp_pcb *pcb = socket->pcb;

	if (!pcb || !socket->peer_closed || !socket->write_shut)
		return;
	require(socket->state == SOCKET_CONNECTED);
	socket_detach(socket);
	share_ending(socket, pcb);
}

int stream_shutdown(struct file *file, int how)
{
	struct socket *socket = socket_of(file);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (socket->state != SOCKET_CONNECTED)
		return -ENOTCONN;
	if (how != SHUT_WR && !socket->read_shut) {
		size_t unread = socket->unread;

		socket->read_shut = true;
		socket_discard(socket);
		share_window_read(socket, unread);
	}
	if (how != SHUT_RD && !socket->write_shut) {
		socket->write_shut = true;
		if (socket->pcb) {
			connections_restore_order(socket->pcb);
			tcp_shutdown(socket->pcb, 0, 1);
		}
		detach_if_over(socket);
	}
	socket_update_again(socket, SOCKET_ALL);
	return 0;
}

/* --- callbacks of lwIP --- */

/* A new pbuf behind the last, for a full frame's worth of small segments. */
static struct pbuf *add_collector(struct socket *socket)
{
	struct pbuf *pbuf = pbuf_alloc(PBUF_RAW, COLLECTOR, PBUF_RAM);

	if (!pbuf)
		return NULL;
	require(socket->first && !socket->last->next);
	pbuf->len = pbuf->tot_len = 0;
	socket->last->next = pbuf;
	socket->last = pbuf;
	socket->collects = true;
	return pbuf;
}

/*
 * Put received data behind what is there. Small segments are copied together:
 * each has a frame's overhead, and a window full of them would take many
 * times its length.
 */
static void keep_received(struct socket *socket, struct pbuf *data)
{
	struct pbuf *last = socket->last;
	size_t size = data->tot_len;

	require(!socket->read_shut && !socket->first == !socket->unread);
	socket->unread += size;
	if (socket->first && size <= SMALL) {
		if (!socket->collects || last->len + size > COLLECTOR)
			last = add_collector(socket);
		if (last) {
			pbuf_copy_partial(data, (char *)last->payload + last->len, (u16_t)size, 0);
			last->len += (u16_t)size;
			pbuf_free(data);
			return;
		}
	}
	if (socket->first)
		socket->last->next = data;
	else
		socket->first = data;
	while (data->next)
		data = data->next;
	socket->last = data;
	socket->collects = false;
}

static err_t on_received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	struct socket *socket = argument;

	(void)pcb;
	(void)error;
	require(socket->pcb == pcb);
	if (!data) {
		socket->peer_closed = true;
		detach_if_over(socket);
		socket_update_again(socket, SOCKET_ALL);
	} else if (socket->read_shut) {
		share_window_read(socket, data->tot_len);
		pbuf_free(data);
	} else {
		keep_received(socket, data);
		socket_update_received(socket);
	}
	return ERR_OK;
}

static err_t on_sent(void *argument, struct tcp_pcb *pcb, u16_t size)
{
	struct socket *socket = argument;

	(void)size;
	require(socket->pcb == pcb);
	if (pcb->unsent && !tcp_nagle_disabled(pcb)) /* lwIP goes on by itself, but with the end by its own rule */
		unsent_put(socket);
	socket->starved = false;
	socket_update_writable(socket);
	return ERR_OK;
}

/*
 * For how many ms, at least, the peer has taken nothing of what it has been sent. What is under way may have been
 * written just now: the time begins with the first look at it, for a look at nothing remembers another number than has
 * been acknowledged.
 */
static u64_t waited_ms(struct socket *socket, const struct tcp_pcb *pcb)
{
	const bool idle = !pcb->unsent && !pcb->unacked;

	if (pcb->lastack != socket->acknowledged) {
		socket->acknowledged = pcb->lastack - idle;
		socket->waits_since = tcp_ticks;
	}
	return (u64_t)(tcp_ticks - socket->waits_since) * TCP_SLOW_INTERVAL;
}

uint32_t stream_timeout(struct socket *socket, const struct tcp_pcb *pcb)
{
	const u64_t limit = socket->options.user_timeout, used = waited_ms(socket, pcb);

	if (!limit || limit > used + BUDGET_TIMEOUT)
		return BUDGET_TIMEOUT;
	return limit > used ? (uint32_t)(limit - used) : 0;
}

static err_t on_poll(void *argument, struct tcp_pcb *pcb)
{
	struct socket *socket = argument;
	const u64_t used = waited_ms(socket, pcb);

	if (socket->options.user_timeout && used > socket->options.user_timeout && connections_segment_room()) {
		tcp_abort(pcb);
		return ERR_ABRT;
	}
	return on_sent(argument, pcb, 0);
}

/* lwIP has freed the pcb. */
static void on_error(void *argument, err_t error)
{
	struct socket *socket = argument;

	require(error != ERR_OK && socket->state != SOCKET_LISTENING);
	unsent_remove(socket);
	socket->pcb = NULL;
	if (error == ERR_CLSD) { /* both sides have closed */
		socket->peer_closed = socket->write_shut = true;
	} else {
		socket->error = socket->state == SOCKET_CONNECTING && error == ERR_RST ? ECONNREFUSED
										       : -socket_error_of(error);
		socket->state = SOCKET_FAILED;
	}
	socket_update(socket);
}

void stream_attach(struct socket *socket)
{
	tcp_recv(socket->pcb, on_received);
	tcp_sent(socket->pcb, on_sent);
	tcp_err(socket->pcb, on_error);
	tcp_poll(socket->pcb, on_poll, POLL_INTERVAL);
}
