/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACPI. The first byte says what the rest is: below 128 physical memory from
 * 0xe0000 on (bit 1: the RSDP is at its start), else one table's body.
 */
#include <string.h>

#include "acpi.h"
#include "fuzz.h"
#include "host.h"

enum { BASE = 0xe0000, MEMORY = 0x20000, HEADER = 36, KEPT = 4096, SINGLE_TABLE = 128, RSDP_IS_KNOWN = 2 };
#define LIMIT (1ul << 46)

static const uint8_t *memory;
static size_t memory_size;
static void *kept[KEPT];
static unsigned kept_count;
static struct machine machine;

/* Returns a copy of exactly the bytes asked for, so that the sanitizer sees a read beyond them. */
const void *acpi_memory(uint64_t address, uint64_t size)
{
	if (address < BASE || address - BASE > memory_size || size > memory_size - (address - BASE) ||
	    kept_count == KEPT)
		return NULL;
	return kept[kept_count++] = fuzz_copy(memory + (address - BASE), size);
}

static void read_memory(unsigned mode, const uint8_t *data, size_t size)
{
	uint8_t *all = calloc(1, MEMORY);

	memory_size = size < MEMORY ? size : MEMORY;
	memcpy(all, data, memory_size);
	if ((mode & 1) != 0)
		memory_size = MEMORY;
	memory = all;
	machine.rsdp = mode & RSDP_IS_KNOWN ? BASE : 0;
	HOST_TRY(acpi_read(&machine));
	while (kept_count > 0)
		free(kept[--kept_count]);
	free(all);
}

static void read_table(unsigned which, const uint8_t *data, size_t size)
{
	static void (*const read[])(struct machine *, const uint8_t *, uint32_t) = {
		acpi_read_madt, acpi_read_srat, acpi_read_fadt, acpi_read_spcr, acpi_read_hpet,
	};
	uint8_t *table = fuzz_copy(data, size);

	if (size >= HEADER)
		HOST_TRY(read[which % 5](&machine, table, (uint32_t)size));
	free(table);
}

static void check(void)
{
	const struct machine *m = &machine;

	MUST(m->cpu_count <= MACHINE_MAX_CPUS && m->ioapic_count <= BOOT_MAX_IOAPICS);
	MUST(m->node_range_count <= MACHINE_MAX_NODE_RANGES);
	MUST(m->pm_timer <= 0xfffc && m->pm_status < 0xffff && m->pm_enable < 0xffff);
	MUST(m->lapic_base % 4096 == 0 && m->lapic_base < LIMIT && m->hpet < LIMIT && m->hpet % 8 == 0);
	MUST(m->spcr.kind != BOOT_SERIAL_MEMORY || m->spcr.base < LIMIT);
	MUST(m->spcr.kind != BOOT_SERIAL_PORT || m->spcr.base <= 0xfff8);
	for (uint32_t i = 0; i < m->node_range_count; i++)
		MUST(m->node_range[i].range.size > 0 &&
		     m->node_range[i].range.size <= UINT64_MAX - m->node_range[i].range.base);
	for (uint32_t i = 0; i < m->cpu_count; i++)
		MUST(m->cpu[i].apic != UINT32_MAX && machine_cpu(m, m->cpu[i].apic) == &m->cpu[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	memset(&machine, 0, sizeof machine);
	machine.address_limit = LIMIT;
	ranges_add(&machine.ram, 0, UINT64_MAX); /* ranges of the SRAT without RAM are left out */
	if (data[0] < SINGLE_TABLE)
		read_memory(data[0], data + 1, size - 1);
	else
		read_table(data[0], data + 1, size - 1);
	check();
	return 0;
}
