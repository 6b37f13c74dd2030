/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks on the segments of a connection that are under way: delivered out of order, lost, sent again. They are in
 * struct tcp_seg's flags, and the number of a transmission is in the checksum field of the segment's TCP header: lwIP
 * sets it to 0 when it sends the segment, and drivers compute the checksum in the frame's copy. Only segments of
 * pcb->unacked have marks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <lwip/priv/tcp_priv.h>

enum { SACK_BLOCKS = 4 /* that 40 bytes of options have room for */ };

struct sack_list {
	unsigned count;
	struct {
		uint32_t left, right; /* sequence numbers, the second is behind the block */
	} block[SACK_BLOCKS];
};

/*
 * Returns the blocks of SACK options that lie between the acknowledged number and the next one to send. Options may be
 * anything: what is malformed ends the list, and any other block is ignored, among them those of RFC 2883.
 */
struct sack_list sack_list_of(const uint8_t *options, unsigned size, uint32_t acknowledged, uint32_t next);

struct scoreboard {
	uint16_t delivered;   /* the highest number of a transmission that has arrived, so far */
	unsigned outstanding; /* segments that are not acknowledged in order, */
	unsigned sacked;      /* of these, delivered */
	uint32_t arrived;     /* bytes that this acknowledgement is the first to report */
	bool timed;           /* it reports the segment whose round trip is measured, sent once */
};

static inline uint32_t scoreboard_sequence(const struct tcp_seg *segment) { return lwip_ntohl(segment->tcphdr->seqno); }

/* Marks what an acknowledgement reports, before lwIP frees what it acknowledges. */
void scoreboard_mark(struct scoreboard *, const struct tcp_pcb *, uint32_t acknowledged, const struct sack_list *);

/*
 * Marks segments as lost that have `threshold` delivered ones above them, or whose last transmission has a number that
 * is exceeded by as much; and the first, if `first` says so. Returns the bytes that are lost for the first time, or
 * again.
 */
uint32_t scoreboard_lose(const struct scoreboard *, struct tcp_pcb *, uint32_t acknowledged, unsigned threshold,
                         bool first);

/* Marks all as lost that were not delivered. If the first was, the peer has dropped it since (RFC 2018, 8): all are. */
void scoreboard_lose_all(struct tcp_pcb *);

/* Marks the first as lost, though it was sent again. */
void scoreboard_lose_first(struct tcp_pcb *);

/* Bytes in the network (RFC 6675, SetPipe()): neither delivered, nor lost and not sent again. */
uint32_t scoreboard_pipe(const struct tcp_pcb *);
/* Returns whether any segment is delivered or lost. */
bool scoreboard_marked(const struct tcp_pcb *);
/* Returns whether the segment is lost and waits to be sent again. */
bool scoreboard_waits(const struct tcp_seg *);

/* The segment was sent again, with the next number. */
void scoreboard_sent_again(struct tcp_seg *, uint16_t *order);
/* Gives numbers to the segments from this sequence number on, which were sent for the first time. */
void scoreboard_number(struct tcp_pcb *, uint32_t from, uint16_t *order);

/* Removes all marks. */
void scoreboard_clear(struct tcp_pcb *);

/* Removes the SACK blocks to send, which describe nothing when no segment is kept. */
void scoreboard_forget_received(struct tcp_pcb *);
