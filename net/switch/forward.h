/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's forwarding, apart from the process it runs in: it moves frames
 * between ports and makes no system call.
 *
 * A unicast frame goes to the port with its destination address, unknown ones
 * to the uplink. An ARP request goes to the port with the address it asks for,
 * or else to the uplink; other broadcast and multicast frames to every port
 * with room. A unicast frame is not dropped for want of room: it stays at the
 * head of its ring, and those behind it wait too. This cannot deadlock,
 * because every stack drains its receive ring even while it cannot send.
 *
 * A stack that does not, because its program died or does not look, must not
 * stop the others for long: once its ring has been full for `patience`, frames
 * for it are dropped until it takes some.
 */
#pragma once

#include <skerry/process.h>
#include "../port_end.h"

enum { FORWARD_TABLE = 256, FORWARD_NONE = 0xff, FORWARD_BATCH = 64 };
_Static_assert(FORWARD_TABLE >= 2 * PROCESS_MAX_PORTS, "short probes");

struct forward_port {
	struct port_end end;
	uint64_t mac;       /* mac_number() */
	uint32_t ipv4;      /* network byte order; 0: none */
	bool uplink;
	uint64_t full_since; /* `now` when its ring was first found full; 0: it had room */
	bool wake_receiver; /* frames were put into its ring since the last forward_signal() */
	bool wake_sender;   /* frames were taken from its ring since then */
	uint64_t frames;    /* taken from this port and passed on */
	uint64_t bad;       /* with a length that cannot be */
	uint64_t strays;    /* for nobody here, and nowhere else to go */
	uint64_t missed;    /* copies of broadcasts that its full ring could not take */
	uint64_t given_up;  /* frames for it that were dropped when patience ended */
};

struct forward {
	unsigned count;
	uint64_t patience;               /* in the unit of `now`: cycles of the TSC */
	uint64_t deadline;               /* when the first waiting frame will have waited long enough; 0: none waits */
	unsigned uplink;                 /* FORWARD_NONE without one */
	uint8_t by_mac[FORWARD_TABLE];   /* open addressing; FORWARD_NONE ends a probe */
	struct forward_port port[PROCESS_MAX_PORTS];
};

/* Port i's memory is at `memory` + i * PORT_SIZE. `count` is at most PROCESS_MAX_PORTS. */
void forward_init(struct forward *forward, const struct process_port *port, unsigned count, void *memory,
		  uint64_t patience);

/* Move up to FORWARD_BATCH frames from each port. Says whether any moved. `now` is not 0. */
bool forward_pass(struct forward *forward, uint64_t now);

/*
 * The same before sleeping: asks to be woken by frames on any port, and by
 * room wherever a frame must wait for it. If it moved nothing, sleep, but not
 * past `deadline`, when patience ends.
 */
bool forward_last_pass(struct forward *forward, uint64_t now);

/* After one or more passes: call `wake` for each port whose far end asked for it. */
void forward_signal(struct forward *forward, void (*wake)(void *context, unsigned port), void *context);
