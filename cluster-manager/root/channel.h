/* SPDX-License-Identifier: BSD-2-Clause */
/* This manager's ends of the channels: the handshake, the rings, who is alive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `notification` (a slot, badged) is signalled when a peer wants attention. */
void channels_init(int notification);

/* Index of the channel to this cluster, or -1. */
int channel_to(uint32_t cluster);

/* Puts a message in the queue to a cluster. It leaves when the peer is up and has room. */
int channel_send(uint32_t cluster, uint16_t type, const void *body, size_t size);
/* The same to every cluster that a channel leads to and that is not dead. */
void channel_broadcast(uint16_t type, const void *body, size_t size);

/* Receives, sends what waits, and notices peers that start; at every wake-up. */
void channels_work(void);
/* Looks for peers that are silent; at every tick of the timer. */
void channels_tick(void);

/* Signs of life, from the timer thread: no system call but the time. */
void channels_heartbeat(void);

/* Is there a channel to this cluster, and is it not dead? */
bool channel_alive(uint32_t cluster);

/* Given by whoever uses the channels: a whole message came; the peer is gone. */
void channel_received(uint32_t cluster, uint16_t type, const void *body, size_t size);
void channel_peer_lost(uint32_t cluster, const char *why);
