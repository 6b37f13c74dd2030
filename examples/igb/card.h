/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel's 82576: one queue each way, advanced descriptors, one interrupt. */
#pragma once

#include <skerry/port.h>
#include "../driver/card.h"
#include "../driver/checksum.h"
#include "../driver/pci.h"

enum {
	CTRL = 0x0000, CTRL_LINK_UP = 1 << 6, CTRL_RESET = 1 << 26,
	STATUS = 0x0008,
	CTRL_EXT = 0x0018, CTRL_EXT_LOADED = 1 << 28,
	MDIC = 0x0020, MDIC_NEGOTIATE = 1 << 26 | 1 << 21 | 0x1340, /* to PHY 1, register 0 */
	RCTL = 0x0100, RCTL_ON = 1 << 1, RCTL_ALL = 1 << 3 | 1 << 4 | 1 << 15, RCTL_STRIP_CRC = 1 << 26,
	TCTL = 0x0400, TCTL_ON = 1 << 1 | 1 << 3,
	GPIE = 0x1514, GPIE_MSIX = 1 | 1 << 4, /* several vectors, causes cleared by their message */
	EIMS = 0x1524, EIMC = 0x1528, EIAC = 0x152c, EIAM = 0x1530, EICR = 0x1580,
	EITR = 0x1680, EITR_50_US = 50 << 2,
	IVAR = 0x1700, IVAR_BOTH = 0x8080,     /* receive and transmit queue 0: vector 0 */
	RECEIVE = 0xc000, TRANSMIT = 0xe000,   /* registers of queue 0, at these offsets: */
	BASE_LOW = 0x00, BASE_HIGH = 0x04, LENGTH = 0x08, SPLIT = 0x0c, TAIL = 0x18, CONTROL = 0x28,
	SPLIT_ONE_BUFFER = 1 << 25 | 2,        /* of 2 KiB */
	CONTROL_ON = 1 << 25, CONTROL_EACH = 1 << 16, /* write each descriptor back at once */

	SLOTS = 64, BUFFER = 2048, RESET_LOOKS = 1000000, RESET_TIME = 100, /* a 100th of a second */
};

/* The second word of a descriptor, written by the card. */
#define RECEIVE_DONE 1ull
#define RECEIVE_WHOLE (1ull << 1)
#define RECEIVE_LENGTH(word) ((word) >> 32 & 0xffff)
#define TRANSMIT_DONE (1ull << 32)
/* The driver writes this there to send `size` bytes: data, its last part, append the FCS, write back. */
#define TRANSMIT_WORD(size) ((uint64_t)(size) << 46 | 0x2b300000u | (size))

struct queue {
	volatile struct { uint64_t address, word; } *slot;
	uint8_t *buffers;
	uint64_t paddr;
	uint32_t first, given; /* descriptors that the card is done with, and those given to it; modulo 2^32 */
};

struct card {
	volatile uint32_t *registers;
	struct queue receive, transmit;
};

/* The compiler moves no store and no load across it. */
static inline void compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

static inline void out(struct card *card, uint32_t offset, uint32_t value)
{
	compiler_barrier();
	card->registers[offset / 4] = value;
}

static inline uint8_t *buffer_of(struct queue *queue, uint32_t position)
{
	return queue->buffers + position % SLOTS * BUFFER;
}

static void start_queue(struct card *card, struct queue *queue, uint32_t base, uint64_t offset, uint64_t paddr)
{
	queue->slot = (void *)(PROCESS_DMA_VADDR + offset);
	queue->buffers = (uint8_t *)(PROCESS_DMA_VADDR + offset + 4096);
	queue->paddr = paddr + offset + 4096;
	out(card, base + BASE_LOW, (uint32_t)(paddr + offset));
	out(card, base + BASE_HIGH, (uint32_t)((paddr + offset) >> 32));
	out(card, base + LENGTH, SLOTS * 16);
	if (base == RECEIVE)
		out(card, base + SPLIT, SPLIT_ONE_BUFFER);
	out(card, base + CONTROL, CONTROL_ON | CONTROL_EACH);
}

/* Give the card the next descriptor; it learns of it by the tail. */
static inline void give(struct queue *queue, uint64_t word)
{
	queue->slot[queue->given % SLOTS].address = queue->paddr + queue->given % SLOTS * BUFFER;
	queue->slot[queue->given++ % SLOTS].word = word;
}

static const char *card_start(struct card *card, const struct process_info *info)
{
	const struct process_device *device = &info->device;

	pci_enable(device, info->tsc_hz);
	card->registers = pci_bar(device, 0, 0, 0x10000);
	if (!card->registers || device->dma_size < 2 * (4096 + SLOTS * BUFFER))
		return "no registers, or too little memory";
	out(card, CTRL, CTRL_RESET);
	pci_pause(info->tsc_hz / RESET_TIME);
	for (unsigned looks = 0; card->registers[CTRL / 4] & CTRL_RESET; looks++)
		if (looks == RESET_LOOKS) /* a card that is not there reads as all ones */
			return "the card does not end its reset";
	out(card, EIMC, ~0u);
	pci_enable_dma(device);
	if (pci_interrupt(device))
		return "the card has no MSI-X table that is mapped";
	out(card, CTRL, card->registers[CTRL / 4] | CTRL_LINK_UP);
	out(card, MDIC, MDIC_NEGOTIATE);
	out(card, CTRL_EXT, card->registers[CTRL_EXT / 4] | CTRL_EXT_LOADED);
	out(card, GPIE, GPIE_MSIX);
	out(card, IVAR, IVAR_BOTH);
	out(card, EIAC, 1);
	out(card, EITR, EITR_50_US);
	out(card, TCTL, TCTL_ON);
	start_queue(card, &card->transmit, TRANSMIT, 0, device->dma_paddr);
	out(card, RCTL, RCTL_ON | RCTL_ALL | RCTL_STRIP_CRC);
	start_queue(card, &card->receive, RECEIVE, 4096 + SLOTS * BUFFER, device->dma_paddr);
	while (card->receive.given < SLOTS - 1)
		give(&card->receive, 0);
	out(card, RECEIVE + TAIL, card->receive.given % SLOTS);
	return 0;
}

static inline bool card_peek(struct card *card, struct card_frame *frame)
{
	struct queue *queue = &card->receive;
	uint64_t word = queue->slot[queue->first % SLOTS].word;

	if (!(word & RECEIVE_DONE))
		return false;
	compiler_barrier(); /* the frame is read after its word */
	frame->data = buffer_of(queue, queue->first);
	frame->size = word & RECEIVE_WHOLE ? RECEIVE_LENGTH(word) : 0; /* 0: the loop drops it */
	return true;
}

static inline void card_release(struct card *card, const struct card_frame *frame)
{
	(void)frame;
	card->receive.slot[card->receive.first++ % SLOTS].word = 0;
	give(&card->receive, 0);
}

static inline void card_refill(struct card *card) { out(card, RECEIVE + TAIL, card->receive.given % SLOTS); }

static inline bool has_room(struct queue *queue)
{
	while (queue->first != queue->given && queue->slot[queue->first % SLOTS].word & TRANSMIT_DONE)
		queue->first++;
	return queue->given - queue->first < SLOTS - 1;
}

/* Both queues have one vector: an interrupt that card_arm() asks for is of room, too. */
static inline bool card_has_room(struct card *card, bool arm)
{
	(void)arm;
	return has_room(&card->transmit);
}

static inline uint8_t *card_reserve(struct card *card) { return buffer_of(&card->transmit, card->transmit.given); }

static inline void card_send(struct card *card, uint8_t *buffer, uint32_t size)
{
	checksum_make(buffer, size);
	while (size < 17) /* shorter ones the card cannot pad itself */
		buffer[size++] = 0;
	give(&card->transmit, TRANSMIT_WORD(size));
}

static inline void card_flush(struct card *card) { out(card, TRANSMIT + TAIL, card->transmit.given % SLOTS); }

static inline void card_arm(struct card *card)
{
	out(card, EICR, 1); /* what is seen already needs no interrupt */
	out(card, EIMS, 1);
	(void)card->registers[STATUS / 4]; /* both have arrived, and so has what the card wrote before */
}

static inline void card_disarm(struct card *card) { out(card, EIMC, 1); }
