/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of the 82574L (Intel 82574 GbE Controller Family Datasheet,
 * chapter 10): offsets in BAR 0 in bytes, all of 32 bits. Only those that the
 * driver uses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <skerry/port.h>
#include <skerry/process.h>
#include <skerry/require.h>

enum {
	REGISTER_CTRL = 0x0000,
	CTRL_MASTER_DISABLE = 1 << 2,
	CTRL_SET_LINK_UP = 1 << 6,
	CTRL_FORCE_SPEED = 1 << 11,
	CTRL_FORCE_DUPLEX = 1 << 12,
	CTRL_RESET = 1 << 26,

	REGISTER_STATUS = 0x0008,
	STATUS_LINK_UP = 1 << 1,
	STATUS_MASTER_ENABLED = 1 << 19,

	REGISTER_EEPROM = 0x0010,
	EEPROM_READ = 1 << 9, /* the card has read its configuration */

	REGISTER_CTRL_EXT = 0x0018,
	CTRL_EXT_DRIVER_LOADED = 1 << 28, /* for the card's firmware */
	CTRL_EXT_PENDING_CLEAR = 1u << 31, /* pending bits of MSI-X are cleared when a message is sent */

	REGISTER_ICR = 0x00c0, /* causes, cleared by writing 1 */
	REGISTER_IMS = 0x00d0, /* mask: sets bits */
	REGISTER_IMC = 0x00d8, /* mask: clears bits */
	CAUSE_LINK = 1 << 2,
	CAUSE_RECEIVE = 1 << 20, /* queue 0 */
	CAUSE_TRANSMIT = 1 << 22,
	CAUSE_OTHER = 1 << 24,
	CAUSES_ALL = -1,

	REGISTER_EIAC = 0x00dc, /* causes that an interrupt clears, in ICR and in the mask */
	/* which MSI-X entry a cause has: 4 bits each, of which the highest says that it has one */
	REGISTER_IVAR = 0x00e4, IVAR_ENTRY_0 = 8,
	IVAR_RECEIVE_SHIFT = 0,
	IVAR_TRANSMIT_SHIFT = 8,
	IVAR_OTHER_SHIFT = 16,
	REGISTER_EITR = 0x00e8, /* least time between two interrupts of MSI-X entry 0, in 256 ns */

	REGISTER_RCTL = 0x0100,
	RCTL_ENABLE = 1 << 1,
	RCTL_UNICAST_ALL = 1 << 3,
	RCTL_MULTICAST_ALL = 1 << 4,
	RCTL_BROADCAST = 1 << 15,
	/* bits 16, 17 and 25 are 0: buffers of 2048 bytes; bit 5: frames of 1522 bytes at most */
	RCTL_STRIP_CRC = 1 << 26,

	REGISTER_TCTL = 0x0400,
	TCTL_ENABLE = 1 << 1,
	TCTL_PAD = 1 << 3,
	TCTL_RETRIES = 15 << 4,       /* after collisions, which half duplex has */
	TCTL_DISTANCE = 0x3f << 12,
	REGISTER_TIPG = 0x0410,
	TIPG_COPPER = 8 | 8 << 10 | 6 << 20, /* gaps between frames; section 10.2.6.3 */

	REGISTER_RDBAL = 0x2800,
	REGISTER_RDBAH = 0x2804,
	REGISTER_RDLEN = 0x2808,
	REGISTER_RDH = 0x2810,
	REGISTER_RDT = 0x2818,
	REGISTER_RDTR = 0x2820,
	REGISTER_RXDCTL = 0x2828,
	REGISTER_RADV = 0x282c,
	REGISTER_TDBAL = 0x3800,
	REGISTER_TDBAH = 0x3804,
	REGISTER_TDLEN = 0x3808,
	REGISTER_TDH = 0x3810,
	REGISTER_TDT = 0x3818,
	REGISTER_TIDV = 0x3820,
	REGISTER_TXDCTL = 0x3828,
	DCTL_WRITE_BACK_EACH = 1 << 24 | 1 << 16, /* each descriptor at once: threshold 1, in descriptors */
	TXDCTL_COUNT = 1 << 22,                   /* must be 1 */

	REGISTER_RXCSUM = 0x5000,
	REGISTER_RFCTL = 0x5008, /* 0: descriptors of the legacy form */
	REGISTER_MRQC = 0x5818,  /* 0: one receive queue */

	REGISTERS_SIZE = 0x6000,
};

/* A card that does not answer reads as all ones (PCI Express 2.0, section 2.3.2). */
#define REGISTER_GONE 0xffffffffu

struct e1000e;

uint32_t register_read(const struct e1000e *e, uint32_t offset);
void register_write(const struct e1000e *e, uint32_t offset, uint32_t value);

/* Wait for at least so long. */
void register_pause(const struct e1000e *e, uint32_t microseconds);

/*
 * Intel's 82574L, in QEMU `-device e1000e`: one queue each way with
 * descriptors of the legacy form, descriptor i with buffer i, and one
 * interrupt, MSI-X entry 0.
 */

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
