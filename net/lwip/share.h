/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits each connection's share of the stack's memory (budget.h), so that a connection whose peer does not read, or
 * whose program does not, has back-pressure itself and holds up no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "socket.h"

/* `memory`: what the stack may use in all. After lwip_init(). */
void share_start(size_t memory);

/* Bytes that may be written to the connection now. */
size_t share_send_bytes(const struct tcp_pcb *);
/* Is so much of its share free that its program should write? Then share_send_bytes() is not 0. */
bool share_writable(const struct tcp_pcb *);

/* A listening pcb: new connections that exceed the budget are reset, the others begin with a window of their share. */
void share_listen(struct tcp_pcb *listener);

/* An accepted connection's window counts from now on, or a connected one's; it is opened by what its program has read;
 * it is over. */
void share_window_begin(struct socket *);
void share_window_connected(struct socket *);
void share_window_read(struct socket *, size_t size);
void share_window_end(struct socket *);

/* A pcb that socket_detach() has left to lwIP while the program holds the socket: `ending` points to it until lwIP
 * frees it. */
void share_ending(struct socket *, struct tcp_pcb *);
/* A pcb that no socket belongs to any more, without callbacks: it is reset if its peer takes nothing for `timeout` ms,
 * later for BUDGET_TIMEOUT. */
void share_orphan(struct tcp_pcb *, uint32_t timeout);
