/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/priv/tcp_priv.h>
#include <skerry/require.h>
#include "budget.h"
#include "connections.h"
#include "memory.h"
#include "share.h"

enum {
	ORPHAN_TIMEOUT = BUDGET_TIMEOUT / TCP_SLOW_INTERVAL,
	ORPHAN_INTERVAL = 2, /* of TCP_SLOW_INTERVAL: 1 s */
};

static struct {
	struct budget budget;
	size_t promised;      /* all sockets' credits */
	unsigned connections; /* accepted ones that lwIP has not freed; in TIME_WAIT, too */
	u8_t slot;            /* of struct tcp_pcb's ext_args */
} share;

/* --- sending --- */

/* The length of a segment, as tcp_write() computes it. */
static size_t segment_bytes(const struct tcp_pcb *pcb)
{
	size_t half = TCPWND_MIN16(pcb->snd_wnd_max / 2);

	return half && half < pcb->mss ? half : pcb->mss;
}

/* Memory of its send queue, about; net_memory_sent() is exact. */
static size_t send_queue_size(const struct tcp_pcb *pcb)
{
	require(pcb->snd_buf <= TCP_SND_BUF);
	return TCP_SND_BUF - pcb->snd_buf + (size_t)pcb->snd_queuelen * BUDGET_SEGMENT_OVERHEAD;
}

size_t share_send_bytes(const struct tcp_pcb *pcb)
{
	size_t bytes = budget_send_bytes(budget_send_limit(&share.budget, net_memory_sent()), send_queue_size(pcb),
	                                 segment_bytes(pcb));

	return bytes < pcb->snd_buf ? bytes : pcb->snd_buf;
}

bool share_writable(const struct tcp_pcb *pcb)
{
	const size_t holds = send_queue_size(pcb);
	size_t limit;

	if (holds <= BUDGET_SEND_MIN - BUDGET_SEND_MIN / 4) /* no limit is lower */
		return true;
	limit = budget_send_limit(&share.budget, net_memory_sent());
	return holds <= limit - limit / 4;
}

/* --- receiving --- */

static void set_credit(struct socket *socket, size_t credit)
{
	require(share.promised >= socket->credit);
	share.promised = share.promised - socket->credit + credit;
	socket->credit = credit;
}

void share_window_begin(struct socket *socket) { set_credit(socket, socket->pcb->rcv_wnd); }

void share_window_connected(struct socket *socket)
{
	struct tcp_pcb *pcb = socket->pcb;

	/* the SYN has announced so much; lwIP would announce all of TCP_WND now */
	pcb->rcv_wnd = pcb->rcv_ann_wnd = TCPWND_MIN16(pcb->rcv_wnd);
	pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
	share_window_begin(socket);
}

void share_window_end(struct socket *socket)
{
	set_credit(socket, 0);
	/* tcp_close() takes any other window for unread data, and resets */
	if (socket->state == SOCKET_CONNECTED && socket->pcb && !socket->unread)
		socket->pcb->rcv_wnd = TCP_WND_MAX(socket->pcb);
}

void share_window_read(struct socket *socket, size_t size)
{
	struct tcp_pcb *pcb = socket->pcb;
	size_t credit, update;

	if (!pcb || !size)
		return;
	credit = budget_credit(&share.budget, share.promised, socket->credit, socket->unread + size, size,
	                       TCP_WND_MAX(pcb));
	require(credit + size >= socket->credit);
	pcb->rcv_wnd += (tcpwnd_size_t)(credit + size - socket->credit);
	set_credit(socket, credit);
	/* it sends no more, and may have forgotten the connection: then it answers with a reset */
	if (socket->peer_closed)
		return;
	update = credit / 2 < TCP_WND_UPDATE_THRESHOLD ? credit / 2 : TCP_WND_UPDATE_THRESHOLD;
	if (tcp_update_rcv_ann_wnd(pcb) >= update) {
		tcp_ack_now(pcb);
		tcp_output(pcb);
	}
}

/* --- connections --- */

/* `data`: its socket, where that one waits for the connection's end. */
static void outgoing_destroyed(u8_t slot, void *data)
{
	struct socket *socket = data;

	(void)slot;
	if (socket)
		socket->ending = NULL;
}

static void on_destroyed(u8_t slot, void *data)
{
	require(share.connections);
	share.connections--;
	outgoing_destroyed(slot, data);
}

/* The one that has waited longest. They are many when connections are short, and hold little. */
static void end_time_wait(void)
{
	struct tcp_pcb *oldest = tcp_tw_pcbs;

	for (struct tcp_pcb *pcb = oldest; pcb; pcb = pcb->next)
		if ((u32_t)(tcp_ticks - pcb->tmr) > (u32_t)(tcp_ticks - oldest->tmr))
			oldest = pcb;
	if (oldest)
		tcp_abort(oldest);
}

static const struct tcp_ext_arg_callbacks connection_callbacks = { .destroy = on_destroyed },
outgoing_callbacks = { .destroy = outgoing_destroyed };

/* Half-open connections, which strangers can make, drive away no others: not those in TIME_WAIT while they have a part
 * of the places. */
static bool is_flooded(void) { return opening_count() > share.budget.connections_max / 4; }

/* lwIP has got a SYN, and answers it if this says so. */
static err_t on_opened(u8_t slot, struct tcp_pcb_listen *listener, struct tcp_pcb *pcb)
{
	(void)listener;
	tcp_ext_arg_set_callbacks(pcb, slot, &connection_callbacks);
	if (++share.connections > share.budget.connections_max && !(is_flooded() && opening_drop(pcb)))
		end_time_wait();
	if (share.connections > share.budget.connections_max)
		opening_drop(pcb);
	if (share.connections > share.budget.connections_max) {
		/* the number that a peer expects whose connection a cookie has restored (opening.h) */
		tcp_rst(pcb, pcb->snd_nxt + 1, pcb->rcv_nxt, &pcb->local_ip, &pcb->remote_ip, pcb->local_port,
		        pcb->remote_port);
		return ERR_MEM;
	}
	pcb->rcv_wnd = (tcpwnd_size_t)budget_first_window(&share.budget, share.promised,
	                                                  TCPWND_MIN16(TCP_WND_MAX(pcb)));
	pcb->rcv_ann_wnd = pcb->rcv_wnd;
	return ERR_OK;
}

static const struct tcp_ext_arg_callbacks listener_callbacks = { .passive_open = on_opened };

void share_listen(struct tcp_pcb *listener) { tcp_ext_arg_set_callbacks(listener, share.slot, &listener_callbacks); }

void share_ending(struct socket *socket, struct tcp_pcb *pcb)
{
	require(!socket->pcb && !socket->ending);
	socket->ending = pcb;
	tcp_ext_arg_set(pcb, share.slot, socket);
	if (!pcb->ext_args[share.slot].callbacks)
		tcp_ext_arg_set_callbacks(pcb, share.slot, &outgoing_callbacks);
}

_Static_assert(sizeof(void *) == 2 * sizeof(u32_t), "an argument has room for both");

/* An orphan's argument: what its peer had acknowledged when that last changed, and in which tick that was. */
static void set_orphan(struct tcp_pcb *pcb, u32_t since)
{
	tcp_arg(pcb, (void *)((uintptr_t)since << 32 | pcb->lastack));
	connections_ask(pcb);
}

static err_t look_at_orphan(void *argument, struct tcp_pcb *pcb)
{
	const uintptr_t seen = (uintptr_t)argument;

	/* it has taken all; how long its own end may take lwIP knows, and needs no reset */
	if (pcb->state == FIN_WAIT_2)
		return ERR_OK;
	pcb->tmr = tcp_ticks; /* from here on, not from the last segment before the close */
	if (pcb->lastack != (u32_t)seen) {
		set_orphan(pcb, tcp_ticks);
	} else if (tcp_ticks - (u32_t)(seen >> 32) >= ORPHAN_TIMEOUT && connections_segment_room()) {
		tcp_abort(pcb);
		return ERR_ABRT;
	}
	return ERR_OK;
}

void share_orphan(struct tcp_pcb *pcb, uint32_t timeout)
{
	require(!pcb->recv && !pcb->sent && !pcb->errf);
	require(timeout <= BUDGET_TIMEOUT);
	tcp_ext_arg_set(pcb, share.slot, NULL);
	set_orphan(pcb, tcp_ticks - (BUDGET_TIMEOUT - timeout) / TCP_SLOW_INTERVAL);
	if (pcb->state != TIME_WAIT)
		pcb->tmr = tcp_ticks;
	tcp_poll(pcb, look_at_orphan, ORPHAN_INTERVAL);
}

void share_start(size_t memory)
{
	share.budget = budget_of(memory);
	share.slot = tcp_ext_arg_alloc_id();
}
