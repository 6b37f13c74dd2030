/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "pci.h"
#include "../program/program.h"

enum {
	MSIX_CONTROL = 2, /* offsets in the capability */
	MSIX_TABLE = 4,
	MSIX_ENABLE = 1 << 15,
	MSIX_MASK_ALL = 1 << 14,
	MSIX_ENTRY = 16, /* bytes: address low and high, data, control */
	MSIX_SIZE = 12,
	POWER_CONTROL = 4,
	POWER_SIZE = 8,
	POWER_STATE = 3,       /* 0: D0 */
	POWER_EVENT = 1 << 15, /* cleared by writing 1 */
};

/* Where the manager gave no mapped configuration space, it serves. Returns what was read, 0 where it refuses. */
static uint32_t ask_manager(unsigned offset, unsigned size, bool write, uint32_t value)
{
	struct message m = { .info = message_info(MANAGER_CONFIG, 0, 4), .word = { offset, size, write, value } };

	return ipc_call(PROCESS_SLOT_MANAGER, &m) || message_label(m.info) ? 0 : (uint32_t)m.word[0];
}

uint32_t pci_read(const struct process_device *device, unsigned offset, unsigned size)
{
	require((size == 1 || size == 2 || size == 4) && offset % size == 0 && offset + size <= PCI_CONFIGURATION);
	uint64_t address = device->config_vaddr + offset;

	if (!device->config_vaddr)
		return ask_manager(offset, size, false, 0);
	switch (size) {
	case 1: return *(volatile uint8_t *)address;
	case 2: return *(volatile uint16_t *)address;
	default: return *(volatile uint32_t *)address;
	}
}

void pci_write(const struct process_device *device, unsigned offset, unsigned size, uint32_t value)
{
	require((size == 1 || size == 2 || size == 4) && offset % size == 0 && offset + size <= PCI_CONFIGURATION);
	uint64_t address = device->config_vaddr + offset;

	if (!device->config_vaddr) {
		ask_manager(offset, size, true, value);
		return;
	}
	switch (size) {
	case 1: *(volatile uint8_t *)address = (uint8_t)value; break;
	case 2: *(volatile uint16_t *)address = (uint16_t)value; break;
	default: *(volatile uint32_t *)address = value; break;
	}
}

unsigned pci_capability(const struct process_device *device, unsigned kind, unsigned size, unsigned after)
{
	unsigned offset = after;

	if (!(pci_read(device, PCI_STATUS, 2) & PCI_STATUS_CAPABILITIES))
		return 0;
	for (unsigned n = 0; n < 64; n++) { /* a list that runs in circles ends too */
		offset = pci_read(device, offset ? offset + 1 : PCI_CAPABILITIES, 1) & 0xfc;
		if (offset < PCI_HEADER)
			return 0;
		if (offset + size <= PCI_CONFIGURATION && pci_read(device, offset, 1) == kind)
			return offset;
	}
	return 0;
}

volatile void *pci_bar(const struct process_device *device, unsigned bar, uint64_t offset, uint64_t size)
{
	if (bar >= PCI_BARS || !device->bar_vaddr[bar] || offset > device->bar_size[bar] ||
	    size > device->bar_size[bar] - offset)
		return 0;
	return (volatile void *)(device->bar_vaddr[bar] + offset);
}

/*
 * From D3hot a function wakes with its configuration lost, unless it says
 * otherwise (PCI Power Management 1.2, section 5.4.1), and needs 10 ms.
 */
static void pci_power_on(const struct process_device *device, uint64_t tsc_hz)
{
	unsigned power = pci_capability(device, PCI_CAPABILITY_POWER, POWER_SIZE, 0);
	uint32_t bar[PCI_BARS], control;

	if (!power)
		return;
	control = pci_read(device, power + POWER_CONTROL, 2);
	if (!(control & POWER_STATE))
		return;
	for (unsigned i = 0; i < PCI_BARS; i++)
		bar[i] = pci_read(device, PCI_BAR + 4 * i, 4);
	pci_write(device, power + POWER_CONTROL, 2, control & ~(uint32_t)(POWER_STATE | POWER_EVENT));
	pci_pause(tsc_hz / 100);
	for (unsigned i = 0; i < PCI_BARS; i++)
		pci_write(device, PCI_BAR + 4 * i, 4, bar[i]);
}

void pci_pause(uint64_t ticks)
{
	uint64_t began = read_tsc();

	while (read_tsc() - began < ticks)
		;
}

void pci_enable(const struct process_device *device, uint64_t tsc_hz)
{
	pci_power_on(device, tsc_hz);
	pci_write(device, PCI_COMMAND, 2,
		  (pci_read(device, PCI_COMMAND, 2) & ~(uint32_t)PCI_COMMAND_MASTER) | PCI_COMMAND_MEMORY |
		  PCI_COMMAND_NO_INTX);
}

void pci_enable_dma(const struct process_device *device)
{
	pci_write(device, PCI_COMMAND, 2, pci_read(device, PCI_COMMAND, 2) | PCI_COMMAND_MASTER);
}

int pci_interrupt(const struct process_device *device)
{
	unsigned msix = pci_capability(device, PCI_CAPABILITY_MSIX, MSIX_SIZE, 0);
	uint32_t table, control;
	volatile uint32_t *entry;

	if (!msix)
		return -SKERRY_NOT_FOUND;
	table = pci_read(device, msix + MSIX_TABLE, 4);
	entry = pci_bar(device, table & 7, table & ~7u, MSIX_ENTRY);
	if (!entry)
		return -SKERRY_NOT_MAPPED;
	control = pci_read(device, msix + MSIX_CONTROL, 2);
	pci_write(device, msix + MSIX_CONTROL, 2, control | MSIX_ENABLE | MSIX_MASK_ALL);
	entry[0] = (uint32_t)device->msi_address;
	entry[1] = (uint32_t)(device->msi_address >> 32);
	entry[2] = device->msi_data;
	entry[3] = 0; /* unmasked */
	pci_write(device, msix + MSIX_CONTROL, 2, (control | MSIX_ENABLE) & ~MSIX_MASK_ALL);
	return 0;
}
