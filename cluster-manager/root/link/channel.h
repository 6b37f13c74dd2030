/* SPDX-License-Identifier: BSD-2-Clause */
/* This manager's ends of the channels: the handshake, the rings, which peers are alive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `notification` (a slot, badged) is signalled when a peer wants attention. `counters`: bytes of the message that has a
 * core's counters; those of all cores are sent at once. */
void channels_init(int notification, size_t counters);

/* Puts a message in the queue to a cluster. It leaves when the peer is up and has room. */
int channel_send(uint32_t cluster, uint16_t type, const void *body, size_t size);
/* The same of a line of text, which leaves room in the queue for all else: what programs write can crowd out no
 * report. */
int channel_send_line(uint32_t cluster, uint16_t type, const void *body, size_t size);
/* channel_send() to every cluster that a channel leads to and that is not dead. */
void channel_broadcast(uint16_t type, const void *body, size_t size);

/*
 * Receives, sends what waits, and notices peers that start; at every wake-up.
 * Whole messages, and the loss of a peer, go to the mailbox (mailbox.h).
 * The work of a call is bounded, also by the mailbox's room. True: call it again,
 * even without another wake-up, after the mailbox's messages are delivered and
 * other callers are served; otherwise a wake-up is lost.
 */
bool channels_work(void);
/* Looks for peers that are silent; at every tick of the timer. */
void channels_tick(void);

/* Signs of life, from the timer thread: no system call but the time. */
void channels_heartbeat(void);

/*
 * The cluster's ledger is watched: once the channel is up, its heartbeat does not count, and no generation is taken but
 * `life`. Before channels_work() and channels_tick() are.
 */
void channel_is_watched(uint32_t cluster, const _Atomic uint32_t *life);
/* Takes the channel to a lost cluster down. False: there is none, or it is down. */
bool channel_lose(uint32_t cluster, const char *text);

/* The life of a cluster in another machine, as the channel counts it; 0: none is known. */
uint32_t channel_peer_life(uint32_t cluster);

/* Is there a channel to this cluster, and is it not dead? */
bool channel_alive(uint32_t cluster);

/* Prints that a message of this cluster is dropped, and why. A limited number of lines a second; the others are
 * counted. */
void channel_complain(uint32_t cluster, const char *what);
