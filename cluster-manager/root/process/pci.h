/* SPDX-License-Identifier: BSD-2-Clause */
/* PCI configuration space, by the I/O ports 0xcf8 and 0xcfc (PCI Local Bus 3.0, 3.2.2.3.2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PCI_BARS = 6, PCI_CONFIGURATION = 256 };

struct pci_bar {
	uint64_t address, size; /* size 0: none, or an I/O BAR */
};

struct pci_function {
	uint32_t bdf; /* bus << 8 | device << 3 | function */
	uint16_t vendor, device;
};

/*
 * The first function, not given away before, that has one of `count` pairs of
 * big-endian cells as vendor and device. It is then given away.
 */
bool pci_find(const void *ids, unsigned count, struct pci_function *function);
/* Sizes the memory BARs and lets the function decode memory, but be no bus master: its driver does that, when it has
 * reset it. */
void pci_enable(const struct pci_function *function, struct pci_bar bar[PCI_BARS]);
/* Reads, or writes, `size` bytes: 1, 2 or 4, at an offset that it divides, below PCI_CONFIGURATION. */
uint32_t pci_config_read(const struct pci_function *function, unsigned offset, unsigned size);
void pci_config_write(const struct pci_function *function, unsigned offset, unsigned size, uint32_t value);
/* It is no bus master from here on: it reads and writes no memory. */
void pci_quiet(const struct pci_function *function);
