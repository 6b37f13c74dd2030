/* SPDX-License-Identifier: BSD-2-Clause */
/* PCI's configuration space by I/O ports, and QEMU's `edu` device, which interrupts whenever it is told to. */
#pragma once

#include <stdint.h>

enum { PCI_COMMAND = 4, PCI_BAR0 = 16, PCI_CAPABILITIES = 52, PCI_CAPABILITY_MSI = 5 };
enum { EDU_ID = 0x11e81234, EDU_LIVENESS = 4, EDU_RAISE = 0x60, EDU_ACKNOWLEDGE = 0x64 };
/* Its DMA, from memory into its buffer; with EDU_DMA_START it interrupts when that is done, after 99 to 100 ms. */
enum { EDU_DMA_FROM = 0x80, EDU_DMA_TO = 0x88, EDU_DMA_BYTES = 0x90, EDU_DMA_COMMAND = 0x98 };
enum { EDU_BUFFER = 0x40000, EDU_DMA_START = 5, EDU_DMA_DONE = 0x100 };

/* `device` is its number on bus 0. */
uint32_t pci_read(unsigned device, unsigned offset);
void pci_write(unsigned device, unsigned offset, uint32_t value);
/* The number of the first one with these vendor and device ids, -1 if there is none. */
int pci_find(uint32_t id);
/* Where its capability of this kind is, 0 if it has none. */
unsigned pci_capability(unsigned device, unsigned kind);
/* A frame of the page of device memory at this physical address; 0 if there is none. */
uint64_t device_frame(uint64_t address);
