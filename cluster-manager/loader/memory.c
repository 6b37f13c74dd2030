/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's memory map, and the loader's own view of memory. */
#include "acpi.h"
#include "cpu.h"
#include "loader.h"

#define GIB (1ul << 30)
#define MAPPABLE_END (512 * GIB) /* one PDPT */
enum { PRESENT_WRITE_LARGE = 0x83, PRESENT_WRITE = 3, POOL = 64 };

extern uint64_t boot_pdpt[512];
static _Alignas(4096) uint64_t pool[POOL][512]; /* page directories above 4 GiB for a CPU without 1 GiB pages */

struct ranges memory_busy;
static struct ranges firmware; /* not usable, whatever overlapping entries say */

void identity_extend(uint64_t end)
{
	static uint64_t mapped = 4; /* GiB */
	static uint32_t used;
	bool huge = cpuid(0x80000000).a >= 0x80000001 && (cpuid(0x80000001).d >> 26 & 1);

	if (end > MAPPABLE_END)
		end = MAPPABLE_END; /* memory_settle drops RAM above */
	for (; mapped * GIB < end; mapped++) {
		if (huge) {
			boot_pdpt[mapped] = mapped * GIB | PRESENT_WRITE_LARGE;
			continue;
		}
		if (used == POOL)
			die("more than %u GiB of address space need a CPU with 1 GiB pages", POOL + 4);
		for (uint64_t i = 0; i < 512; i++)
			pool[used][i] = mapped * GIB + i * LARGE_PAGE_SIZE + PRESENT_WRITE_LARGE;
		boot_pdpt[mapped] = (uint64_t)pool[used++] | PRESENT_WRITE;
	}
}

const void *acpi_memory(uint64_t address, uint64_t size)
{
	if (address >= MAPPABLE_END || size > MAPPABLE_END - address)
		return NULL;
	identity_extend(address + size);
	__asm__("" : "+r"(address)); /* the compiler takes small constant addresses for null pointers */
	return (const void *)address;
}

void memory_note(struct machine *m, uint64_t base, uint64_t size, bool usable, bool is_ram)
{
	uint64_t end = base + size;

	if (end <= base)
		return;
	ranges_add(&m->known, base, size);
	ranges_add(usable ? &m->ram : &firmware, base, size);
	if (is_ram && base < 4 * GIB && m->low_ram_end < end)
		m->low_ram_end = end < 4 * GIB ? end : 4 * GIB;
}

void memory_settle(struct machine *m)
{
	for (uint32_t i = 0; i < firmware.count; i++)
		ranges_remove(&m->ram, firmware.at[i].base, firmware.at[i].size);
	ranges_remove(&m->ram, MAPPABLE_END, UINT64_MAX - MAPPABLE_END);
	ranges_trim(&m->ram, PAGE_SIZE);
	if (m->ram.count == 0)
		die("the firmware says nothing of usable memory");
	identity_extend(m->ram.at[m->ram.count - 1].base + m->ram.at[m->ram.count - 1].size);
}
