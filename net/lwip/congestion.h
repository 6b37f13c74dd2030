/* SPDX-License-Identifier: BSD-2-Clause */
/* The growth of a congestion window, as lwIP's tcp_receive() has it. */
#pragma once

#include <lwip/priv/tcp_priv.h>

/* Adds up to the largest window. Bytes. */
static inline tcpwnd_size_t window_add(tcpwnd_size_t window, tcpwnd_size_t more)
{
	return (tcpwnd_size_t)(window + more) >= window ? (tcpwnd_size_t)(window + more) : (tcpwnd_size_t)-1;
}

/* Slow start by up to two segments (RFC 3465, 2.2), or congestion avoidance (2.1), after so many acknowledged bytes. */
static inline void open_congestion_window(struct tcp_pcb *pcb, tcpwnd_size_t acknowledged)
{
	const tcpwnd_size_t most = 2 * (tcpwnd_size_t)pcb->mss;

	if (pcb->cwnd < pcb->ssthresh) {
		pcb->cwnd = window_add(pcb->cwnd, acknowledged < most ? acknowledged : most);
		return;
	}
	pcb->bytes_acked = window_add(pcb->bytes_acked, acknowledged);
	if (pcb->bytes_acked >= pcb->cwnd) {
		pcb->bytes_acked -= pcb->cwnd;
		pcb->cwnd = window_add(pcb->cwnd, pcb->mss);
	}
}
