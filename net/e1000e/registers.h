/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of the 82574L (Intel 82574 GbE Controller Family Datasheet,
 * chapter 10): offsets in BAR 0 in bytes, all of 32 bits. Only those that the
 * driver uses.
 */
#pragma once

#include <stdint.h>

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
