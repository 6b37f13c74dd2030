/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/tcp.h>
#include <skerry/require.h>
#include "scoreboard.h"

enum {
	SACKED = 0x20, LOST = 0x40, AGAIN = 0x80, /* AGAIN: sent again since it was lost, or as a probe */
	MARKS = SACKED | LOST | AGAIN,
	OPTION_SACK = 5, BLOCK = 8, /* RFC 2018, 3 */
};
_Static_assert(!(MARKS & (TF_SEG_OPTS_MSS | TF_SEG_OPTS_TS | TF_SEG_DATA_CHECKSUMMED | TF_SEG_OPTS_WND_SCALE |
                          TF_SEG_OPTS_SACK_PERM)), "bits that lwIP does not use");
_Static_assert(!CHECKSUM_GEN_TCP, "lwIP leaves the checksum field alone");

/* --- options --- */

static uint32_t load_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_blocks(struct sack_list *list, const uint8_t *at, unsigned size, uint32_t acknowledged, uint32_t next)
{
	for (; size >= BLOCK && list->count < SACK_BLOCKS; size -= BLOCK, at += BLOCK) {
		const uint32_t left = load_be32(at) - acknowledged, right = load_be32(at + 4) - acknowledged;

		if (!left || left >= right || right > next - acknowledged)
			continue;
		list->block[list->count].left = acknowledged + left;
		list->block[list->count++].right = acknowledged + right;
	}
}

struct sack_list sack_list_of(const uint8_t *options, unsigned size, uint32_t acknowledged, uint32_t next)
{
	const uint8_t *option = options, *const end = options + size;
	struct sack_list list = { 0 };

	while (option < end && *option != LWIP_TCP_OPT_EOL) {
		if (*option == LWIP_TCP_OPT_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option)
			break;
		if (*option == OPTION_SACK && option[1] % BLOCK == 2)
			add_blocks(&list, option + 2, option[1] - 2u, acknowledged, next);
		option += option[1];
	}
	return list;
}

/* --- marks --- */

static uint32_t end_of(const struct tcp_seg *segment) { return scoreboard_sequence(segment) + TCP_TCPLEN(segment); }

static bool is_in(const struct sack_list *list, const struct tcp_seg *segment)
{
	for (unsigned i = 0; i < list->count; i++)
		if (TCP_SEQ_GEQ(scoreboard_sequence(segment), list->block[i].left) &&
		    TCP_SEQ_LEQ(end_of(segment), list->block[i].right))
			return true;
	return false;
}

static bool is_later(uint16_t number, uint16_t than, unsigned by) { return (int16_t)(number - than) >= (int)by; }

static void note_delivery(struct scoreboard *board, const struct tcp_seg *segment)
{
	const uint16_t number = segment->tcphdr->chksum;

	board->arrived += TCP_TCPLEN(segment);
	if (number && is_later(number, board->delivered, 1))
		board->delivered = number;
}

void scoreboard_mark(struct scoreboard *board, const struct tcp_pcb *pcb, uint32_t acknowledged,
                     const struct sack_list *sacks)
{
	for (struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next) {
		const bool acked = TCP_SEQ_LEQ(end_of(segment), acknowledged);

		board->outstanding += !acked;
		if (!(segment->flags & SACKED) && (acked || is_in(sacks, segment))) {
			board->timed |= !acked && !(segment->flags & AGAIN) &&
			                scoreboard_sequence(segment) == pcb->rtseq;
			note_delivery(board, segment);
			if (!acked)
				segment->flags = (u8_t)((segment->flags & ~LOST) | SACKED);
		}
		board->sacked += !acked && segment->flags & SACKED;
	}
}

/* A number is that of the last transmission: of a segment that was sent again, only what was sent later is a sign. */
static bool is_lost(const struct scoreboard *board, const struct tcp_seg *segment, unsigned above, unsigned threshold)
{
	const uint16_t number = segment->tcphdr->chksum;
	const bool exceeded = number && is_later(board->delivered, number, threshold);

	return exceeded || (!(segment->flags & AGAIN) && above >= threshold);
}

uint32_t scoreboard_lose(const struct scoreboard *board, struct tcp_pcb *pcb, uint32_t acknowledged,
                         unsigned threshold, bool first)
{
	uint32_t bytes = 0;
	unsigned above = board->sacked;

	require(threshold);
	for (struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next) {
		if (TCP_SEQ_LEQ(end_of(segment), acknowledged))
			continue;
		if (segment->flags & SACKED) {
			above--;
		} else if (!scoreboard_waits(segment) && (is_lost(board, segment, above, threshold) ||
		                                         (first && !(segment->flags & AGAIN)))) {
			segment->flags = (u8_t)((segment->flags & ~AGAIN) | LOST);
			bytes += TCP_TCPLEN(segment);
		}
		first = false;
	}
	return bytes;
}

void scoreboard_lose_all(struct tcp_pcb *pcb)
{
	const bool reneged = pcb->unacked && pcb->unacked->flags & SACKED;

	for (struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
		if (reneged || !(segment->flags & SACKED))
			segment->flags = (u8_t)((segment->flags & ~MARKS) | LOST);
}

void scoreboard_lose_first(struct tcp_pcb *pcb)
{
	require(pcb->unacked);
	pcb->unacked->flags = (u8_t)((pcb->unacked->flags & ~MARKS) | LOST);
}

uint32_t scoreboard_pipe(const struct tcp_pcb *pcb)
{
	uint32_t bytes = 0;

	for (const struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
		if (!(segment->flags & SACKED) && !scoreboard_waits(segment))
			bytes += TCP_TCPLEN(segment);
	return bytes;
}

bool scoreboard_marked(const struct tcp_pcb *pcb)
{
	const struct tcp_seg *segment = pcb->unacked;

	while (segment && !(segment->flags & (SACKED | LOST)))
		segment = segment->next;
	return segment;
}

bool scoreboard_waits(const struct tcp_seg *segment) { return (segment->flags & (LOST | AGAIN)) == LOST; }

/* A frame that waits for room in a ring (link.c) still needs its header: it gets no number. */
static void number_segment(struct tcp_seg *segment, uint16_t *order)
{
	if (segment->p->ref != 1)
		return;
	*order = (uint16_t)(*order + 1);
	if (!*order)
		*order = 1;
	segment->tcphdr->chksum = *order;
}

void scoreboard_sent_again(struct tcp_seg *segment, uint16_t *order)
{
	segment->flags |= AGAIN;
	number_segment(segment, order);
}

void scoreboard_number(struct tcp_pcb *pcb, uint32_t from, uint16_t *order)
{
	for (struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
		if (TCP_SEQ_GEQ(scoreboard_sequence(segment), from))
			number_segment(segment, order);
}

void scoreboard_clear(struct tcp_pcb *pcb)
{
	for (struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
		segment->flags &= (u8_t)~MARKS;
}

void scoreboard_forget_received(struct tcp_pcb *pcb) { memset(pcb->rcv_sacks, 0, sizeof(pcb->rcv_sacks)); }
