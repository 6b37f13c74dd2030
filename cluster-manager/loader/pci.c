/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci.h"

#include <stdbool.h>

#include "cpu.h"

enum { CONFIG_ADDRESS = 0xcf8, CONFIG_DATA = 0xcfc, FUNCTIONS = 0x10000, FUNCTIONS_OF_DEVICE = 8 };
enum { NOBODY = 0xffff, HEADER_MANY = 0x800000, CLASS_BRIDGE = 6, COMMAND_WORD = 0xffff };

uint32_t pci_read(uint32_t bdf, uint32_t reg)
{
	out32(CONFIG_ADDRESS, 1u << 31 | bdf << 8 | reg);
	return in32(CONFIG_DATA);
}

void pci_write(uint32_t bdf, uint32_t reg, uint32_t value)
{
	out32(CONFIG_ADDRESS, 1u << 31 | bdf << 8 | reg);
	out32(CONFIG_DATA, value);
}

/* The command is read back: what the function had sent before has arrived by then (PCI 3.0, 3.2.5). */
static void function_quiet(uint32_t bdf)
{
	uint32_t command = pci_read(bdf, PCI_COMMAND) & COMMAND_WORD; /* status bits are cleared by writing 1 */

	pci_write(bdf, PCI_COMMAND, (command & ~(uint32_t)PCI_COMMAND_MASTER) | PCI_COMMAND_NO_INTX);
	pci_read(bdf, PCI_COMMAND);
}

void pci_quiet(void)
{
	for (uint32_t bdf = 0; bdf < FUNCTIONS; bdf++) {
		bool absent = (pci_read(bdf, PCI_ID) & NOBODY) == NOBODY;

		if (!absent && pci_read(bdf, PCI_CLASS) >> 24 != CLASS_BRIDGE)
			function_quiet(bdf);
		/* no function 0, or one that says it is alone: on to the next device */
		if (bdf % FUNCTIONS_OF_DEVICE == 0 && (absent || !(pci_read(bdf, PCI_HEADER) & HEADER_MANY)))
			bdf += FUNCTIONS_OF_DEVICE - 1;
	}
}
