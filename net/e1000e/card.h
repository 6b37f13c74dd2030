/* SPDX-License-Identifier: BSD-2-Clause */
/* An 82574L, as the driver's loop uses it (../driver/card.h). */
#pragma once

#include "../driver/card.h"
#include "../driver/checksum.h"
#include "device.h"

struct card {
	struct e1000e e;
};

static const char *card_start(struct card *card, const struct process_info *info)
{
	return e1000e_start(&card->e, info);
}

static inline bool card_peek(struct card *card, struct card_frame *frame)
{
	const struct e1000e_queue *queue = &card->e.receive;
	uint64_t word = e1000e_word(queue, queue->taken);
	bool whole = word & E1000E_LAST && !card->e.in_part;

	if (!(word & E1000E_DONE))
		return false;
	frame->data = e1000e_buffer(queue, queue->taken);
	/* larger than a buffer, than a frame: the loop drops it */
	frame->size = whole && !(word & E1000E_ERRORS) ? word & 0xffff : 0;
	frame->id = !(word & E1000E_LAST);
	return true;
}

static inline void card_release(struct card *card, const struct card_frame *frame)
{
	struct e1000e_queue *queue = &card->e.receive;

	require(queue->given - queue->taken == E1000E_SLOTS - 1);
	card->e.in_part = frame->id;
	/* before the card gets it again: what it said of this frame is not read twice */
	e1000e_slot(queue, queue->taken)->word = 0;
	queue->taken++;
	queue->given++;
}

/* The card has many more. Each time costs an exit where the card is emulated. */
static inline void card_refill(struct card *card)
{
	require(card->e.receive.given - card->e.receive.announced < E1000E_SLOTS);
	if (card->e.receive.given - card->e.receive.announced >= E1000E_REFILL)
		e1000e_tell_receive(&card->e);
}

static inline bool e1000e_reclaim(struct e1000e_queue *queue)
{
	require(queue->given - queue->taken < E1000E_SLOTS);
	while (queue->taken != queue->given && e1000e_word(queue, queue->taken) & E1000E_DONE)
		queue->taken++;
	return queue->given - queue->taken < E1000E_SLOTS - 1;
}

/* Without a link nothing waits: the switch's other ports would. */
static inline bool card_has_room(struct card *card, bool arm)
{
	struct e1000e_queue *queue = &card->e.transmit;

	if (queue->given - queue->taken < E1000E_SLOTS - 1 || e1000e_reclaim(queue) || !card->e.link)
		return true;
	if (!arm)
		return false;
	e1000e_arm_room(&card->e);
	return e1000e_reclaim(queue);
}

/* The slot behind the last one given, which is empty even in a full queue. */
static inline uint8_t *card_reserve(struct card *card)
{
	return e1000e_buffer(&card->e.transmit, card->e.transmit.given);
}

static inline void card_send(struct card *card, uint8_t *buffer, uint32_t size)
{
	struct e1000e_queue *queue = &card->e.transmit;

	require(size <= PORT_FRAME_MAX && buffer == e1000e_buffer(queue, queue->given));
	if (!card->e.link)
		return;
	require(queue->given - queue->taken < E1000E_SLOTS - 1);
	checksum_make(buffer, size);
	while (size < E1000E_SHORTEST)
		buffer[size++] = 0;
	e1000e_slot(queue, queue->given)->word = size | E1000E_SEND;
	queue->given++;
}

static inline void card_flush(struct card *card)
{
	if (card->e.transmit.given != card->e.transmit.announced)
		e1000e_tell_transmit(&card->e);
}

static inline void card_arm(struct card *card) { e1000e_arm(&card->e); }

/* An interrupt has masked its cause. */
static inline void card_disarm(struct card *card) { (void)card; }
