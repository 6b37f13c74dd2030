/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel's 82574L, in QEMU `-device e1000e`: one queue each way with
 * descriptors of the legacy form, descriptor i with buffer i, and one
 * interrupt, MSI-X entry 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/port.h>
#include <skerry/process.h>
#include <skerry/require.h>

enum {
	E1000E_SLOTS = 256,    /* descriptors of a queue, a power of two */
	E1000E_BUFFER = 2048,
	E1000E_REFILL = 16,    /* receive buffers that are given back at a time */
	E1000E_SHORTEST = 17,  /* bytes that the card can send and pad */
	E1000E_INTERVAL = 195, /* between interrupts, in 256 ns: 20,000 a second */
};

/*
 * 16 bytes: the buffer's address, then of a received frame (section 7.1.4)
 *   0..15 length, 32..39 status, 40..47 errors
 * and of one to send (section 7.2.10.1)
 *   0..15 length, 24..31 command, 32..39 status
 * in the second word, which is read and written as a whole.
 */
struct e1000e_descriptor {
	uint64_t address;
	uint64_t word;
};
_Static_assert(sizeof(struct e1000e_descriptor) == 16, "sections 7.1.4 and 7.2.10.1");

#define E1000E_DONE (1ull << 32) /* both ways: the card has written the descriptor back */
#define E1000E_LAST (1ull << 33) /* the frame ends in this buffer */
#define E1000E_ERRORS (0x97ull << 40) /* CRC, symbol, sequence, carrier extension, data */
/* Command: last buffer of the frame, append the FCS, write back when sent. */
#define E1000E_SEND ((uint64_t)(1 << 0 | 1 << 1 | 1 << 3) << 24)

/* Positions run freely, modulo 2^32; one slot is always empty, since equal head and tail mean an empty queue. */
struct e1000e_queue {
	struct e1000e_descriptor *descriptor;
	uint8_t *buffers;
	uint32_t taken; /* descriptors that the card is done with, seen by the driver */
	uint32_t given; /* descriptors given to the card */
	uint32_t announced;  /* of them, those that were announced to it */
};

struct e1000e {
	const struct process_info *info;
	volatile uint32_t *registers;
	struct e1000e_queue receive, transmit;
	bool link;    /* up, when last looked at */
	bool in_part; /* the frame at the head of the receive queue began in an earlier buffer */
};

/* Bytes of DMA memory: descriptors and buffers of both queues. */
enum { E1000E_MEMORY = 2 * E1000E_SLOTS * (16 + E1000E_BUFFER) };

_Static_assert(E1000E_BUFFER >= (int)PORT_FRAME_MAX, "a frame fits into a buffer");
_Static_assert(E1000E_SLOTS * 16 % 4096 == 0, "queues and buffers begin at page bounds");

static inline struct e1000e_descriptor *e1000e_slot(const struct e1000e_queue *queue, uint32_t position)
{
	return &queue->descriptor[position % E1000E_SLOTS];
}
static inline uint8_t *e1000e_buffer(const struct e1000e_queue *queue, uint32_t position)
{
	return queue->buffers + position % E1000E_SLOTS * E1000E_BUFFER;
}
static inline uint64_t e1000e_word(const struct e1000e_queue *queue, uint32_t position)
{
	return __atomic_load_n(&e1000e_slot(queue, position)->word, __ATOMIC_ACQUIRE);
}

/* Reset the card and start it with empty queues. Null, or what is wrong. `e` is zero before, or was started. */
const char *e1000e_start(struct e1000e *e, const struct process_info *info);

/*
 * Announces given descriptors to the card. The registers are in uncached memory: the card sees earlier stores before
 * the register changes.
 */
void e1000e_tell_receive(struct e1000e *e);
void e1000e_tell_transmit(struct e1000e *e);

/*
 * Interrupt when a frame comes or the link changes. Clears older causes, looks
 * at the link, and has the card start anew if it was reset meanwhile.
 */
void e1000e_arm(struct e1000e *e);

/* Interrupt when a frame was sent. */
void e1000e_arm_room(struct e1000e *e);
