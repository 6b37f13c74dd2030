/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers of the switch for a port whose program has ended, so that its peers
 * need not wait for a timeout: resets as of a host without that connection
 * (RFC 9293, 3.5.2), and the dead address's ARP replies, without which no
 * segment would come.
 *
 * Frames are in memory that their sender may write meanwhile; headers are
 * copied before they are read (double fetch). Checksums are left 0: see ../port.h.
 */
#pragma once

#include <stdint.h>

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
