/* SPDX-License-Identifier: BSD-2-Clause */
#include "../driver/pci.h"
#include "device.h"

/* The driver is optimised as one unit, in which a call is no barrier: the compiler moves no store and no load across
 * this one. */
static inline void compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

uint32_t register_read(const struct e1000e *e, uint32_t offset)
{
	uint32_t value = e->registers[offset / 4];

	compiler_barrier();
	return value;
}

void register_write(const struct e1000e *e, uint32_t offset, uint32_t value)
{
	compiler_barrier();
	e->registers[offset / 4] = value;
	compiler_barrier();
}

void register_pause(const struct e1000e *e, uint32_t microseconds)
{
	pci_pause(e->info->tsc_hz / 1000000 * microseconds);
}
