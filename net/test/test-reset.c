/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers for a port whose program has ended, byte by byte; RFC 9293, 3.5.2. */
#include <string.h>
#include "../ethernet.h"
#include "../switch/switch.h"
#include "test.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, TCP = 34, MAX = 1514 };

static const uint8_t dead_mac[6] = { 2, 0, 0, 0, 0, 9 }, peer_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t dead_ip[4] = { 10, 0, 2, 101 }, peer_ip[4] = { 10, 0, 2, 2 };
static uint8_t frame[MAX], answer[RESET_FRAME];
static struct reset_port port;

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A segment of the peer for the dead port, or the other way. */
static uint32_t segment(int to_dead, uint8_t flags, uint32_t data, unsigned ip_options, unsigned tcp_options)
{
	uint32_t ip = 20 + ip_options, tcp = 20 + tcp_options;
	uint8_t *t = frame + 14 + ip;

	memset(frame, 0, sizeof(frame));
	memcpy(frame, to_dead ? dead_mac : peer_mac, 6);
	memcpy(frame + 6, to_dead ? peer_mac : dead_mac, 6);
	frame[12] = 8;
	frame[14] = (uint8_t)(0x40 | ip / 4);
	store_be16(frame + 16, (uint16_t)(ip + tcp + data));
	frame[23] = 6;
	memcpy(frame + 26, to_dead ? peer_ip : dead_ip, 4);
	memcpy(frame + 30, to_dead ? dead_ip : peer_ip, 4);
	store_be16(t, to_dead ? 50000 : 6379);
	store_be16(t + 2, to_dead ? 6379 : 50000);
	memcpy(t + 4, "\xff\xff\xff\xf0", 4);
	memcpy(t + 8, "\x12\x34\x56\x78", 4);
	t[12] = (uint8_t)(tcp / 4 << 4);
	t[13] = flags;
	return 14 + ip + tcp + data;
}

static void check_reset(uint32_t length, uint32_t seq, uint32_t ack, uint8_t flags)
{
	CHECK(length == RESET_FRAME);
	CHECK(!memcmp(answer, peer_mac, 6) && !memcmp(answer + 6, dead_mac, 6) && answer[12] == 8 && !answer[13]);
	CHECK(answer[14] == 0x45 && answer[17] == 40 && !answer[16] && answer[23] == 6 && answer[22]);
	CHECK(!memcmp(answer + 26, dead_ip, 4) && !memcmp(answer + 30, peer_ip, 4));
	CHECK(load_be16(answer + TCP) == 6379 && load_be16(answer + TCP + 2) == 50000);
	CHECK(be32(answer + TCP + 4) == seq && be32(answer + TCP + 8) == ack);
	CHECK(answer[TCP + 12] == 0x50 && answer[TCP + 13] == flags);
}

static uint32_t answered(uint32_t length)
{
	memset(answer, 0xee, sizeof(answer));
	return reset_answer(&port, frame, length, answer);
}

static void segments(void)
{
	check_reset(answered(segment(1, SYN, 0, 0, 20)), 0, 0xfffffff1, RST | ACK);
	check_reset(answered(segment(1, 0, 20, 40, 40)), 0, 4, RST | ACK); /* modulo 2^32 */
	check_reset(answered(segment(1, FIN, 20, 0, 0)), 0, 5, RST | ACK);
	check_reset(answered(segment(1, ACK, 0, 0, 12)), 0x12345678, 0, RST);
	check_reset(answered(segment(1, ACK | PSH, 1400, 0, 12)), 0x12345678, 0, RST);
	check_reset(answered(segment(1, SYN | ACK, 0, 0, 0)), 0x12345678, 0, RST);
	check_reset(answered(segment(1, ACK, 0, 0, 0) + 6), 0x12345678, 0, RST); /* Ethernet's padding is no data */
	CHECK(!answered(segment(1, RST, 0, 0, 0)) && !answered(segment(1, RST | ACK, 0, 0, 0)));
	CHECK(!answered(segment(0, ACK, 0, 0, 0))); /* to somebody else */
}

static void nonsense(void)
{
	uint32_t length = segment(1, ACK, 10, 4, 4);

	for (uint32_t cut = 0; cut < length; cut++) /* none is read beyond its end: AddressSanitizer */
		CHECK(!answered(cut));
	CHECK(answered(length));
	for (unsigned i = 0; i < length; i++) /* every byte, wrong in every bit: nothing but a reset or nothing */
		for (unsigned bit = 0; bit < 8; bit++) {
			uint32_t got;

			frame[i] ^= (uint8_t)(1 << bit);
			got = answered(length);
			CHECK(!got || (got == RESET_FRAME && answer[TCP + 13] & RST));
			frame[i] ^= (uint8_t)(1 << bit);
		}
	frame[20] = 0x20;
	CHECK(!answered(length)); /* a fragment */
	frame[20] = 0;
	frame[26] = 255;
	CHECK(!answered(length)); /* from all */
	memcpy(frame + 26, dead_ip, 4);
	CHECK(!answered(length)); /* from itself */
}

static void sent(void)
{
	check_reset(reset_after_sent(&port, frame, segment(0, ACK | PSH, 100, 0, 0), answer), 0x54, 0x12345678,
	            RST | ACK);
	check_reset(reset_after_sent(&port, frame, segment(0, SYN, 0, 0, 4), answer), 0xfffffff1, 0, RST);
	CHECK(!reset_after_sent(&port, frame, segment(0, RST, 0, 0, 0), answer));
	CHECK(!reset_after_sent(&port, frame, segment(1, ACK, 0, 0, 0), answer));
}

static void connections(void)
{
	uint8_t other[RESET_FRAME];

	CHECK(reset_answer(&port, frame, segment(1, ACK, 0, 0, 0), other));
	CHECK(reset_after_sent(&port, frame, segment(0, ACK, 100, 0, 0), answer) && reset_same(answer, other));
	segment(1, ACK, 0, 0, 0);
	frame[35] ^= 1;
	CHECK(reset_answer(&port, frame, 54, other) && !reset_same(answer, other));
	segment(1, ACK, 0, 0, 0);
	frame[29] ^= 1;
	CHECK(reset_answer(&port, frame, 54, other) && !reset_same(answer, other));
}

static void arp(void)
{
	static const uint8_t request[] = { 0, 1, 8, 0, 6, 4, 0, 1 };

	memset(frame, 0, sizeof(frame));
	memset(frame, 0xff, 6);
	memcpy(frame + 6, peer_mac, 6);
	frame[12] = 8;
	frame[13] = 6;
	memcpy(frame + 14, request, sizeof(request));
	memcpy(frame + 22, peer_mac, 6);
	memcpy(frame + 28, peer_ip, 4);
	memcpy(frame + 38, dead_ip, 4);
	CHECK(!answered(ARP_FRAME - 1) && answered(60) == ARP_FRAME && answered(ARP_FRAME) == ARP_FRAME);
	CHECK(!memcmp(answer, peer_mac, 6) && !memcmp(answer + 6, dead_mac, 6) && answer[21] == 2);
	CHECK(!memcmp(answer + 22, dead_mac, 6) && !memcmp(answer + 28, dead_ip, 4));
	CHECK(!memcmp(answer + 32, peer_mac, 6) && !memcmp(answer + 38, peer_ip, 4));
	frame[21] = 2; /* a reply */
	CHECK(!answered(ARP_FRAME));
	frame[21] = 1;
	frame[41] ^= 1; /* for another address */
	CHECK(!answered(ARP_FRAME));
}

int main(void)
{
	port.mac = mac_number(dead_mac);
	port.ipv4 = load_raw32(dead_ip);
	segments();
	nonsense();
	sent();
	connections();
	arp();
	puts("passed");
	return 0;
}
