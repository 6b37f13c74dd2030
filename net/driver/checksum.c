/* SPDX-License-Identifier: BSD-2-Clause */
#include "../ethernet.h"
#include "checksum.h"

enum { PLAIN_IP = 0x45 /* version 4, no options */, TCP_HEADER = 20, TCP_SUM = 16 /* offset in it */ };

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

/* Both halves of a number, the carry of their sum with them, end in the upper one. */
static inline uint16_t checksum_fold(uint64_t sum)
{
	sum += sum << 32 | sum >> 32;
	const uint32_t half = (uint32_t)(sum >> 32), whole = half + (half << 16 | half >> 16);
	return (uint16_t)(whole >> 16);
}

typedef uint64_t unaligned __attribute__((aligned(1), may_alias));

/* The sum of so many words and `sum`, with its end-around carry: not all ones with a carry, that takes one into each
 * step. */
static inline uint64_t add_four(const unaligned *word, uint64_t sum)
{
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq %3, %0\n\tadcq %4, %0\n\tadcq $0, %0"
		: "+&r"(sum)
		: "m"(word[0]), "m"(word[1]), "m"(word[2]), "m"(word[3])
		: "cc");
	return sum;
}

static inline uint64_t add_two(const unaligned *word, uint64_t sum)
{
	__asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq $0, %0" : "+&r"(sum) : "m"(word[0]), "m"(word[1]) : "cc");
	return sum;
}

static inline uint64_t add_one(uint64_t word, uint64_t sum)
{
	sum += word;
	return sum + (sum < word);
}

static inline __attribute__((always_inline)) uint16_t sum_of(const uint8_t *data, uint32_t size, uint64_t start)
{
	/* of at most 7 bytes: nothing is lost where two of these lie in one place, for sums add up */
	uint64_t sum = start, word = 0;

	for (; size >= 32; size -= 32, data += 32)
		sum = add_four((const unaligned *)data, sum);
	if (size & 16) {
		sum = add_two((const unaligned *)data, sum);
		data += 16;
	}
	if (size & 8) {
		sum = add_one(*(const unaligned *)data, sum);
		data += 8;
	}
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
	return checksum_fold(add_one(word, sum));
}

uint16_t checksum_sum(const uint8_t *data, uint32_t size, uint64_t start) { return sum_of(data, size, start); }

/* Returns the sum of an IPv4 header; nearly all have no options. Five numbers of 32 bits carry nothing out of 64. */
static inline uint16_t header_sum(const uint8_t *ip, uint32_t size)
{
	if (size != IP_HEADER)
		return checksum_sum(ip, size, 0);
	return checksum_fold((uint64_t)load_raw32(ip) + load_raw32(ip + 4) + load_raw32(ip + 8) + load_raw32(ip + 12) +
	                     load_raw32(ip + 16));
}

/* Returns the sum of the addresses, the protocol, and the length of the IPv4 packet's payload. */
static inline uint64_t pseudo_sum(const uint8_t *frame, uint8_t protocol, uint32_t size)
{
	/* 0, protocol, size */
	const uint32_t rest = (uint32_t)protocol << 8 | (uint32_t)__builtin_bswap16((uint16_t)size) << 16;

	return (uint64_t)load_raw32(frame + IP_FROM) + load_raw32(frame + IP_TO) + rest;
}

/* Nearly all frames: TCP in a whole IPv4 packet without options. Its transport is known then, but for its size; 0:
 * another frame. */
static inline uint32_t plain_tcp(const uint8_t *frame, uint32_t length)
{
	uint32_t total;

	if (length < IP + IP_HEADER + TCP_HEADER || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4 ||
	    frame[IP] != PLAIN_IP || frame[IP_PROTOCOL] != PROTOCOL_TCP ||
	    load_be16(frame + IP_FRAGMENT) & IP_FRAGMENT_BITS)
		return 0;
	total = loaded_once(load_be16(frame + IP_LENGTH));
	return total >= IP_HEADER + TCP_HEADER && total <= length - IP ? total - IP_HEADER : 0;
}

static inline struct transport transport_of_plain_tcp(const uint8_t *frame, uint32_t size)
{
	return (struct transport){ .start = IP + IP_HEADER, .size = size, .field = IP + IP_HEADER + TCP_SUM,
				   .pseudo = pseudo_sum(frame, PROTOCOL_TCP, size), .protocol = PROTOCOL_TCP };
}

#define UNUSUAL __attribute__((noinline)) /* the code for plain frames, around the call, needs fewer registers then */

/* Returns the transport protocol's part of any frame. */
static struct transport transport_of(const uint8_t *frame, uint32_t length)
{
	static const struct { uint8_t offset, least; } protocols[256] = {
		[PROTOCOL_ICMP] = { 2, 8 }, [PROTOCOL_TCP] = { TCP_SUM, TCP_HEADER }, [PROTOCOL_UDP] = { 6, 8 },
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

/* Writes the sum of an IPv4 header of `size` bytes. */
static inline void make_header_sum(uint8_t *frame, uint32_t size)
{
	store_raw16(frame + IP_CHECKSUM, 0);
	store_raw16(frame + IP_CHECKSUM, (uint16_t)~header_sum(frame + IP, size));
}

static inline void make_transport_sum(uint8_t *frame, const struct transport *t)
{
	uint16_t sum;

	store_raw16(frame + t->field, 0);
	sum = (uint16_t)~sum_of(frame + t->start, t->size, t->pseudo);
	if (t->protocol == PROTOCOL_UDP && !sum)
		sum = 0xffff; /* zero would mean that there is none (RFC 768) */
	store_raw16(frame + t->field, sum);
}

/* In line, with what is known of the transport. */
static inline __attribute__((always_inline)) void transport_make(uint8_t *frame, const struct transport *t)
{
	make_header_sum(frame, t->start - IP);
	if (t->field)
		make_transport_sum(frame, t);
}

static UNUSUAL void make_of_any(uint8_t *frame, uint32_t length)
{
	const struct transport t = transport_of(frame, length);

	if (t.start)
		transport_make(frame, &t);
}

void checksum_make(uint8_t *frame, uint32_t length)
{
	const uint32_t size = plain_tcp(frame, length);

	if (size) {
		const struct transport t = transport_of_plain_tcp(frame, size);

		transport_make(frame, &t);
	} else {
		make_of_any(frame, length);
	}
}

static inline __attribute__((always_inline)) struct checksum_left transport_prepare(uint8_t *frame, uint32_t length,
	const struct transport *t)
{
	make_header_sum(frame, t->start - IP);
	if (!t->field)
		return (struct checksum_left){ 0 };
	if (t->protocol == PROTOCOL_ICMP || t->start + t->size != length) { /* a NIC sums what pads the frame, too */
		make_transport_sum(frame, t);
		return (struct checksum_left){ 0 };
	}
	store_raw16(frame + t->field, checksum_fold(t->pseudo));
	return (struct checksum_left){ .start = (uint16_t)t->start, .field = (uint16_t)(t->field - t->start) };
}

static UNUSUAL struct checksum_left prepare_any(uint8_t *frame, uint32_t length)
{
	const struct transport t = transport_of(frame, length);

	return t.start ? transport_prepare(frame, length, &t) : (struct checksum_left){ 0 };
}

struct checksum_left checksum_prepare(uint8_t *frame, uint32_t length)
{
	const uint32_t size = plain_tcp(frame, length);

	if (size) {
		const struct transport t = transport_of_plain_tcp(frame, size);

		return transport_prepare(frame, length, &t);
	}
	return prepare_any(frame, length);
}

struct checksum_left checksum_prepare_segments(uint8_t *frame, uint32_t length)
{
	const uint16_t start = IP + IP_HEADER;

	make_header_sum(frame, IP_HEADER);
	store_raw16(frame + start + TCP_SUM, checksum_fold(pseudo_sum(frame, PROTOCOL_TCP, length - start)));
	return (struct checksum_left){ .start = start, .field = TCP_SUM };
}

static inline __attribute__((always_inline)) bool
transport_verify(const uint8_t *frame, const struct transport *t, bool summed)
{
	if (header_sum(frame + IP, t->start - IP) != 0xffff)
		return false;
	if (!t->field || (summed && t->protocol != PROTOCOL_ICMP) ||
	    (t->protocol == PROTOCOL_UDP && !(frame[t->field] | frame[t->field + 1])))
		return true;
	return sum_of(frame + t->start, t->size, t->pseudo) == 0xffff;
}

static UNUSUAL bool verify_any(const uint8_t *frame, uint32_t length, bool summed)
{
	const struct transport t = transport_of(frame, length);

	if (!t.start) /* a broken IPv4 packet is as bad as one with a wrong sum */
		return length < ETHERTYPE_OFFSET + 2 || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_IPV4;
	return transport_verify(frame, &t, summed);
}

bool checksum_verify(const uint8_t *frame, uint32_t length, bool summed)
{
	const uint32_t size = plain_tcp(frame, length);

	if (size) {
		const struct transport t = transport_of_plain_tcp(frame, size);

		return transport_verify(frame, &t, summed);
	}
	return verify_any(frame, length, summed);
}
