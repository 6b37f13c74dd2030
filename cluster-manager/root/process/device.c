/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include "device.h"
#include "device-memory.h"
#include "map.h"
#include "memory.h"
#include "pci.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

#define BAR_STRIDE 0x40000000ull /* of PROCESS_DEVICE_VADDR; larger BARs stay unmapped */

enum {
	DMA_FRAMES_BITS = 1, /* 2 frames of 2 MiB */
	DRIVERS_MAX = 32,
};

/*
 * Drivers' devices. The memory for DMA stays the device's: one whose driver has ended may write there until another
 * driver has reset it.
 */
static struct driver {
	const struct map_application *application;
	struct pci_function function;
	int dma; /* first frame; 0: none yet */
} driver[DRIVERS_MAX];
static unsigned driver_count;

void device_init(void)
{
	if (is_primary())
		device_memory_init();
}

static void map_bars(const struct pci_function *f, int vspace, struct process_device *device)
{
	struct pci_bar bar[PCI_BARS];
	pci_enable(f, bar);
	for (unsigned i = 0; i < PCI_BARS; i++) {
		uint64_t offset = bar[i].address & (SIZE_4K - 1);
		uint64_t size = (offset + bar[i].size + SIZE_4K - 1) & ~(uint64_t)(SIZE_4K - 1);
		uint64_t vaddr = PROCESS_DEVICE_VADDR + i * BAR_STRIDE;
		if (bar[i].size == 0 || size > BAR_STRIDE)
			continue;
		int error = device_memory_map(vspace, bar[i].address - offset, size, vaddr);
		if (error) {
			console_print("BAR %u at 0x%lx cannot be mapped (error %d)", i, bar[i].address, -error);
			continue;
		}
		device->bar_vaddr[i] = vaddr + offset;
		device->bar_size[i] = bar[i].size;
	}
}

static int give_dma(struct driver *d, int vspace, struct process_device *device)
{
	if (!d->dma) {
		uint32_t before = owner_set(OWNER_MANAGER);
		int frames = memory_contiguous(OBJECT_FRAME_2M, DMA_FRAMES_BITS);
		owner_set(before);
		if (frames < 0)
			return frames;
		d->dma = frames;
	}
	device->dma_size = (uint64_t)SIZE_2M << DMA_FRAMES_BITS;
	vspace_unmap_range(d->dma, 1u << DMA_FRAMES_BITS);
	int error = frame_address((uint64_t)d->dma, &device->dma_paddr);
	return error ? error : vspace_map_range(vspace, d->dma, 1u << DMA_FRAMES_BITS, SIZE_2M, PROCESS_DMA_VADDR,
						RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
}

static int give_interrupt(const struct map_application *a, const struct process *p, struct process_device *device)
{
	int slots = slots_take(2);
	if (slots < 0)
		return slots;
	uint64_t handler = (uint64_t)slots, badged = handler + 1;
	int wake = ports_wake((uint32_t)(a - map->application));
	int error = irq_get_msi(IPC, ROOT_SLOT_IRQ_CONTROL, ROOT_SLOT_CNODE, handler, a->core, &device->msi_address,
				&device->msi_data);
	if (!error)
		error = cnode_mint(IPC, ROOT_SLOT_CNODE, badged, ROOT_SLOT_CNODE, (uint64_t)wake, RIGHT_ALL,
				   INTERRUPT_BADGE);
	if (!error)
		error = irq_set_notification(IPC, handler, badged);
	if (!error) /* a handler has one owner */
		error = cnode_move(IPC, (uint64_t)p->cnode, PROCESS_SLOT_IRQ, ROOT_SLOT_CNODE, handler);
	return error;
}

static struct driver *find_driver(const struct map_application *a)
{
	for (unsigned i = 0; i < driver_count; i++)
		if (driver[i].application == a)
			return &driver[i];
	return NULL;
}

/* Returns the driver's device: that of its former life, or else the first free one. */
static struct driver *give_function(const struct map_application *a)
{
	struct driver *d = find_driver(a);
	struct pci_function function;
	if (d || driver_count == DRIVERS_MAX || !is_primary() ||
	    !pci_find(map_bytes(map, &a->pci_id), a->pci_id.size / 8, &function))
		return d;
	d = &driver[driver_count++];
	*d = (struct driver){ .application = a, .function = function };
	return d;
}

int device_attach(const struct map_application *a, struct process *p, struct process_device *device)
{
	struct driver *d = give_function(a);
	if (!d) {
		console_print("%s: no PCI device is here that it drives; its pci-id says which", a->name);
		return -SKERRY_NOT_FOUND;
	}
	*device = (struct process_device){
		.present = 1, .vendor = d->function.vendor, .device = d->function.device, .bdf = d->function.bdf,
	};
	map_bars(&d->function, p->vspace, device);
	int error = give_dma(d, p->vspace, device);
	if (!error)
		error = give_interrupt(a, p, device);
	return error;
}

int device_config(uint32_t application, const uint64_t word[4], uint64_t *result)
{
	const struct driver *d = find_driver(&map->application[application]);
	const uint64_t offset = word[0], size = word[1];
	if (!d)
		return -SKERRY_NOT_FOUND;
	if ((size != 1 && size != 2 && size != 4) || offset % size || offset >= PCI_CONFIGURATION || word[2] > 1)
		return -SKERRY_BAD_ARGUMENT;
	*result = 0;
	if (word[2])
		pci_config_write(&d->function, (unsigned)offset, (unsigned)size, (uint32_t)word[3]);
	else
		*result = pci_config_read(&d->function, (unsigned)offset, (unsigned)size);
	return 0;
}

void device_ended(const struct map_application *a)
{
	const struct driver *d = find_driver(a);
	if (d)
		pci_quiet(&d->function);
}
