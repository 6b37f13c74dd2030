/* SPDX-License-Identifier: BSD-2-Clause */
#include "registers.h"
#include "device.h"
#include "../driver/pci.h"

/* The driver is optimised as one unit: the compiler leaves stores and loads on the side of it where they are. */
static inline void stay(void) { __asm__ volatile("" ::: "memory"); }

uint32_t register_read(const struct e1000e *e, uint32_t offset)
{
	uint32_t value = e->registers[offset / 4];

	stay();
	return value;
}

void register_write(const struct e1000e *e, uint32_t offset, uint32_t value)
{
	stay();
	e->registers[offset / 4] = value;
	stay();
}

void register_pause(const struct e1000e *e, uint32_t microseconds)
{
	pci_pause(e->info->tsc_hz / 1000000 * microseconds);
}
