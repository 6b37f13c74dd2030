/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "../copy.h"
#include "../ethernet.h"
#include "headers.h"

enum { ETHERNET = 14, FLAGS = 13, FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

uint32_t headers_only(uint8_t to[HEADERS_MAX], const uint8_t *frame, uint32_t length)
{
	uint32_t ip, tcp;

	if (length < HEADERS_MAX)
		memset(to, 0, HEADERS_MAX);
	copy_bytes(to, frame, length < HEADERS_MAX ? length : HEADERS_MAX); /* the frame may change meanwhile */
	ip = (to[ETHERNET] & 15) * 4u;
	if (length < ETHERNET + 40 || load_be16(to + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 || to[ETHERNET] >> 4 != 4 ||
	    ip < 20 ||
	    to[ETHERNET + 9] != PROTOCOL_TCP || load_be16(to + ETHERNET + 6) & 0x3fff)
		return 0;
	tcp = (to[ETHERNET + ip + 12] >> 4) * 4u;
	if (tcp < 20 || length < ETHERNET + ip + tcp)
		return 0;
	if (to[ETHERNET + ip + FLAGS] & SYN || !(to[ETHERNET + ip + FLAGS] & (ACK | RST)))
		return 0;
	to[ETHERNET + ip + FLAGS] &= (uint8_t)~(FIN | PSH);
	store_be16(to + ETHERNET + 2, (uint16_t)(ip + tcp));
	return ETHERNET + ip + tcp;
}
