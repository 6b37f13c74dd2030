/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other machines: memory of QEMU's inter-VM shared memory device
 * (docs/specs/ivshmem-spec.txt there), and how the loaders at its two ends meet.
 *
 * Nothing says when the other machine was switched on, and what an earlier run
 * left is still in that memory. So each side writes a number that it never used
 * before, and answers that of the other; the side that finds its own number answered
 * knows that the other is here now and has seen it. Then side 0 clears the
 * memory for both.
 */
#include <stdatomic.h>
#include <string.h>

#include "cpu.h"
#include "loader.h"
#include "pci.h"

enum { BAR_WIDTH = 6, BAR_64 = 4, BAR_FLAGS = 15 };
enum { IVSHMEM_ID = 0x11101af4, PATIENCE_S = 2 };

/* After the two doorbell pages. */
struct meeting {
	struct {
		_Alignas(64) _Atomic uint64_t hello; /* never 0, another at every start */
		_Atomic uint64_t answer;             /* the peer's hello */
	} side[2];
	_Alignas(64) _Atomic uint64_t cleared;       /* side 1's hello, for which side 0 has done so */
};

struct party {
	const struct boot_channel *channel;
	struct meeting *meeting;
	uint64_t hello;
	bool met;
};

struct ranges ivshmem_ranges;

/* What stays 0 when all bits are written. */
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
	uint64_t wanted = channel->memory.size + MAP_KERNELS_PART, base, size;
	uint32_t bdf = device << 3, low = pci_read(bdf, PCI_BAR2), high = 0;
	bool wide = (low & BAR_WIDTH) == BAR_64;

	if (pci_read(bdf, PCI_ID) != IVSHMEM_ID)
		panic("%s: device %u on bus 0 is no ivshmem device", channel->name, device);
	if (wide)
		high = pci_read(bdf, PCI_BAR2 + 4);
	base = (uint64_t)high << 32 | (low & ~(uint32_t)BAR_FLAGS);
	size = bar_size(bdf, low, high, wide);
	if (size != wanted)
		panic("%s: device %u has %lu KiB, the map says %lu", channel->name, device, size / 1024, wanted / 1024);
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
	uint64_t number = (machine_clock.epoch << 40 ^ read_tsc_in_order()) * 0x9e3779b97f4a7c15ul + ++used;

	return number != 0 ? number : 1;
}

static void say_hello(struct party *p, const struct boot_channel *channel)
{
	uint32_t side = channel->side;

	p->channel = channel;
	p->meeting = (struct meeting *)(channel->memory.base + channel->memory.size + 2 * PAGE_SIZE);
	p->hello = fresh_number();
	doorbells_clear(channel->rx); /* before the peer may ring */
	atomic_store_explicit(&p->meeting->side[side].answer, 0, memory_order_relaxed);
	atomic_store_explicit(&p->meeting->side[side].hello, p->hello, memory_order_release);
}

static bool meet(struct party *p)
{
	struct meeting *m = p->meeting;
	uint32_t side = p->channel->side;
	uint64_t hello;

	if (p->met)
		return true;
	hello = atomic_load_explicit(&m->side[!side].hello, memory_order_acquire);
	atomic_store_explicit(&m->side[side].answer, hello, memory_order_release);
	if (atomic_load_explicit(&m->side[!side].answer, memory_order_acquire) != p->hello ||
	    atomic_load_explicit(&m->side[!side].hello, memory_order_acquire) != hello)
		return false;
	if (side == 0) {
		memset((void *)p->channel->memory.base, 0, p->channel->memory.size);
		atomic_store_explicit(&m->cleared, hello, memory_order_release);
		p->met = true;
	} else {
		p->met = atomic_load_explicit(&m->cleared, memory_order_acquire) == p->hello;
	}
	return p->met;
}

static uint32_t say_hellos(struct party *party, const struct cluster *clusters, uint32_t count)
{
	uint32_t parties = 0; /* no more than there are devices: map_check_machines() */

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < clusters[i].info->channel_count; j++)
			if (clusters[i].info->channel[j].remote)
				say_hello(&party[parties++], &clusters[i].info->channel[j]);
	return parties;
}

static void say_who_is_missing(const struct party *party, uint32_t parties)
{
	for (uint32_t i = 0; i < parties; i++)
		if (!party[i].met)
			print("waiting for the machine of cluster %u", party[i].channel->peer);
}

void ivshmem_meet(const struct cluster *clusters, uint32_t count)
{
	static struct party party[MAP_PCI_DEVICES];
	uint32_t parties = say_hellos(party, clusters, count);
	uint64_t start = read_tsc_in_order();
	bool all = false, said = false;

	while (!all) {
		all = true;
		for (uint32_t i = 0; i < parties; i++)
			all &= meet(&party[i]);
		if (!all && !said && read_tsc_in_order() - start > machine_clock.tsc_hz * PATIENCE_S) {
			say_who_is_missing(party, parties);
			said = true;
		}
		cpu_pause();
	}
}
