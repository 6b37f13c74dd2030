/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The seam between the driver's loop (main.c) and a network card. The folder
 * of a card has a header `card.h` with `struct card` and these functions,
 * inline: the loop is compiled once for each card. The list of cards is
 * ../drivers.toml; docs/adding-a-driver.md adds one.
 *
 * One thread calls them. A card has two queues, and a buffer belongs to the
 * driver or to the card at any time. What the card writes is not trusted: no
 * value of it is an index or a length before it is checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>

struct card;

/* A received frame, without FCS. */
struct card_frame {
	const uint8_t *data;
	uint32_t size; /* as the card says, any value at all: the loop checks it before it reads `data` */
	uint32_t id;   /* the card's own, for card_release() */
	bool summed;   /* the card answers for the checksum of TCP or UDP; false before */
};

/*
 * Start the card: both queues in the memory at PROCESS_DMA_VADDR, all receive
 * buffers given to it, interrupts through pci_interrupt(). The card accepts
 * frames for every address, since each stack has its own. Returns null, or what
 * is wrong. `card` is zero before.
 */
static const char *card_start(struct card *card, const struct process_info *info);

/* The oldest received frame; it stays where it is until card_release(). False if there is none. */
static bool card_peek(struct card *card, struct card_frame *frame);

/* Give the buffer of the frame that card_peek() has returned back to the card. */
static void card_release(struct card *card, const struct card_frame *frame);

/* At the end of a batch: announces to the card buffers that it may fill. */
static void card_refill(struct card *card);

/* Returns whether a frame can be sent. If not, and `arm` is set: the card interrupts when one can. */
static bool card_has_room(struct card *card, bool arm);

/* A buffer of PORT_FRAME_MAX bytes for a frame. card_has_room() has just returned true. */
static uint8_t *card_reserve(struct card *card);

/*
 * Send the first `size` bytes, ETHERNET_HEADER to PORT_FRAME_MAX, of the buffer
 * that card_reserve() has returned. Its checksums are not made yet: by
 * checksum_make(), or by the card.
 */
static void card_send(struct card *card, uint8_t *buffer, uint32_t size);

/* At the end of a batch: announces to the card frames to send. */
static void card_flush(struct card *card);

/*
 * Before the loop sleeps: the card interrupts at the next received frame. A
 * frame that the card has written before this function ends is found by
 * card_peek() afterwards; otherwise that wake-up is lost.
 */
static void card_arm(struct card *card);

/* The loop is awake: interrupts are of no use, and of no harm. */
static void card_disarm(struct card *card);
