/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's memory map, and the loader's own view of memory. */
#include <skerry/require.h>
#include "acpi.h"
#include "cpu.h"
#include "loader.h"

#define GIB (1ul << 30)
#define ADDRESSES_END (UINT64_MAX & ~(uint64_t)(PAGE_SIZE - 1)) /* ends of ranges are no larger */
#define MAPPABLE_END (127 * 1024 * GIB) /* as much room has the kernels' direct map */
enum { PRESENT_WRITE_LARGE = 0x83, PRESENT_WRITE = 3, POOL = 64 };

extern uint64_t boot_pml4[512];
/* For 512 GiB each, in all 31 TiB beside the first; or for one GiB each where the CPU has no pages of that size. */
static _Alignas(4096) uint64_t pool[POOL][512];
static uint32_t pool_used;

enum { RESERVED_MAX = 1024 };

struct ranges memory_busy;
static uint64_t reach = 4 * GIB; /* boot.S has mapped that much */
/* Not usable, whatever overlapping entries say. A set of ranges may drop some; none of these may be dropped. */
static struct boot_range reserved[RESERVED_MAX];
static uint32_t reserved_count;

static uint64_t *table_of(uint64_t *entry)
{
	if (*entry == 0) {
		if (pool_used == POOL)
			return NULL;
		*entry = (uint64_t)pool[pool_used++] | PRESENT_WRITE;
	}
	require(*entry & PRESENT_WRITE && pool_used <= POOL);
	return (uint64_t *)(*entry & ~(uint64_t)(PAGE_SIZE - 1));
}

static bool map_gib(uint64_t number, bool huge)
{
	uint64_t *entry = table_of(&boot_pml4[number >> 9]), *table;

	if (entry == NULL)
		return false;
	entry += number & 511;
	if (*entry != 0)
		return true;
	if (huge) {
		*entry = number * GIB | PRESENT_WRITE_LARGE;
		return true;
	}
	table = table_of(entry);
	for (uint64_t i = 0; table != NULL && i < 512; i++)
		table[i] = number * GIB + i * LARGE_PAGE_SIZE + PRESENT_WRITE_LARGE;
	return table != NULL;
}

void memory_reach(uint64_t limit)
{
	reach = limit < MAPPABLE_END ? limit : MAPPABLE_END;
}

bool identity_map(uint64_t base, uint64_t size)
{
	bool huge = cpuid(0x80000000, 0).eax >= 0x80000001 && (cpuid(0x80000001, 0).edx >> 26 & 1);

	if (base >= reach || !span_fits(base, size, reach))
		return false;
	for (uint64_t gib = base / GIB; gib * GIB < base + size; gib++)
		if (!map_gib(gib, huge))
			return false;
	return true;
}

const void *acpi_memory(uint64_t address, uint64_t size)
{
	if (!identity_map(address, size))
		return NULL;
	__asm__("" : "+r"(address)); /* the compiler takes small constant addresses for null pointers */
	return (const void *)address;
}

void memory_forget(void)
{
	reserved_count = 0;
	memory_busy.count = 0;
}

static void note_reserved(uint64_t base, uint64_t size)
{
	struct boot_range *last = reserved_count == 0 ? NULL : &reserved[reserved_count - 1];

	if (last != NULL && last->base + last->size == base) {
		last->size += size;
		return;
	}
	require(size && base <= UINT64_MAX - size && reserved_count <= RESERVED_MAX);
	if (reserved_count == RESERVED_MAX)
		panic("the firmware's memory map: more than %u reserved ranges, the next is at 0x%lx", RESERVED_MAX,
		      base);
	reserved[reserved_count++] = (struct boot_range){ base, size };
}

void memory_note(struct machine *m, uint64_t base, uint64_t size, bool usable, bool is_ram)
{
	uint64_t end;

	if (size == 0)
		return;
	size = span_clip(base, size, ADDRESSES_END);
	end = base + size;
	ranges_add(&m->known, base, size);
	require(!size || (end > base && end <= ADDRESSES_END));
	if (usable)
		ranges_add(&m->ram, base, size);
	else if (size > 0)
		note_reserved(base, size);
	if (is_ram && base < 4 * GIB && m->low_ram_end < end)
		m->low_ram_end = end < 4 * GIB ? end : 4 * GIB;
}

void memory_settle(struct machine *m)
{
	uint64_t beyond;

	for (uint32_t i = 0; i < reserved_count; i++)
		ranges_remove(&m->ram, reserved[i].base, reserved[i].size);
	require(reach <= MAPPABLE_END);
	beyond = ranges_common(&m->ram, reach, ADDRESSES_END - reach);
	if (beyond > 0)
		print("%lu MiB of RAM at 0x%lx and above are out of this CPU's reach, and left out", beyond >> 20,
		      reach);
	ranges_remove(&m->ram, reach, ADDRESSES_END - reach);
	if (m->ram.lost > 0 || m->known.lost > 0)
		print("the firmware's memory map is in more than %u pieces: %lu KiB of RAM are left out, and %lu KiB "
		      "in all are taken for absent", RANGES_MAX, m->ram.lost / 1024, m->known.lost / 1024);
	ranges_trim(&m->ram, PAGE_SIZE);
	if (m->ram.count == 0)
		panic("the firmware says nothing of usable memory");
	for (uint32_t i = 0; i < m->ram.count; i++)
		if (!identity_map(m->ram.at[i].base, m->ram.at[i].size))
			panic("RAM at 0x%lx is more than the loader has page tables for", m->ram.at[i].base);
}
