/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's network interface over the process's port to the switch and its cables to other stacks (skerry/port.h). */
#pragma once

#include <stdbool.h>
#include <skerry/process.h>

struct lender;
struct pbuf;

/* After lwip_init(). */
void interface_start(const struct process_info *);

/*
 * Give what the switch and cables have for this stack to lwIP, at most a ring full of each. Notices a switch that has
 * started again; connections with a program that has ended end.
 */
void interface_receive(void);

/* lwIP's timers have run: its ARP may have another answer than before. */
void interface_forget_neighbour(void);

/* Send what waits for room; wake far ends that sleep and for which something is there. */
void interface_flush(void);

/* Deliver what this program sent itself: a connection to oneself goes through any interface, whichever has the
 * address. */
void interface_loop(void);
/* Whether there is something of that. */
bool interface_loops(void);

/* So many frames wait for room on the way to this address that a datagram should not wait behind them. */
bool interface_is_congested(uint32_t ipv4);

/* Ask to be woken by frames, and by room if something waits for it. Says no when there is something already. */
bool interface_arm(void);

/*
 * Where the data of the packet is to be put, which nobody has sent yet: into the packet, or into the ring of the cable
 * that leads to this address. The packet begins with room for struct sent (sent.h).
 */
void *interface_lend(struct pbuf *packet, uint32_t ipv4);

/* lwIP's timers look at what was sent: copies all of it that cables' rings keep. */
void interface_own(void);

/* The ring of this cable has got slots back (received.h). */
void interface_returned(struct lender *);
