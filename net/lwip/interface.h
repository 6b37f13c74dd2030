/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's network interface over the process's port to the switch and its cables to other stacks (skerry/port.h). */
#pragma once

#include <stdbool.h>
#include <skerry/process.h>

struct loans;
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
/* Returns whether there is something to deliver so. */
bool interface_loops(void);

/* Returns whether so many frames wait for room on the way to this address that a datagram should not wait, too. */
bool interface_is_congested(uint32_t ipv4);

/* Asks to be woken by frames, and by room if something waits for it. Returns false when there is something already. */
bool interface_arm(void);

/*
 * Returns where to put the data of a packet that has not been sent yet: in the packet, or in the ring of the cable that
 * leads to this address. The packet begins with room for struct sent (sent.h).
 */
void *interface_loan(struct pbuf *packet, uint32_t ipv4);

/* Copies all sent data that is in the rings of cables: lwIP's timers read it next. */
void interface_copy_out(void);

/* Signals the far end: slots of this cable's ring have been returned (received.h). */
void interface_returned(struct loans *);
