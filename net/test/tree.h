/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of switches, with stations that a test plays:
 *
 *     outside ── root ── a
 *                 ├── lower ── b, c
 *                 └── lower ── d, e
 */
#pragma once

#include <stdbool.h>
#include "../switch/forward.h"

enum { OUTSIDE, A, B, C, D, E, STATIONS };
enum { ROOT_PORTS = 4, LOWER_PORTS = 3, UPPER = 2, LOWERS = 2, TIMEOUT = 1000000000 };

extern struct forward root, lower[LOWERS];
extern struct port_end station[STATIONS];
extern bool stopped[LOWERS]; /* lower switches that do not run */
extern uint64_t now;

void address(unsigned who, uint8_t mac[6], uint32_t *ipv4);
struct process_route route_to(unsigned who, uint16_t port);
void set_up(void);
void tear_down(void);
/* Until nothing moves. A frame in a circle would keep this from ending. */
void run(void);
bool send_frame(unsigned from, const uint8_t *frame, uint32_t length);
/* `mark` tells frames apart. */
bool send_mac(unsigned from, const uint8_t *to, uint32_t mark);
bool send_to(unsigned from, unsigned to, uint32_t mark);
/* An ARP request, for the target or, to announce it, for its own address. */
void ask(unsigned from, uint32_t target, bool announce);
/* The mark of the next frame, or -1. */
int64_t take(unsigned at);
/* Takes all frames, and says how many there were. */
unsigned waiting(unsigned at);
/* After a run each station of `set` has one frame, no other has any. */
void check_at(unsigned set);
