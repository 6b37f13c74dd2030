/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's checksums: against a slow model of RFC 1071, on every size and alignment, and with bits flipped. */
#include <stdbool.h>
#include <string.h>
#include "../driver/checksum.h"
#include "../ethernet.h"
#include "test.h"

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

/* Where a transport's sum is, and how long its header is at least; 0: there is none. */
static uint32_t field_of(uint8_t protocol) { return protocol == 6 ? 16 : protocol == 17 ? 6 : protocol == 1 ? 2 : 0; }
static uint32_t least_of(uint8_t protocol) { return protocol == 6 ? 20 : 8; }

/* The size of the packet's header, or 0 where the frame holds no sound IPv4 packet. */
static uint32_t header_of(const uint8_t *frame, uint32_t length)
{
	uint32_t header, total;

	if (length < 34 || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 || frame[14] >> 4 != 4)
		return 0;
	header = (frame[14] & 15) * 4u;
	total = load_be16(frame + 16);
	return header >= 20 && total >= header && total <= length - 14 ? header : 0;
}

/* Returns whether the frame holds a whole transport with a sum. */
static bool has_sum(const uint8_t *frame, uint32_t header)
{
	return field_of(frame[23]) && load_be16(frame + 16) - header >= least_of(frame[23]) &&
	       !(load_be16(frame + 20) & 0x3fff);
}

static uint16_t transport_sum(const uint8_t *frame, uint32_t header)
{
	uint32_t size = load_be16(frame + 16) - header;

	return model(frame + 14 + header, size, frame[23] == 1 ? 0 : model(frame + 26, 8, frame[23] + size));
}

/* checksum_make() as RFC 791, 793, 768 and 792 have it. */
static void model_make(uint8_t *frame, uint32_t length)
{
	uint32_t header = header_of(frame, length);
	uint8_t *field = frame + 14 + header + field_of(frame[23]);
	uint16_t sum;

	if (!header)
		return;
	store_be16(frame + 24, 0);
	store_be16(frame + 24, (uint16_t)~model(frame + 14, header, 0));
	if (!has_sum(frame, header))
		return;
	store_be16(field, 0);
	sum = (uint16_t)~transport_sum(frame, header);
	store_be16(field, frame[23] == 17 && !sum ? 0xffff : sum);
}

static bool model_verify(const uint8_t *frame, uint32_t length)
{
	uint32_t header = header_of(frame, length);

	if (!header)
		return length < 14 || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4;
	if (model(frame + 14, header, 0) != 0xffff)
		return false;
	return !has_sum(frame, header) || (frame[23] == 17 && !load_be16(frame + 14 + header + 6)) ||
	       transport_sum(frame, header) == 0xffff;
}

/* Draws a frame of any sort: options, fragments, lengths that are just long enough or not, and any where nothing
 * fits. */
static uint32_t draw(uint8_t frame[256])
{
	uint32_t n = (uint32_t)rand() % 100, options = rand() % 4 ? 0 : 4 * ((uint32_t)rand() % 11);
	uint32_t total = rand() % 4 ? n - 14 : (uint32_t)rand() % 100;

	make_frame(frame, (uint8_t[]){ 6, 6, 17, 1, 99 }[rand() % 5], 100, options);
	store_be16(frame + 16, (uint16_t)total);
	if (rand() % 4 == 0)
		store_be16(frame + 20, (uint16_t)rand());
	if (rand() % 16 == 0)
		frame[14] = (uint8_t)rand();
	if (rand() % 16 == 0)
		frame[ETHERTYPE_OFFSET + rand() % 2] ^= 1;
	return n;
}

static void like_the_model(void)
{
	uint8_t frame[256], copy[256];

	for (int i = 0; i < 400000; i++) {
		uint32_t n = draw(frame);

		memcpy(copy, frame, sizeof(copy));
		checksum_make(frame, n);
		model_make(copy, n);
		CHECK(!memcmp(frame, copy, sizeof(frame)));
		CHECK(checksum_verify(frame, n, false) == model_verify(frame, n));
		frame[rand() % sizeof(frame)] ^= (uint8_t)(1 << rand() % 8);
		CHECK(checksum_verify(frame, n, false) == model_verify(frame, n));
	}
}

/* A card sums all bytes from `start` on: with what is left to it the frame becomes what checksum_make() makes. */
static void prepared(void)
{
	uint8_t frame[256], copy[256];
	unsigned left_to_cards = 0;

	for (int i = 0; i < 100000; i++) {
		uint32_t n = draw(frame);
		struct checksum_left left;

		memcpy(copy, frame, sizeof(copy));
		checksum_make(frame, n);
		left = checksum_prepare(copy, n);
		if (left.start) {
			CHECK(copy[23] == 6 || copy[23] == 17);
			CHECK(left.start < n && left.field == field_of(copy[23]));
			uint16_t sum = (uint16_t)~model(copy + left.start, n - left.start, 0);

			store_be16(copy + left.start + left.field, copy[23] == 17 && !sum ? 0xffff : sum);
			left_to_cards++;
		}
		CHECK(!memcmp(frame, copy, sizeof(frame)));
	}
	CHECK(left_to_cards > 10000);
	for (uint32_t length = 54; length < 0x10000; length += 997) { /* of several segments */
		struct checksum_left left;

		make_frame(frame, 6, 20, 0);
		left = checksum_prepare_segments(frame, length);
		CHECK(left.start == 34 && left.field == 16 && model(frame + 14, 20, 0) == 0xffff);
		CHECK(load_be16(frame + 50) == model(frame + 26, 8, 6 + length - 34));
	}
}

/* A sum of 0 is written as it is, but for UDP, where 0 says that there is none. */
static void sums_of_zero(void)
{
	static const uint8_t protocols[] = { 1, 6, 17 };
	uint8_t frame[256];

	for (unsigned i = 0; i < 3; i++)
		for (uint32_t payload = 20; payload < 60; payload++) {
			uint8_t *field = frame + 34 + field_of(protocols[i]);
			uint32_t length = make_frame(frame, protocols[i], payload, 0);

			store_be16(field, 0);
			store_be16(frame + 34, 0);
			store_be16(frame + 34, (uint16_t)~transport_sum(frame, 20));
			checksum_make(frame, length);
			CHECK(load_be16(field) == (protocols[i] == 17 ? 0xffff : 0) &&
			      checksum_verify(frame, length, false));
		}
}

/* UDP may come without a sum, nothing else may; what leaves has one. */
static void without_a_sum(void)
{
	uint8_t frame[256];

	for (unsigned i = 0; i < 2; i++) {
		const uint8_t protocol = i ? 6 : 17;
		uint32_t length = make_frame(frame, protocol, 40, 0), field = 34 + field_of(protocol);

		checksum_make(frame, length);
		for (uint16_t sum = 0; sum < 0x1000; sum++) {
			store_be16(frame + field, (uint16_t)(sum << 8 | sum >> 8));
			CHECK(checksum_verify(frame, length, false) == model_verify(frame, length));
		}
		store_be16(frame + field, 0);
		CHECK(checksum_verify(frame, length, false) == !i);
		checksum_make(frame, length);
		CHECK(load_be16(frame + field) && checksum_verify(frame, length, false));
	}
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
	/* where the NIC answers for the sum of TCP or UDP, the header's is checked and nothing else; ICMP's is nobody's
	 * but ours */
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
	prepared();
	sums_of_zero();
	without_a_sum();
	for (uint32_t payload = 20; payload < 1460; payload++) {
		round_trip(6, 16, payload, 0);
		round_trip(17, 6, payload, 4 * (payload % 10));
		round_trip(1, 2, payload, 0);
	}
	broken();
	like_the_model();
	return 0;
}
