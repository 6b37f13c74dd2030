/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loss recovery in front of lwIP. lwIP's own fast retransmission ends at the first partial acknowledgement, it ignores
 * SACK options, and its time-out counts ticks of 500 ms. Here each acknowledgement of an established connection is
 * examined before lwIP processes it, and segments are sent after:
 *
 *  - SACK blocks (RFC 2018) mark segments as delivered. A segment with three delivered ones above it is lost (RFC 6675,
 *    IsLost()), and so is a retransmission when three transmissions after it were delivered. What may be sent is the
 *    congestion window less the bytes in the network (RFC 6675, "pipe"). A peer without SACK: NewReno (RFC 6582), by
 *    duplicate acknowledgements; segments with data between these do not count and reset nothing.
 *  - The retransmission time-out is SRTT + max(4 RTTVAR, 200 ms) (RFC 6298, the lower bound as on Linux), checked every
 *    10 ms. It keeps what SACK has reported. Before it, the last segment is sent again as a probe (RFC 8985, 7).
 *  - A loss reduces the window to half (RFC 5681) if it comes with delay, which a full queue causes, or if a quarter of
 *    the window was lost; any other one is taken for noise, and leaves the window as it is. RFC 6675 would halve the
 *    window at every loss. Slow start begins with 10 segments (RFC 6928).
 *
 * A segment's state is in fields that lwIP leaves alone between transmissions: bits of its flags, and the checksum of
 * its TCP header, which drivers compute in the copy that leaves. lwIP keeps its own bookkeeping throughout: a lost
 * segment goes through tcp_output() again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <lwip/priv/tcp_priv.h>

/* A connection's; zero at first. Times are stamps (below), windows and amounts bytes. */
struct recovery {
	uint32_t opened;       /* when its first SYN was sent or received */
	uint32_t acknowledged; /* of the time-out: pcb->lastack when it was last looked at, */
	uint32_t since;        /* and when that was first so */
	uint32_t again_at;     /* when a segment was last sent again */
	uint32_t point;        /* recovery ends when this is acknowledged */
	/* while it is active: the real ones; lwIP's pcb->cwnd is what may be sent beyond pcb->lastack */
	tcpwnd_size_t cwnd, ssthresh, bytes_acked;
	tcpwnd_size_t flight, lost; /* of this recovery: under way when it began, and found lost since */
	uint16_t order;        /* number of the last transmission that has one */
	uint16_t delivered;    /* the highest number of one that has arrived */
	uint16_t probe;        /* that of the tail loss probe */
	uint16_t least;        /* round trip; 0: not known */
	uint16_t duplicates;   /* acknowledgements, of a peer without SACK */
	uint8_t backoff;       /* time-outs without progress, */
	uint8_t repeats;       /* and retransmissions before the first one */
	bool active;           /* segments are marked, duplicates were counted, or it recovers; TF_INFR is set then */
	bool recovers, first /* nothing was sent again yet */, reduced, timed_out, probed;
	bool begun;            /* the handshake is done */
	bool timed;            /* lwIP's pcb->rttest was set before this segment */
};

enum { RECOVERY_UNIT_SHIFT = 21 }; /* a stamp counts 2^21 cycles: 0.5 to 2 ms */

/* The clock of round trips, and the deadline in cycles of the next tick; UINT64_MAX: none is needed. */
extern struct recovery_clock {
	uint64_t due;
	uint32_t now;
} recovery_clock;

/* When a timer of the stack is due, in cycles; 0: not known (net.c). recovery_start() brings it forward. */
extern uint64_t stack_timer_at;

static inline void recovery_time(uint64_t cycles) { recovery_clock.now = (uint32_t)(cycles >> RECOVERY_UNIT_SHIFT); }

/* Starts the ticks. Called when data is under way and none is due. */
void recovery_start(void);

/* Adds a measured round trip to SRTT and RTTVAR (RFC 6298, 2.3): pcb->sa is 8 SRTT, pcb->sv 4 RTTVAR, in stamps. More
 * than there is room for counts as the most; where lwIP has begun by itself, in ticks of 500 ms, it counts nothing. */
static inline void recovery_estimate(struct tcp_pcb *pcb, uint32_t trip)
{
	enum { MOST = INT16_MAX / 8 };
	int16_t m;

	if (__builtin_expect(trip > MOST, false)) {
		if (trip > UINT16_MAX)
			return;
		trip = MOST;
	}
	m = (int16_t)((int16_t)trip - (pcb->sa >> 3));
	pcb->sa = (int16_t)(pcb->sa + m);
	m = (int16_t)((m < 0 ? -m : m) - (pcb->sv >> 2));
	pcb->sv = (int16_t)(pcb->sv + m);
}

/* A connection begins: its SYN, or the answer to one, is sent again after 1, 2, 4, 4 … s. */
void recovery_begin(struct recovery *, struct tcp_pcb *);

/*
 * Before lwIP processes a segment of a connection that does not listen and is not in TIME_WAIT. `header` is in host
 * byte order, as in LWIP_HOOK_TCP_INPACKET_PCB; its options are `size` bytes at `options`, which nobody has checked;
 * `length` bytes of data follow.
 */
void recovery_before(struct recovery *, struct tcp_pcb *, const struct tcp_hdr *header, const uint8_t *options,
                     unsigned size, unsigned length);
/* After it: sends what is lost, and what the window has room for. */
void recovery_after(struct recovery *, struct tcp_pcb *);

/* tcp_output(), with the round trip measured in stamps. */
void recovery_output(struct tcp_pcb *);

/* Time-outs of this connection. Returns whether it needs another tick. */
bool recovery_tick(struct recovery *, struct tcp_pcb *);

/* Before lwIP's tcp_slowtmr(), which sends nothing again for this connection then. */
void recovery_before_timers(struct tcp_pcb *);

/* Before tcp_rexmit_rto(): forgets all marks. */
void recovery_forget(struct recovery *, struct tcp_pcb *);

/* The growth of a congestion window, as lwIP's tcp_receive() has it. */

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
