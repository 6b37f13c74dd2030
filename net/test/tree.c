/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../ethernet.h"
#include "test.h"
#include "tree.h"

struct forward root, lower[LOWERS];
static char *root_memory, *lower_memory[LOWERS];
struct port_end station[STATIONS];
bool stopped[LOWERS];
uint64_t now = 1;

void address(unsigned who, uint8_t mac[6], uint32_t *ipv4)
{
	memcpy(mac, (const uint8_t[6]){ 2, 0x53, 0x4b, 0, 0, (uint8_t)who }, 6);
	*ipv4 = 0x0000000a | who << 24;
}

static struct process_port port_of(unsigned who)
{
	struct process_port port = { 0 };

	address(who, port.mac, &port.ipv4);
	return port;
}

struct process_route route_to(unsigned who, uint16_t port)
{
	struct process_route route = { .port = port };

	address(who, route.mac, &route.ipv4);
	return route;
}

static void *map_port(void *at, int file, unsigned number)
{
	void *memory = mmap(at, PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file,
	                    (off_t)number * PORT_SIZE);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* The last port of a lower switch is the memory of its port at the root. */
void set_up(void)
{
	const struct process_port of_root[ROOT_PORTS] = { { .uplink = 1 }, port_of(A), { .lower = 1 },
	                                                  { .lower = 1, .remote = 1 } };
	const struct process_route routes[] = { route_to(B, 2), route_to(C, 2), route_to(D, 3), route_to(E, 3) };
	int file = memfd_create("ports", 0);

	CHECK(file >= 0 && !ftruncate(file, (ROOT_PORTS + LOWERS * LOWER_PORTS) * PORT_SIZE));
	root_memory = mmap(NULL, ROOT_PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(root_memory != MAP_FAILED);
	forward_init(&root, of_root, ROOT_PORTS, root_memory, TIMEOUT, 2);
	forward_routes(&root, routes, 4);
	station[OUTSIDE] = port_open(root_memory, PORT_TO_SWITCH, 2);
	station[A] = port_open(root_memory + PORT_SIZE, PORT_TO_SWITCH, 2);
	for (unsigned i = 0; i < LOWERS; i++) {
		const struct process_port ports[LOWER_PORTS] = { port_of(B + 2 * i), port_of(C + 2 * i),
		                                                 { .upper = 1 } };

		lower_memory[i] = mmap(NULL, LOWER_PORTS * PORT_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (unsigned k = 0; k < LOWER_PORTS; k++)
			map_port(lower_memory[i] + k * PORT_SIZE, file,
			         k == UPPER ? 2 + i : ROOT_PORTS + LOWER_PORTS * i + k);
		forward_init(&lower[i], ports, LOWER_PORTS, lower_memory[i], TIMEOUT, 2);
		station[B + 2 * i] = port_open(lower_memory[i], PORT_TO_SWITCH, 2);
		station[C + 2 * i] = port_open(lower_memory[i] + PORT_SIZE, PORT_TO_SWITCH, 2);
		stopped[i] = false;
	}
	close(file);
	for (unsigned turn = 0; turn < 3; turn++) {
		run();
		for (unsigned i = 0; i < STATIONS; i++)
			port_poll(&station[i]);
	}
	for (unsigned i = 0; i < STATIONS; i++)
		CHECK(station[i].up);
}

void tear_down(void)
{
	munmap(root_memory, ROOT_PORTS * PORT_SIZE);
	for (unsigned i = 0; i < LOWERS; i++)
		munmap(lower_memory[i], LOWER_PORTS * PORT_SIZE);
}

static bool pass(void)
{
	bool moved = forward_pass(&root, now);

	for (unsigned i = 0; i < LOWERS; i++)
		moved |= !stopped[i] && forward_pass(&lower[i], now);
	return moved;
}

static bool last_pass(void)
{
	bool moved = forward_last_pass(&root, now);

	for (unsigned i = 0; i < LOWERS; i++)
		moved |= !stopped[i] && forward_last_pass(&lower[i], now);
	return moved;
}

void run(void)
{
	unsigned passes = 0;

	do
		while (pass())
			CHECK(++passes < 10000);
	while (last_pass());
}

bool send_frame(unsigned from, const uint8_t *frame, uint32_t length)
{
	void *buffer = port_reserve(&station[from]);

	if (!buffer)
		return false;
	memcpy(buffer, frame, length);
	port_publish(&station[from], length);
	return true;
}

bool send_mac(unsigned from, const uint8_t *to, uint32_t mark)
{
	uint8_t frame[60] = { 0 };
	uint32_t ipv4;

	memcpy(frame, to, 6);
	address(from, frame + 6, &ipv4);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	memcpy(frame + 40, &mark, 4);
	return send_frame(from, frame, sizeof(frame));
}

bool send_to(unsigned from, unsigned to, uint32_t mark)
{
	uint8_t mac[6];
	uint32_t ipv4;

	address(to, mac, &ipv4);
	return send_mac(from, mac, mark);
}

void ask(unsigned from, uint32_t target, bool announce)
{
	uint8_t frame[ARP_FRAME] = { 0 };
	uint32_t ipv4;

	memset(frame, 0xff, 6);
	address(from, frame + 6, &ipv4);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_ARP);
	memcpy(frame + 14, (const uint8_t[]){ 0, 1, 8, 0, 6, 4 }, 6);
	store_be16(frame + ARP_OPERATION_OFFSET, ARP_REQUEST);
	memcpy(frame + 22, frame + 6, 6);
	memcpy(frame + 28, &ipv4, 4);
	memcpy(frame + ARP_TARGET_IP_OFFSET, announce ? &ipv4 : &target, 4);
	CHECK(send_frame(from, frame, sizeof(frame)));
}

int64_t take(unsigned at)
{
	uint32_t length, mark;
	uint8_t *frame = port_peek(&station[at], &length);

	if (!frame)
		return -1;
	memcpy(&mark, frame + 40, 4);
	port_release(&station[at]);
	return mark;
}

unsigned waiting(unsigned at)
{
	unsigned count = 0;

	while (take(at) >= 0)
		count++;
	return count;
}

void check_at(unsigned set)
{
	run();
	for (unsigned i = 0; i < STATIONS; i++)
		CHECK(waiting(i) == (set >> i & 1));
}
