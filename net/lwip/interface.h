/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's network interface over the process's port to the switch. */
#pragma once

#include <stdbool.h>
#include <skerry/process.h>

/* After lwip_init(). `life`: see process_info. */
void interface_start(const struct process_network *network, uint64_t life);

/* Give what the switch sent to lwIP, at most a ring full. Notices a switch that has started again. */
void interface_receive(void);

/* Send what waits for room; wake the switch if it sleeps and something is there for it. */
void interface_flush(void);

/* Deliver what this program sent itself: a connection to oneself goes through any interface, whichever has the address. */
void interface_loop(void);

/* So many frames wait for room that a datagram should not wait behind them. */
bool interface_is_congested(void);

/* Ask to be woken by frames, and by room if something waits for it. Says no when there is something already. */
bool interface_arm(void);
