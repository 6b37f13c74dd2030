/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's checksums: against a slow model of RFC 1071, on every size and alignment, and with bits flipped. */
#include <string.h>
#include "../ethernet.h"
#include "test.h"
#include "../driver/checksum.h"

static uint16_t model(const uint8_t *data, uint32_t size, uint32_t sum)
{
	for (uint32_t i = 0; i < size; i++)
		sum += i & 1 ? data[i] : data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t swapped(uint16_t value) { return (uint16_t)(value << 8 | value >> 8); }

/* A frame with an IPv4 packet of `protocol` and `payload` bytes of noise; returns its length. */
static uint32_t make_frame(uint8_t *frame, uint8_t protocol, uint32_t payload, uint32_t options)
{
	uint32_t header = 20 + options, total = header + payload;

	for (uint32_t i = 0; i < 14 + total; i++)
		frame[i] = (uint8_t)rand();
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	frame[14] = (uint8_t)(0x40 | header / 4);
	store_be16(frame + 16, (uint16_t)total);
	store_be16(frame + 20, 0x4000); /* don't fragment */
	frame[23] = protocol;
	return 14 + total;
}

static void round_trip(uint8_t protocol, uint32_t field, uint32_t payload, uint32_t options)
{
	uint8_t memory[1600 + 8], *frame = memory + rand() % 8;
	uint32_t length = make_frame(frame, protocol, payload, options);
	uint32_t start = 14 + 20 + options, pseudo = 0;
	uint32_t padded = length + (uint32_t)rand() % 20; /* Ethernet pads short frames */
	uint16_t sum;

	checksum_make(frame, padded);
	CHECK(checksum_verify(frame, padded, false));
	if (protocol != 1) {
		pseudo = model(frame + 26, 8, protocol + payload);
	}
	CHECK(model(frame + 14, 20 + options, 0) == 0xffff);
	CHECK(model(frame + start, payload, pseudo) == 0xffff);
	sum = load_be16(frame + start + field);
	CHECK(protocol != 17 || sum != 0);

	/* any single changed byte behind the Ethernet header is noticed */
	for (int i = 0; i < 20; i++) {
		uint32_t at = 14 + (uint32_t)rand() % (length - 14);
		uint8_t was = frame[at];

		if (protocol == 17 && at - start - field < 2)
			continue; /* might become "no checksum" */
		if (at - 20 < 2)
			continue; /* a fragment's payload is not checked */
		frame[at] ^= (uint8_t)(1u << rand() % 8);
		CHECK(!checksum_verify(frame, padded, false) || at == 23);
		frame[at] = was;
	}
	/* where the NIC answers for the sum of TCP or UDP, the header's is checked and nothing else; ICMP's is nobody's but ours */
	frame[start + payload - 1] ^= 1;
	CHECK(checksum_verify(frame, padded, true) == (protocol != 1));
	frame[16] ^= 1;
	CHECK(!checksum_verify(frame, padded, true));
}

/* Frames whose headers lie about lengths must neither pass as sound nor be written behind their end. */
static void broken(void)
{
	uint8_t frame[256], copy[256];
	uint32_t length = make_frame(frame, 6, 40, 0);

	checksum_make(frame, length);
	CHECK(!checksum_verify(frame, length - 1, false));
	for (uint32_t cut = 0; cut < length; cut++) {
		memcpy(copy, frame, sizeof(copy));
		checksum_make(copy, cut);
		CHECK(!memcmp(copy, frame, sizeof(copy)));
	}
	frame[14] = 0x41; /* a header of 4 bytes */
	CHECK(!checksum_verify(frame, length, false));
	frame[14] = 0x4f; /* a header of 60 bytes: longer than the packet is fine, then the sum is wrong */
	CHECK(!checksum_verify(frame, length, false));
	make_frame(frame, 6, 40, 0);
	store_be16(frame + 16, 10);
	CHECK(!checksum_verify(frame, length, false));
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_ARP);
	CHECK(checksum_verify(frame, 42, false));
	for (int i = 0; i < 200000; i++) {
		uint32_t n = 14 + (uint32_t)rand() % 100;

		for (uint32_t k = 0; k < n; k++)
			frame[k] = (uint8_t)rand();
		store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
		frame[14] = (uint8_t)(0x40 | (frame[14] & 15));
		frame[16] = 0;
		frame[23] = (uint8_t[]){ 1, 6, 17, 99 }[rand() % 4];
		memset(frame + n, 0xa5, sizeof(frame) - n);
		checksum_make(frame, n);
		for (uint32_t k = n; k < sizeof(frame); k++)
			CHECK(frame[k] == 0xa5);
	}
}

int main(void)
{
	uint8_t bytes[1600];

	srand(20261121);
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	for (uint32_t size = 0; size < 1500; size++)
		CHECK(swapped(checksum_sum(bytes + size % 16, size, 0)) == model(bytes + size % 16, size, 0));
	memset(bytes, 0xff, sizeof(bytes));
	CHECK(checksum_sum(bytes, 1500, ~0ull) == 0xffff);
	for (uint32_t payload = 20; payload < 1460; payload++) {
		round_trip(6, 16, payload, 0);
		round_trip(17, 6, payload, 4 * (payload % 10));
		round_trip(1, 2, payload, 0);
	}
	broken();
	return 0;
}
