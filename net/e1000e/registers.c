/* SPDX-License-Identifier: BSD-2-Clause */
#include "registers.h"
#include "device.h"
#include "../driver/pci.h"

uint32_t register_read(const struct e1000e *e, uint32_t offset) { return e->registers[offset / 4]; }

void register_write(const struct e1000e *e, uint32_t offset, uint32_t value) { e->registers[offset / 4] = value; }

void register_pause(const struct e1000e *e, uint32_t microseconds)
{
	pci_pause(e->info->tsc_hz / 1000000 * microseconds);
}
