/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When there is no memory for a received frame: its headers are enough for its
 * acknowledgement, which frees memory. The peer sends the data again.
 */
#pragma once

#include <stdint.h>

enum { HEADERS_MAX = 14 + 60 + 60 }; /* Ethernet, IPv4 and TCP with all options */

/*
 * Writes the frame without its data and its FIN. The length, or 0 for what is
 * no segment with an acknowledgement or a reset: SYNs, fragments, other protocols.
 */
uint32_t headers_only(uint8_t to[HEADERS_MAX], const uint8_t *frame, uint32_t length);
