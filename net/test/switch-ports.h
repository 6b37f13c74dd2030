/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch of four ports, of which the tests are the stacks. Time passes when a test says so. */
#pragma once

#include <string.h>
#include <sys/mman.h>
#include "../ethernet.h"
#include "../switch/switch.h"
#include "meet.h"
#include "test.h"

enum { PORTS = 4, UPLINK = 0, TIMEOUT = 1000000000 };

static struct forward forward;
static struct process_port table[PORTS];
static char *memory;
static struct port_end stack[PORTS];
static unsigned wakes[PORTS];
static uint64_t now = 1;

static inline void count_wake(void *context, unsigned port)
{
	(void)context;
	wakes[port]++;
}

static inline void set_up(void)
{
	if (memory)
		munmap(memory, PORTS * PORT_SIZE);
	memory = mmap(NULL, PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (unsigned i = 0; i < PORTS; i++) {
		table[i] = (struct process_port){ .mac = { 2, 0x53, 0x4b, 0, 0, (uint8_t)i }, .uplink = i == UPLINK };
		table[i].ipv4 = i == UPLINK ? 0 : 0x0a00000a + (i << 24);
		stack[i] = port_open(memory + i * PORT_SIZE, PORT_TO_SWITCH, 2);
	}
	forward_init(&forward, table, PORTS, memory, TIMEOUT, 2);
	forward_meet(&forward, stack, PORTS, now);
	forward_signal(&forward, count_wake, NULL);
	memset(wakes, 0, sizeof(wakes));
}

/* `mark` is written behind the header, to tell frames apart. */
static inline bool send_to(unsigned from, const uint8_t *mac, uint64_t mark, uint32_t length)
{
	uint8_t *frame = port_reserve(&stack[from]);

	if (!frame)
		return false;
	memcpy(frame, mac, 6);
	memcpy(frame + 6, table[from].mac, 6);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	memcpy(frame + 14, &mark, 8);
	for (uint32_t i = 22; i < length; i++)
		frame[i] = (uint8_t)(mark * 31 + i);
	port_publish(&stack[from], length);
	return true;
}

/* The next frame's mark; -1 without one, -2 for one that is not as it was sent. */
static inline int64_t take(unsigned at, uint32_t *length)
{
	uint32_t size;
	uint8_t *frame = port_peek(&stack[at], &size);
	int64_t mark;

	if (!frame)
		return -1;
	memcpy(&mark, frame + 14, 8);
	for (uint32_t i = 22; i < size; i++)
		if (frame[i] != (uint8_t)((uint64_t)mark * 31 + i))
			mark = -2;
	if (length)
		*length = size;
	port_release(&stack[at]);
	return mark;
}

/* As main() of the switch. */
static inline void pass_until_quiet(void)
{
	do
		while (forward_pass(&forward, now))
			;
	while (forward_last_pass(&forward, now));
}

static inline void send_arp(unsigned from, uint32_t target, uint16_t operation)
{
	uint8_t *frame = port_reserve(&stack[from]);

	CHECK(frame);
	memset(frame, 0, ARP_FRAME);
	memset(frame, 0xff, 6);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_ARP);
	store_be16(frame + ARP_OPERATION_OFFSET, operation);
	memcpy(frame + ARP_TARGET_IP_OFFSET, &target, 4);
	port_publish(&stack[from], ARP_FRAME);
}

/* As its cluster-manager does it when a port's program has ended. */
static inline void end(unsigned port)
{
	port_close((struct port_epochs *)(memory + port * PORT_SIZE + PORT_EPOCHS), PORT_TO_SWITCH);
}

/* A whole TCP segment; `data` bytes follow it. */
static inline void send_segment(unsigned from, unsigned to, uint16_t from_port, uint16_t to_port, uint32_t seq,
                                uint32_t ack,
				uint8_t flags, uint16_t data)
{
	uint8_t *frame = port_reserve(&stack[from]);

	CHECK(frame);
	memset(frame, 0, 54);
	memcpy(frame, table[to].mac, 6);
	memcpy(frame + 6, table[from].mac, 6);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	frame[14] = 0x45;
	store_be16(frame + 16, (uint16_t)(40 + data));
	frame[23] = 6;
	memcpy(frame + 26, &table[from].ipv4, 4);
	memcpy(frame + 30, &table[to].ipv4, 4);
	store_be16(frame + 34, from_port);
	store_be16(frame + 36, to_port);
	seq = __builtin_bswap32(seq);
	ack = __builtin_bswap32(ack);
	memcpy(frame + 38, &seq, 4);
	memcpy(frame + 42, &ack, 4);
	frame[46] = 0x50;
	frame[47] = flags;
	port_publish(&stack[from], 54u + data);
}

static inline unsigned received_anything(void)
{
	unsigned who = 0;
	uint32_t length;

	for (unsigned i = 0; i < PORTS; i++)
		while (port_peek(&stack[i], &length)) {
			port_release(&stack[i]);
			who |= 1u << i;
		}
	return who;
}

static inline void received_anything_at(unsigned at)
{
	uint32_t length;

	while (port_peek(&stack[at], &length))
		port_release(&stack[at]);
}

/* The next frame is a reset from port 6379 of stack `from` with this number. */
static inline void take_reset(unsigned at, unsigned from, uint16_t to_port, uint32_t seq)
{
	uint32_t length;
	uint8_t *frame = port_peek(&stack[at], &length);

	CHECK(frame && length == 54 && !memcmp(frame + 26, &table[from].ipv4, 4) && frame[47] & 4);
	CHECK(load_be16(frame + 34) == 6379 && load_be16(frame + 36) == to_port);
	CHECK(load_raw32(frame + 38) == __builtin_bswap32(seq));
	port_release(&stack[at]);
}
