/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other machines: memory of QEMU's inter-VM shared memory device
 * (docs/specs/ivshmem-spec.txt there), and how this loader meets the other ends:
 * their loaders, or managers that run already (skerry/machine_handshake.h).
 */
#include <skerry/machine_handshake.h>

#include "cpu.h"
#include "loader.h"
#include "pci.h"

enum { BAR_WIDTH = 6, BAR_64 = 4, BAR_FLAGS = 15 };
enum { IVSHMEM_ID = 0x11101af4, TIMEOUT_S = 2, LIFE_MAX = INT32_MAX };

struct party {
	const struct boot_channel *channel;
	struct handshake_loader end;
	bool done;
};

struct ranges ivshmem_ranges;

/* Returns a BAR's size, by the bits that stay 0 when all are written. */
static uint64_t bar_size(uint32_t bdf, uint32_t low, uint32_t high, bool wide)
{
	uint32_t command = pci_read(bdf, PCI_COMMAND);
	uint64_t mask;

	pci_write(bdf, PCI_COMMAND, command & ~(uint32_t)PCI_COMMAND_MEMORY);
	pci_write(bdf, PCI_BAR2, UINT32_MAX);
	mask = (pci_read(bdf, PCI_BAR2) & ~(uint32_t)BAR_FLAGS) | (uint64_t)UINT32_MAX << 32;
	pci_write(bdf, PCI_BAR2, low);
	if (wide) {
		pci_write(bdf, PCI_BAR2 + 4, UINT32_MAX);
		mask = (mask & UINT32_MAX) | (uint64_t)pci_read(bdf, PCI_BAR2 + 4) << 32;
		pci_write(bdf, PCI_BAR2 + 4, high);
	}
	pci_write(bdf, PCI_COMMAND, command | PCI_COMMAND_MEMORY);
	return -mask;
}

struct boot_range ivshmem_memory(const struct map_channel *channel, uint32_t device)
{
	uint64_t needed = channel->memory.size + MAP_KERNELS_PART, base, size;
	uint32_t bdf = device << 3, low = pci_read(bdf, PCI_BAR2), high = 0;
	bool wide = (low & BAR_WIDTH) == BAR_64;

	if (pci_read(bdf, PCI_ID) != IVSHMEM_ID)
		panic("%s: device %u on bus 0 is no ivshmem device", channel->name, device);
	if (wide)
		high = pci_read(bdf, PCI_BAR2 + 4);
	base = (uint64_t)high << 32 | (low & ~(uint32_t)BAR_FLAGS);
	size = bar_size(bdf, low, high, wide);
	if (size != needed)
		panic("%s: device %u has %lu KiB, the map says %lu", channel->name, device, size / 1024, needed / 1024);
	if (base == 0)
		panic("%s: the firmware gave device %u no addresses", channel->name, device);
	if (!identity_map(base, size))
		panic("%s: memory of device %u at 0x%lx is out of reach", channel->name, device, base);
	ranges_add(&ivshmem_ranges, base, size);
	return (struct boot_range){ base, channel->memory.size };
}

static uint64_t fresh_number(void)
{
	static uint64_t used;

	return (machine_clock.epoch << 40 ^ read_tsc_in_order()) * 0x9e3779b97f4a7c15ul + ++used;
}

static void say_hello(struct party *p, const struct boot_channel *channel, uint32_t cores)
{
	p->channel = channel;
	p->end = (struct handshake_loader){ .header = (struct channel_header *)channel->memory.base,
	                                  .size = channel->memory.size,
		                          .side = channel->side };
	doorbells_clear(channel->rx, cores); /* before the peer may ring */
	handshake_hello(&p->end, fresh_number());
}

static uint32_t say_hellos(struct party *party, const struct cluster *clusters, uint32_t count)
{
	uint32_t parties = 0; /* no more than there are devices: map_check_machines() */

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < clusters[i].info->channel_count; j++)
			if (clusters[i].info->channel[j].remote)
				say_hello(&party[parties++], &clusters[i].info->channel[j], clusters[i].room);
	return parties;
}

static void print_missing(const struct party *party, uint32_t parties)
{
	for (uint32_t i = 0; i < parties; i++)
		if (!party[i].done)
			print("waiting for the machine of cluster %u", party[i].channel->peer);
}

static void await_all(struct party *party, uint32_t parties)
{
	uint64_t start = read_tsc_in_order();
	bool all = false, said = false;

	while (!all) {
		all = true;
		for (uint32_t i = 0; i < parties; i++)
			all &= party[i].done = handshake_poll(&party[i].end);
		if (!all && !said && read_tsc_in_order() - start > machine_clock.tsc_hz * TIMEOUT_S) {
			print_missing(party, parties);
			said = true;
		}
		cpu_pause();
	}
}

/* The life of a cluster that joins others: the largest generation that one of them grants it. */
static uint32_t joined_life(const struct party *party, uint32_t parties)
{
	uint64_t life = 1;

	for (uint32_t i = 0; i < parties; i++) {
		if (!party[i].end.has_joined)
			continue;
		print("joins cluster %u, which runs", party[i].channel->peer);
		if (life < party[i].end.own_generation)
			life = party[i].end.own_generation;
		if (life < 2)
			life = 2;
	}
	return life < LIFE_MAX ? (uint32_t)life : LIFE_MAX;
}

void ivshmem_meet(const struct cluster *clusters, uint32_t count)
{
	static struct party party[MAP_PCI_DEVICES];
	uint32_t parties = say_hellos(party, clusters, count), life;

	await_all(party, parties);
	life = joined_life(party, parties);
	if (life > 1 && count > 1)
		panic("%u clusters on one machine cannot join others that run: start all machines together", count);
	for (uint32_t i = 0; i < parties; i++)
		handshake_finish(&party[i].end);
	if (life > 1)
		clusters[0].info->life = life;
}
