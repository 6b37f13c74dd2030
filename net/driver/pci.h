/* SPDX-License-Identifier: BSD-2-Clause */
/* The PCI function of a driver's device: its configuration space, capabilities and MSI-X. */
#pragma once

#include <stdint.h>
#include <skerry/process.h>

enum {
	PCI_COMMAND = 0x04,
	PCI_COMMAND_MEMORY = 1 << 1,
	PCI_COMMAND_MASTER = 1 << 2,
	PCI_COMMAND_NO_INTX = 1 << 10,
	PCI_STATUS = 0x06,
	PCI_STATUS_CAPABILITIES = 1 << 4,
	PCI_BAR = 0x10,
	PCI_BARS = 6,
	PCI_CAPABILITIES = 0x34,
	PCI_HEADER = 0x40, /* bytes; capabilities are behind it */
	PCI_CONFIGURATION = 0x100, /* bytes with the header */
	PCI_CAPABILITY_POWER = 0x01,
	PCI_CAPABILITY_VENDOR = 0x09,
	PCI_CAPABILITY_MSIX = 0x11,
};

/* `size` is 1, 2 or 4; `offset` a multiple of it below PCI_CONFIGURATION. */
uint32_t pci_read(const struct process_device *device, unsigned offset, unsigned size);
void pci_write(const struct process_device *device, unsigned offset, unsigned size, uint32_t value);

/*
 * Returns the offset of the next capability of this kind behind `after` (0: the first), or 0. Its `size` bytes are
 * behind the header and in the configuration space, wherever the card says that it is.
 */
unsigned pci_capability(const struct process_device *device, unsigned kind, unsigned size, unsigned after);

/* Address of `size` bytes at `offset` of a memory BAR, or null where that is not mapped. */
volatile void *pci_bar(const struct process_device *device, unsigned bar, uint64_t offset, uint64_t size);

/* Power state D0, memory access on, DMA off, no interrupt line. */
void pci_enable(const struct process_device *device, uint64_t tsc_hz);
/* DMA on: only after a reset, for until then the card has the addresses of its former driver. */
void pci_enable_dma(const struct process_device *device);

/* Wait for this many ticks of the time-stamp counter. */
void pci_pause(uint64_t ticks);

/* Interrupts through MSI-X entry 0 only, after pci_enable(). An error without MSI-X. */
int pci_interrupt(const struct process_device *device);
