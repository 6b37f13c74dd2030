/* SPDX-License-Identifier: BSD-2-Clause */
/* The switch: its backlogs, resets, forwarding, stations, and answers for ports whose programs have ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skerry/port.h>
#include <skerry/process.h>
#include <skerry/require.h>

#include "../mac.h"
#include "../port_end.h"

/*
 * Frames that the switch has taken from their source and that wait for room in
 * the ring of their destination: one pool of buffers, a FIFO for each
 * destination.
 *
 * The pool is shared by dynamic thresholds (Choudhury and Hahne, 1998): a pair
 * of source and destination may hold half as many frames as are free. One slow
 * pair gets a third of the pool, n pairs get 1/(n + 2) each, and as much stays
 * free for the next. A source that floods a port takes nothing from the share
 * of the others that send to it.
 */

enum { BACKLOG_FRAMES = 1024, BACKLOG_NONE = 0xffff };

struct backlog_frame {
	uint16_t next;
	uint16_t length;
	uint8_t source;
};

struct backlog_queue {
	uint16_t first, last;
	unsigned count;
};

struct backlog {
	unsigned free;
	uint16_t free_first;
	struct backlog_queue queue[PROCESS_MAX_PORTS];
	uint16_t held[PROCESS_MAX_PORTS][PROCESS_MAX_PORTS]; /* by source and destination */
	struct backlog_frame frame[BACKLOG_FRAMES];
	_Alignas(64) uint8_t buffer[BACKLOG_FRAMES][PORT_FRAME_MAX];
};

void backlog_init(struct backlog *backlog);

static inline unsigned backlog_count(const struct backlog *backlog, unsigned destination)
{
	return backlog->queue[destination].count;
}

/* Appends a copy of the frame. False if the pair has its share of the pool already. */
bool backlog_hold(struct backlog *backlog, unsigned source, unsigned destination, const void *frame, uint32_t length);

/* Returns the oldest frame for this destination. */
const void *backlog_first(const struct backlog *backlog, unsigned destination, uint32_t *length);

/* Frees the frame that backlog_first() returns. */
void backlog_release(struct backlog *backlog, unsigned destination);

/*
 * Answers of the switch for a port whose program has ended, so that its peers
 * need not wait for a timeout: resets as of a host without that connection
 * (RFC 9293, 3.5.2), and the dead address's ARP replies, without which no
 * segment would come.
 *
 * Frames are in memory that their sender may write meanwhile; headers are
 * copied before they are read (double fetch). Checksums are left 0: see ../port.h.
 */

enum { RESET_FRAME = 54 }; /* at most: Ethernet, IPv4 and TCP without options */

/* The port's addresses: as mac_number() has it, and in network byte order. */
struct reset_port {
	uint64_t mac;
	uint32_t ipv4;
};

/* Makes the answer to a frame for the dead port. Returns its length, or 0 for none. */
uint32_t reset_answer(const struct reset_port *, const void *frame, uint32_t length, uint8_t answer[RESET_FRAME]);

/* Makes the reset of the connection on which the port has sent this frame. Returns its length, or 0 for none. */
uint32_t reset_after_sent(const struct reset_port *, const void *frame, uint32_t length, uint8_t answer[RESET_FRAME]);

/* Returns whether two resets, both made by the same function above, are for one connection. */
int reset_same(const uint8_t a[RESET_FRAME], const uint8_t b[RESET_FRAME]);

/*
 * The switch's forwarding, apart from the process it runs in: it moves frames
 * between ports and makes no system call.
 *
 * A unicast frame goes to the port that leads to its destination address,
 * unknown ones to the uplink. An ARP request goes to the port that leads to the
 * address it asks for, or else to the uplink; other broadcast and multicast
 * frames to every port with room. No frame goes back to where it came from.
 *
 * Switches may form a tree: the uplink of a lower switch is a port of its upper
 * one, of which it has the stack's end. An upper switch knows which stations are behind
 * which of its lower ones. An ARP request for an unknown address that comes
 * from the upper switch is an announcement, and goes to every port.
 *
 * A unicast frame is not dropped for want of room as long as its destination
 * keeps up: the frame stays at the head of its source's ring, which is
 * back-pressure for that source. This cannot deadlock, because every stack
 * drains its receive ring even while it cannot send, and a frame goes up the
 * tree and then down, never up again.
 *
 * Back-pressure also delays the frames behind that one (head-of-line
 * blocking). Against it:
 *
 *  - When a frame for another port is behind it, the frame is copied into its
 *    destination's backlog and the source goes on. Without one,
 *    nothing is copied: the wait harms nobody. The source's ring may be full,
 *    and the frame for another port not yet in it: that is assumed of drivers
 *    and other switches, which bring the frames of many.
 *  - When the backlog has no room, the source waits for the port. Such waits
 *    are limited in each period of `timeout`: to 1/8 of it for a port, to 1/4
 *    of it for a source. At that limit the port is late.
 *  - A port that is behind and takes fewer than FORWARD_KEEPS_UP frames in
 *    `timeout` is late, too.
 *
 * A late port is not waited for: frames without room in its ring or backlog are
 * dropped and counted. It is late until its backlog is empty and half of its
 * ring. One that takes nothing at all for `timeout` is dead: its backlog is
 * dropped, and its frames are dropped at once until its ring has room.
 *
 * When the program at a port has ended, its connections are reset:
 * those of the frames that are still in its rings at once, or as soon as the
 * peer has room, others when a segment comes for them. Frames for
 * it do not wait. Its successor is acknowledged (port.h) when that is done. The
 * other way round a switch that starts again resets nobody: the connections of
 * its stacks go on.
 */

enum { FORWARD_TABLE = 512, FORWARD_STATIONS = 2 * PROCESS_MAX_PORTS, FORWARD_NONE = 0xff, FORWARD_BATCH = 64,
       FORWARD_KEEPS_UP = PORT_SLOTS };
_Static_assert(FORWARD_TABLE >= 2 * FORWARD_STATIONS && FORWARD_STATIONS <= FORWARD_NONE, "short probes");

/* The stations that can be reached, at a port or behind a lower switch. */
struct forward_station {
	uint64_t mac;  /* mac_number() */
	uint32_t ipv4; /* network byte order; 0: none */
	unsigned port;
};

/* How long frames for others were kept waiting, in the period of `timeout` that began at `period`. */
struct forward_stall {
	uint64_t since; /* it lasts since then; 0: it does not */
	uint64_t period;
	uint64_t used;  /* before `since` */
};

struct forward_port {
	struct port_end end;
	uint32_t ipv4;         /* network byte order; 0: none */
	bool uplink;
	bool upper;            /* the uplink leads to another switch */
	bool lower;            /* to a lower switch */
	bool publish_pending;  /* to signal: our epoch, or the acknowledgement of the far end's */
	bool ended;            /* its program has, and its backlog is dropped */
	bool resets_sent;      /* the resets of its connections have been queued */
	/* `now` when its ring was found full, later the last time it was judged; 0: not behind */
	uint64_t behind_since;
	uint64_t behind_from;  /* `delivered` then */
	bool late;             /* behind, and not waited for */
	struct forward_stall by_receiver; /* of sources, because this port takes no frames */
	struct forward_stall of_source;   /* of this port as a source */
	/* receive ring: frames from its head up to here are for the same port as that one, or for no station */
	uint64_t ahead;
	bool wake_receiver; /* frames were put into its ring since the last forward_signal() */
	bool wake_sender;   /* frames were taken from its ring since then */
	uint64_t frames;    /* taken from this port and passed on */
	uint64_t delivered; /* put into this port's ring */
	uint64_t bad;       /* with an impossible length */
	uint64_t strays;    /* for no station here, and nowhere else to go */
	/* copies of broadcasts that its full ring could not take; frames for an upper switch that has ended */
	uint64_t missed;
	uint64_t dropped;   /* frames for it that were dropped because it was late */
};

/* The resets of an ended port's connections that have not left yet. */
struct reset_queue {
	unsigned port, next; /* that port; the one that the next search begins at */
	unsigned polled;     /* the port that is polled next */
	unsigned waiting;    /* ended ports that have no resets queued yet */
	unsigned count;
	uint64_t since;      /* `now` when they were collected */
	uint8_t reset[2 * PORT_SLOTS + 1][RESET_FRAME]; /* one is room for the next candidate */
};

struct forward {
	unsigned count;
	uint64_t timeout;               /* in the unit of `now`: cycles of the TSC */
	uint64_t deadline;               /* when the first wait for a port ends; 0: no source waits */
	uint64_t dropped;                /* of all ports */
	uint64_t lost_answers;           /* for ended ports, for which there was no room */
	bool publish_pending;            /* of any port */
	unsigned behind;                 /* ports that are */
	unsigned first;                  /* the source that a pass begins with */
	unsigned uplink;                 /* FORWARD_NONE without one */
	unsigned stations;
	struct forward_station station[FORWARD_STATIONS];
	uint8_t by_mac[FORWARD_TABLE];   /* a station; open addressing; FORWARD_NONE ends a probe */
	struct forward_port port[PROCESS_MAX_PORTS];
	struct bell *bell;               /* its own */
	struct bell private_bell;        /* in place of one: no other process reads it */
	struct backlog backlog;
	struct reset_queue reset_queue;
};

/* Port i's memory is at `memory` + i * PORT_SIZE. `life`: the epoch of its ends. */
void forward_init(struct forward *forward, const struct process_port *port, unsigned count, void *memory,
		  uint64_t timeout, uint64_t life);

/*
 * After forward_init(): the switch's bell word (bell.h), and those of the far ends of its ports; port i's is at `far` +
 * i * BELL_SIZE, unless that end is in another cluster. Without them the rings' flags serve.
 */
static inline void forward_bells(struct forward *forward, const struct process_port *port, struct bell *own,
                                 const void *far)
{
	forward->bell = own;
	for (unsigned i = 0; i < forward->count; i++)
		forward->port[i].end.bell = port[i].remote ? NULL
		                            : (const struct bell *)((const char *)far + (uint64_t)i * BELL_SIZE);
}

/* After forward_init(): the stations behind ports of lower switches. */
void forward_routes(struct forward *forward, const struct process_route *route, unsigned count);

/* Move up to FORWARD_BATCH frames from each port. Returns whether any moved. */
bool forward_pass(struct forward *forward, uint64_t now);

/*
 * The same before sleeping: asks to be woken by frames on any port, and by
 * room wherever a frame waits for it. If it moved nothing, sleep, but not past
 * `deadline`.
 */
bool forward_last_pass(struct forward *forward, uint64_t now);

/*
 * Pass on a frame that the switch has made in place of port `source`, or hold it
 * in its destination's backlog. False if there is no room in that either; `last`:
 * ask to be woken by room.
 */
bool forward_make(struct forward *forward, unsigned source, const void *frame, uint32_t length, uint64_t now,
                  bool last);

/* Called after one or more passes: calls `wake` for each port whose far end asked for it. */
void forward_signal(struct forward *forward, void (*wake)(void *context, unsigned port), void *context);

/* The stations behind each port of the switch, by MAC and by IPv4 address. */

void stations_init(struct forward *forward);

/* A further station; no other has its MAC. */
void station_add(struct forward *forward, const uint8_t mac[6], uint32_t ipv4, unsigned port);

static inline unsigned station_hash(uint64_t mac)
{
	return (unsigned)((mac * 0x9e3779b97f4a7c15ull) >> 55) & (FORWARD_TABLE - 1);
}

/* The station that has this address: null for strangers. */
static inline const struct forward_station *station_by_mac(const struct forward *forward, uint64_t mac)
{
	unsigned h = station_hash(mac);

	while (forward->by_mac[h] != FORWARD_NONE && forward->station[forward->by_mac[h]].mac != mac)
		h = (h + 1) & (FORWARD_TABLE - 1);
	return forward->by_mac[h] == FORWARD_NONE ? NULL : &forward->station[forward->by_mac[h]];
}
const struct forward_station *station_by_ipv4(const struct forward *forward, uint32_t ipv4);

enum { TO_ALL = -1, TO_NOBODY = -2 };

/* Where a frame for a group of stations goes: TO_ALL, or the port of the station that an ARP request asks for. */
int group_destination(const struct forward *forward, unsigned source, const uint8_t *frame, uint32_t length);

/* The port of `station`, or else the uplink; but no frame goes back to where it came from. */
static inline int port_of(const struct forward *forward, const struct forward_station *station, unsigned source)
{
	unsigned port = station ? station->port : forward->uplink;

	require(port < forward->count || port == FORWARD_NONE);
	return port == FORWARD_NONE || port == source ? TO_NOBODY : (int)port;
}

/* Where a frame goes: a port, TO_ALL or TO_NOBODY. */
static inline int frame_destination(const struct forward *forward, unsigned source, const uint8_t *frame,
                                    uint32_t length)
{
	uint64_t mac = mac_number(frame);

	if (mac_is_group(mac))
		return group_destination(forward, source, frame, length);
	return port_of(forward, station_by_mac(forward, mac), source);
}

/* Answers in place of ports whose programs have ended. */

/*
 * Returns whether the program at the port has ended: its cluster-manager or itself has closed its epoch, or a successor
 * has another. False for an upper switch, whose connections go on when it has started again, and for a port at which
 * another cluster has given this switch up: the program there runs on.
 */
static inline bool has_ended(const struct forward_port *port)
{
	return !port->upper && (port->ended ||
	                        (port->end.seen && port_changed(&port->end) && !port_is_given_up(&port->end)));
}

/* Returns whether the upper switch of this port has ended. */
static inline bool is_cut_off(const struct forward_port *port) { return port->upper && port->end.seen & 1; }

/* Answers a frame for an ended port with a reset. */
void answer_for_ended(struct forward *forward, unsigned port, const void *frame, uint32_t length, uint64_t now);

/*
 * Called at the beginning of a pass. Polls for ports that have ended or been opened,
 * and resets the connections that have frames in the rings of an ended port, one port
 * at a time. A reset without room at its receiver is tried again in each pass for
 * `timeout`, then dropped. Returns whether a frame moved. A cluster-manager wakes a
 * switch that sleeps.
 */
bool reset_queue_serve(struct forward *forward, uint64_t now, bool last);
