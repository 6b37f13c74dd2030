/* SPDX-License-Identifier: BSD-2-Clause */
#include "checksum.h"
#include "../ethernet.h"

/* Where a frame's transport header is and what it needs. */
struct transport {
	uint32_t start;    /* offset in the frame; 0: the frame holds no sound IPv4 packet */
	uint32_t size;     /* bytes from there to the packet's end */
	uint32_t field;    /* offset of the checksum in the frame; 0: there is none to make */
	uint64_t pseudo;   /* sum of the pseudo header */
	uint8_t protocol;
};

static uint16_t load_raw16(const uint8_t *p)
{
	uint16_t value;

	__builtin_memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t load_raw64(const uint8_t *p)
{
	unsigned long long value;

	__builtin_memcpy(&value, p, sizeof(value));
	return value;
}

/* Both halves of a number, the carry of their sum with them, end in the upper one. */
static inline uint16_t fold(uint64_t sum)
{
	sum += sum << 32 | sum >> 32;
	const uint32_t half = (uint32_t)(sum >> 32), whole = half + (half << 16 | half >> 16);
	return (uint16_t)(whole >> 16);
}

/* The sum of 32 bytes and `sum`, with its end-around carry. */
static inline uint64_t add_four(const uint8_t *data, uint64_t start)
{
	unsigned long long sum = start;
	unsigned char carry = __builtin_ia32_addcarryx_u64(0, sum, load_raw64(data), &sum);

	carry = __builtin_ia32_addcarryx_u64(carry, sum, load_raw64(data + 8), &sum);
	carry = __builtin_ia32_addcarryx_u64(carry, sum, load_raw64(data + 16), &sum);
	carry = __builtin_ia32_addcarryx_u64(carry, sum, load_raw64(data + 24), &sum);
	return sum + carry; /* not all ones with a carry: that takes a carry into each step, and the first has none */
}

static inline __attribute__((always_inline)) uint16_t sum_of(const uint8_t *data, uint32_t size, uint64_t start)
{
	uint64_t sum = start;

	for (; size >= 32; size -= 32, data += 32)
		sum = add_four(data, sum);
	for (; size >= 8; size -= 8, data += 8) {
		const uint64_t word = load_raw64(data);

		sum += word;
		sum += sum < word; /* end-around carry */
	}
	if (size) {
		uint64_t word = 0; /* at most 7 bytes: nothing is lost where two of these lie in one place, for sums add up */

		if (size & 4) {
			word = load_raw32(data);
			data += 4;
		}
		if (size & 2) {
			word += load_raw16(data);
			data += 2;
		}
		if (size & 1)
			word += *data;
		sum += word;
		sum += sum < word;
	}
	return fold(sum);
}

uint16_t checksum_sum(const uint8_t *data, uint32_t size, uint64_t start) { return sum_of(data, size, start); }

/* Of an IPv4 header; nearly all have no options. Five numbers of 32 bits carry nothing out of 64. */
static inline uint16_t header_sum(const uint8_t *ip, uint32_t size)
{
	if (size != IP_HEADER)
		return checksum_sum(ip, size, 0);
	return fold((uint64_t)load_raw32(ip) + load_raw32(ip + 4) + load_raw32(ip + 8) + load_raw32(ip + 12) + load_raw32(ip + 16));
}

/* Of the addresses, the protocol, and the length of what the IPv4 packet carries. */
static inline uint64_t pseudo_sum(const uint8_t *frame, uint8_t protocol, uint32_t size)
{
	const uint8_t rest[4] = { 0, protocol, (uint8_t)(size >> 8), (uint8_t)size };

	return (uint64_t)load_raw32(frame + IP_FROM) + load_raw32(frame + IP_TO) + load_raw32(rest);
}

/* In line: its answer would go through memory. */
static inline __attribute__((always_inline)) struct transport transport_of(const uint8_t *frame, uint32_t length)
{
	static const struct { uint8_t offset, least; } protocols[256] = {
		[PROTOCOL_ICMP] = { 2, 8 }, [PROTOCOL_TCP] = { 16, 20 }, [PROTOCOL_UDP] = { 6, 8 },
	};
	struct transport t = { 0 };
	uint32_t version, header, total;

	if (length < IP + IP_HEADER || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4)
		return t;
	version = loaded_once(frame[IP]);
	header = (version & 15) * 4u;
	total = loaded_once(load_be16(frame + IP_LENGTH));
	if (version >> 4 != 4 || header < IP_HEADER || total < header || total > length - IP)
		return t;
	t.start = IP + header;
	t.size = total - header;
	t.protocol = (uint8_t)loaded_once(frame[IP_PROTOCOL]);
	if (protocols[t.protocol].offset && t.size >= protocols[t.protocol].least &&
	    !(load_be16(frame + IP_FRAGMENT) & IP_FRAGMENT_BITS)) /* a fragment has only part of what its sum covers */
		t.field = t.start + protocols[t.protocol].offset;
	if (t.protocol != PROTOCOL_ICMP)
		t.pseudo = pseudo_sum(frame, t.protocol, t.size);
	return t;
}

static void store_raw16(uint8_t *p, uint16_t value) { __builtin_memcpy(p, &value, sizeof(value)); }

/* Of an IPv4 header of `size` bytes. */
static void make_header_sum(uint8_t *frame, uint32_t size)
{
	store_raw16(frame + IP_CHECKSUM, 0);
	store_raw16(frame + IP_CHECKSUM, (uint16_t)~header_sum(frame + IP, size));
}

static void make_transport_sum(uint8_t *frame, const struct transport *t)
{
	uint16_t sum;

	store_raw16(frame + t->field, 0);
	sum = (uint16_t)~sum_of(frame + t->start, t->size, t->pseudo);
	if (t->protocol == PROTOCOL_UDP && !sum)
		sum = 0xffff; /* zero would mean that there is none (RFC 768) */
	store_raw16(frame + t->field, sum);
}

void checksum_make(uint8_t *frame, uint32_t length)
{
	struct transport t = transport_of(frame, length);

	if (!t.start)
		return;
	make_header_sum(frame, t.start - IP);
	if (t.field)
		make_transport_sum(frame, &t);
}

struct checksum_left checksum_prepare(uint8_t *frame, uint32_t length)
{
	struct transport t = transport_of(frame, length);

	if (!t.start)
		return (struct checksum_left){ 0 };
	make_header_sum(frame, t.start - IP);
	if (!t.field)
		return (struct checksum_left){ 0 };
	if (t.protocol == PROTOCOL_ICMP || t.start + t.size != length) { /* a NIC sums what pads the frame, too */
		make_transport_sum(frame, &t);
		return (struct checksum_left){ 0 };
	}
	store_raw16(frame + t.field, fold(t.pseudo));
	return (struct checksum_left){ .start = (uint16_t)t.start, .field = (uint16_t)(t.field - t.start) };
}

struct checksum_left checksum_prepare_segments(uint8_t *frame, uint32_t length)
{
	const uint16_t start = IP + IP_HEADER, field = 16;

	make_header_sum(frame, IP_HEADER);
	store_raw16(frame + start + field, fold(pseudo_sum(frame, PROTOCOL_TCP, length - start)));
	return (struct checksum_left){ .start = start, .field = field };
}

bool checksum_verify(const uint8_t *frame, uint32_t length, bool summed)
{
	struct transport t = transport_of(frame, length);

	if (!t.start) /* a broken IPv4 packet is as bad as one with a wrong sum */
		return length < ETHERTYPE_OFFSET + 2 || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4;
	if (header_sum(frame + IP, t.start - IP) != 0xffff)
		return false;
	if (!t.field || (summed && t.protocol != PROTOCOL_ICMP) ||
	    (t.protocol == PROTOCOL_UDP && !(frame[t.field] | frame[t.field + 1])))
		return true;
	return sum_of(frame + t.start, t.size, t.pseudo) == 0xffff;
}
