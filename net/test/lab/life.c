/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lwip/etharp.h>
#include <lwip/priv/tcp_priv.h>
#include "../../lwip/interface.h"
#include "../../lwip/link.h"
#include "../../lwip/memory.h"
#include "../../machine.h"
#include "../../stack/serve.h"
#include "lab.h"

extern struct life_calls life_calls;

/* In front of each block of layer_allocate(). */
struct block {
	struct block *next, **link;
	size_t size, unused;
};
_Static_assert(sizeof(struct block) % 16 == 0, "alignment");

void (*before_look)(void); /* looks.h */

static struct life_host *host;
static struct block *all;
static size_t allocated;
static long blocks;
static unsigned long lent;
static struct link *link_of[1 + PROCESS_MAX_CABLES];
static unsigned links, asked;

/* --- what the linker puts in the place of functions of the stack --- */

void *__real_net_allocate(size_t size);
void *__wrap_net_allocate(size_t size);
void *__wrap_net_allocate_zeroed(size_t count, size_t size);
bool __real_net_memory_has(size_t size);
bool __wrap_net_memory_has(size_t size);
void __real_net_free(void *block);
void __wrap_net_free(void *block);
void *__real_interface_loan(struct pbuf *packet, uint32_t ipv4);
void *__wrap_interface_loan(struct pbuf *packet, uint32_t ipv4);
void __real_link_start(struct link *link, struct port_end port, const struct bell *bell, struct sent_slot *slot);
void __wrap_link_start(struct link *link, struct port_end port, const struct bell *bell, struct sent_slot *slot);

void *__wrap_net_allocate(size_t size)
{
	void *block = host->memory == STARVED ? NULL : __real_net_allocate(size);

	if (block) {
		blocks++;
		memset(block, STALE, size);
	}
	return block;
}

void *__wrap_net_allocate_zeroed(size_t count, size_t size)
{
	void *block = __wrap_net_allocate(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void __wrap_net_free(void *block)
{
	blocks -= !!block;
	__real_net_free(block);
}

bool __wrap_net_memory_has(size_t size) { return host->memory != STARVED && __real_net_memory_has(size); }

void *__wrap_interface_loan(struct pbuf *packet, uint32_t ipv4)
{
	void *data = __real_interface_loan(packet, ipv4);

	lent += data != packet->payload;
	return data;
}

void __wrap_link_start(struct link *link, struct port_end port, const struct bell *bell, struct sent_slot *slot)
{
	__real_link_start(link, port, bell, slot);
	link_of[links++] = link;
}

err_t __real_etharp_output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to);
err_t __wrap_etharp_output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to);

err_t __wrap_etharp_output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
	asked++;
	return __real_etharp_output(netif, packet, to);
}

/* --- what the socket layer asks of the POSIX layer and of the machine --- */

void *layer_allocate(size_t size)
{
	struct block *block = host->memory ||
	             allocated + size > host->info.heap_size ? NULL : calloc(1, sizeof(*block) + size);

	if (!block)
		return NULL;
	*block = (struct block){ .next = all, .link = &all, .size = size };
	if (all)
		all->link = &block->next;
	all = block;
	allocated += size;
	return block + 1;
}

void layer_free(void *memory)
{
	struct block *block;

	if (!memory)
		return;
	block = (struct block *)memory - 1;
	allocated -= block->size;
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	free(block);
}

void *interface_memory(void) { return host->port; }
void interface_wake_peer(void) { host->wake(host->number, TO_SWITCH); }
const struct bell *interface_bell(void) { return host->switch_bell; }
struct bell *own_bell(void) { return host->bell; }
void *cable_memory(unsigned cable) { return host->cable[cable]; }
void cable_wake_peer(unsigned cable) { host->wake(host->number, (int)cable); }
const struct bell *cable_bell(unsigned cable) { return host->cable_bell[cable]; }
void *socket_port_memory(void) { return host->sockets; }
void socket_port_wake_peer(void) { host->wake(host->number, TO_SOCKETS); }
const struct process_info *process_info(void) { return &host->info; }
uint64_t clock_cycles(void) { return *host->now; }
uint64_t clock_cycles_per_second(void) { return 1000000000; }

uint64_t clock_milliseconds(void)
{
	static uint64_t stood;

	if (!host->still || !stood)
		stood = *host->now / 1000000;
	return stood;
}

bool event_wait(uint64_t deadline) { return host->wait(deadline); }
void event_notify(void) {}

void random_bytes(void *to, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		host->random = host->random * 6364136223846793005ull + 1442695040888963407ull;
		((uint8_t *)to)[i] = (uint8_t)(host->random >> 40);
	}
}

void console_log(const char *format, ...)
{
	va_list arguments;

	if (strncmp(format, "lwIP", 4)) /* an assertion; else it tells of what a far end has done */
		return;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	const uint32_t fresh = (ready & ~file->ready) | (again & ready);

	file->ready = ready;
	if (fresh && file->on_ready)
		file->on_ready(file);
	if (file->edge_triggered)
		host->edge(file, fresh);
}

/* --- what the lab asks of a life --- */

static void start(struct life_host *of) { host = of; }
static unsigned count_links(void) { return links; }
static struct link *link_at(unsigned number) { return link_of[number]; }
static long count_blocks(void) { return blocks; }
static size_t count_allocated(void) { return allocated; }
static unsigned long count_lent(void) { return lent; }
static unsigned count_asked(void) { return asked; }
static void forget_stations(void) { etharp_cleanup_netif(netif_default); }

static void describe(void)
{
	for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
		fprintf(stderr, "  %u to %u of %08x: state %d, flags %x, window %u (%u here), congestion %u, "
		                "acknowledged %u, next %u, end %u, "
			"%u pbufs, timer %d, %u times, persist %u\n", pcb->local_port, pcb->remote_port,
			pcb->remote_ip.addr, pcb->state, pcb->flags,
			pcb->snd_wnd, pcb->rcv_wnd, pcb->cwnd, pcb->lastack, pcb->snd_nxt, pcb->snd_lbb,
			pcb->snd_queuelen, pcb->rtime, pcb->nrtx, pcb->persist_backoff);
		for (const struct tcp_seg *segment = pcb->unacked; segment; segment = segment->next)
			fprintf(stderr, "    under way: %u, length %u\n", lwip_ntohl(segment->tcphdr->seqno),
			        segment->len);
		for (const struct tcp_seg *segment = pcb->unsent; segment; segment = segment->next)
			fprintf(stderr, "    waits: %u, length %u\n", lwip_ntohl(segment->tcphdr->seqno), segment->len);
	}
}

static void end(void)
{
	while (all)
		layer_free(all + 1);
}

struct life_calls life_calls = {
	.start = start, .socket = socket_create, .poll = net_poll, .deadline = net_deadline,
	.prepare_sleep = net_prepare_sleep, .serve_start = serve_start, .serve_pass = serve_pass,
	.serve_prepare_sleep = serve_prepare_sleep, .links = count_links, .link = link_at, .blocks = count_blocks,
	.allocated = count_allocated, .sent = net_memory_sent, .lent = count_lent, .asked = count_asked,
	.forget_stations = forget_stations, .before_look = &before_look, .describe = describe, .end = end,
};
