/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration space of PCI functions, by ports. `bdf`: bus << 8 | device << 3 | function. */
#pragma once

#include <stdint.h>

enum { PCI_ID = 0, PCI_COMMAND = 4, PCI_CLASS = 8, PCI_HEADER = 0xc, PCI_BAR2 = 0x18 };
enum { PCI_COMMAND_MEMORY = 2, PCI_COMMAND_MASTER = 4, PCI_COMMAND_NO_INTX = 0x400 };

uint32_t pci_read(uint32_t bdf, uint32_t reg);
void pci_write(uint32_t bdf, uint32_t reg, uint32_t value);
/* No function but bridges reads or writes memory any more, or interrupts, when it returns. Drivers switch them on
 * again. */
void pci_quiet(void);
