/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses single ACPI tables (ACPI 6.5, 5.2; SPCR and HPET have specifications of their own). A table's signature,
 * length and checksum have been checked, its contents have not: entries that do not fit are left out.
 */
#include <string.h>

#include "acpi.h"
#include "loader.h"

/* Fields are read at offsets of the specification; nothing in the tables is aligned. */
static uint16_t read_u16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static uint32_t read_u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t read_u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

enum { PAGE = 4096, PORTS = 0x10000 };
enum { ADDRESS_MEMORY = 0, ADDRESS_PORT = 1 }; /* of generic address structures */

/* Returns whether the CPU has such an address; a line where it has not. */
static bool in_reach(const struct machine *m, uint64_t address, const char *what)
{
	if (address < m->address_limit && m->address_limit - address >= PAGE)
		return true;
	print("ACPI %s at 0x%lx are out of this CPU's reach, and left out", what, address);
	return false;
}

/* A table that is being read. */
struct reading {
	struct machine *m;
	bool enabled;                     /* which cores are taken in this round */
	uint32_t cpus_left, ioapics_left; /* left out, as there is no room */
};

static void add_cpu(struct reading *r, uint32_t apic, uint32_t flags)
{
	struct machine *m = r->m;
	const struct machine_cpu *known;

	if ((flags & 1) != r->enabled)
		return;
	known = machine_cpu(m, apic);
	if (known != NULL) /* may be there as APIC and as x2APIC; enabled ones come first */
		return;
	require(m->cpu_count <= MACHINE_MAX_CPUS);
	if (m->cpu_count < MACHINE_MAX_CPUS)
		m->cpu[m->cpu_count++] = (struct machine_cpu){ .apic = apic, .enabled = r->enabled };
	else
		r->cpus_left++;
}

static void read_madt_cpu(struct reading *r, const uint8_t *e)
{
	if (e[0] == 0 && e[3] != 0xff) /* local APIC; id 255 stands for none */
		add_cpu(r, e[3], read_u32(e + 4));
	else if (e[0] == 9 && read_u32(e + 4) != UINT32_MAX) /* local x2APIC; all cores */
		add_cpu(r, read_u32(e + 4), read_u32(e + 8));
}

static void add_ioapic(struct reading *r, const struct boot_ioapic *ioapic)
{
	if (ioapic->base == 0)
		return;
	if (r->m->ioapic_count < BOOT_MAX_IOAPICS)
		r->m->ioapic[r->m->ioapic_count++] = *ioapic;
	else
		r->ioapics_left++;
}

static void read_madt_entry(struct reading *r, const uint8_t *e)
{
	struct machine *m = r->m;

	switch (e[0]) {
	case 1:
		add_ioapic(r, &(struct boot_ioapic){ .base = read_u32(e + 4), .id = e[2],
		                                     .gsi_base = read_u32(e + 8) });
		break;
	case 2: /* ISA interrupt override */
		if (e[3] < 16) {
			m->isa_gsi[e[3]] = read_u32(e + 4);
			m->isa_flags[e[3]] = (uint32_t)e[8] | (uint32_t)e[9] << 8;
		}
		break;
	case 5:
		m->lapic_base = read_u64(e + 4) & ~(uint64_t)(PAGE - 1);
		break;
	}
}

static void set_node(struct machine *m, uint32_t apic, uint32_t node, uint32_t flags)
{
	const struct machine_cpu *cpu = machine_cpu(m, apic);

	if (cpu == NULL || !(flags & 1))
		return;
	m->cpu[cpu - m->cpu].node = node;
	m->cpu[cpu - m->cpu].has_node = true;
}

/* Takes out the ranges of this node that end or begin at *range, and makes it one with them. */
static void join_node_ranges(struct machine *m, struct boot_range *range, uint32_t node)
{
	for (uint32_t i = 0; i < m->node_range_count;) {
		const struct machine_node_range known = m->node_range[i];
		bool before = known.range.base + known.range.size == range->base;

		if (known.node != node || (!before && range->base + range->size != known.range.base)) {
			i++;
			continue;
		}
		range->base = before ? known.range.base : range->base;
		range->size += known.range.size;
		m->node_range[i] = m->node_range[--m->node_range_count];
		i = 0;
	}
}

/*
 * Adds a range that has RAM; others are room for memory that may be plugged in. One that were forgotten would be memory
 * of no node, which any cluster may have.
 */
static void add_node_range(struct machine *m, uint64_t base, uint64_t size, uint32_t node)
{
	struct boot_range range = { base, span_clip(base, size, UINT64_MAX) };

	if (range.size == 0 || ranges_common(&m->ram, range.base, range.size) == 0)
		return;
	join_node_ranges(m, &range, node);
	require(m->node_range_count <= MACHINE_MAX_NODE_RANGES);
	if (m->node_range_count == MACHINE_MAX_NODE_RANGES)
		panic("ACPI SRAT: more than %u ranges of memory, the next is at 0x%lx", MACHINE_MAX_NODE_RANGES, base);
	m->node_range[m->node_range_count++] = (struct machine_node_range){ range, node };
}

/* A proximity domain has 8 bits in tables of revision 1; what became its other bits in revision 2 is reserved there. */
static uint32_t domain_of(const struct machine *m, uint32_t domain)
{
	return m->srat_revision < 2 ? domain & 0xff : domain;
}

/* Memory affinity: an entry that is disabled says nothing. Hot-pluggable memory that is there is as any other. */
static void read_srat_memory(struct machine *m, const uint8_t *e)
{
	enum { ENABLED = 1 << 0, NON_VOLATILE = 1 << 2 };
	uint64_t base = read_u64(e + 8), size = read_u64(e + 16), ram;
	uint32_t flags = read_u32(e + 28);

	if (!(flags & ENABLED))
		return;
	ram = ranges_common(&m->ram, base, size > UINT64_MAX - base ? UINT64_MAX - base : size);
	if ((flags & NON_VOLATILE) && ram > 0)
		print("ACPI SRAT: memory at 0x%lx is non-volatile, and %lu MiB of it are RAM by the memory map: "
		      "they are used as RAM", base, ram >> 20);
	add_node_range(m, base, size, domain_of(m, read_u32(e + 2)));
}

static void read_srat_entry(struct reading *r, const uint8_t *e)
{
	struct machine *m = r->m;

	m->has_srat = true;
	switch (e[0]) {
	case 0: /* local APIC: the domain is one byte and three more */
		set_node(m, e[3], domain_of(m, e[2] | (read_u32(e + 8) & 0xffffff00)), read_u32(e + 4));
		break;
	case 1:
		read_srat_memory(m, e);
		break;
	case 2: /* local x2APIC */
		set_node(m, read_u32(e + 8), read_u32(e + 4), read_u32(e + 12));
		break;
	}
}

enum { ENTRY_TYPES = 10 };
static const uint8_t madt_least[ENTRY_TYPES] = { [0] = 8, [1] = 12, [2] = 10, [5] = 12, [9] = 16 };
static const uint8_t srat_least[ENTRY_TYPES] = { [0] = 16, [1] = 40, [2] = 24 };

/* Calls `read` for each entry (byte 0 its type, byte 1 its size) that has at least the size of its type. */
static void each_entry(struct reading *r, const uint8_t *table, uint32_t length, uint32_t first,
		       const uint8_t least[ENTRY_TYPES], void (*read)(struct reading *, const uint8_t *))
{
	for (uint32_t at = first; at + 2 <= length && table[at + 1] >= 2 && at + table[at + 1] <= length;
	     at += table[at + 1])
		if (table[at] < ENTRY_TYPES && table[at + 1] >= least[table[at]])
			read(r, table + at);
}

void acpi_read_madt(struct machine *m, const uint8_t *table, uint32_t length)
{
	struct reading r = { .m = m, .enabled = true };
	uint32_t enabled_left;

	if (length < 44)
		return;
	m->lapic_base = read_u32(table + 36) & ~(uint32_t)(PAGE - 1);
	m->has_pic = read_u32(table + 40) & 1;
	each_entry(&r, table, length, 44, madt_least, read_madt_entry);
	each_entry(&r, table, length, 44, madt_least, read_madt_cpu);
	enabled_left = r.cpus_left;
	r.enabled = false; /* places for cores, which only a refusal names */
	each_entry(&r, table, length, 44, madt_least, read_madt_cpu);
	if (r.cpus_left > 0)
		print("ACPI MADT: more than %u cores, %u enabled and %u disabled ones are left out", MACHINE_MAX_CPUS,
		      enabled_left, r.cpus_left - enabled_left);
	if (r.ioapics_left > 0)
		print("ACPI MADT: more than %u I/O APICs, %u are left out", BOOT_MAX_IOAPICS, r.ioapics_left);
	if (!in_reach(m, m->lapic_base, "MADT: the local APIC's registers"))
		m->lapic_base = read_u32(table + 36) & ~(uint32_t)(PAGE - 1);
}

void acpi_read_srat(struct machine *m, const uint8_t *table, uint32_t length)
{
	struct reading r = { .m = m };

	m->srat_revision = table[8];
	each_entry(&r, table, length, 48, srat_least, read_srat_entry);
}

/* PM1a_EVT_BLK: the status register in its first half, the enable register in the second. */
static void read_pm_events(struct machine *m, const uint8_t *table, uint32_t length)
{
	uint64_t block = read_u32(table + 56);
	uint32_t size = table[88];

	if (length >= 160 && table[148] == ADDRESS_PORT && read_u64(table + 152) != 0) /* X_PM1a_EVT_BLK */
		block = read_u64(table + 152);
	if (block == 0 || size < 4 || block > PORTS - size)
		return;
	m->pm_status = (uint32_t)block;
	m->pm_enable = (uint32_t)block + size / 2;
}

void acpi_read_fadt(struct machine *m, const uint8_t *table, uint32_t length)
{
	enum { BOOT_NO_VGA = 1 << 2, BOOT_NO_RTC = 1 << 5, TIMER_IS_32_BIT = 1 << 8, HARDWARE_REDUCED = 1 << 20 };
	uint32_t flags;
	uint64_t timer;
	uint8_t revision;

	if (length < 116)
		return;
	revision = table[8];
	flags = read_u32(table + 112);
	if (revision >= 2) {
		m->no_rtc = read_u16(table + 109) & BOOT_NO_RTC;
		m->no_vga = read_u16(table + 109) & BOOT_NO_VGA;
	}
	if (revision >= 5 && (flags & HARDWARE_REDUCED)) /* then what it says of the timer means nothing */
		return;
	timer = read_u32(table + 76);
	m->pm_timer_32 = flags & TIMER_IS_32_BIT;
	if (length >= 220 && table[208] == ADDRESS_PORT && read_u64(table + 212) != 0) /* X_PM_TMR_BLK */
		timer = read_u64(table + 212);
	m->pm_timer = timer > PORTS - 4 ? 0 : (uint32_t)timer;
	read_pm_events(m, table, length);
}

/* Bytes of an access; the generic address structure counts them as powers of two from 1, 0: not said. */
static uint32_t access_size(const uint8_t *gas)
{
	return gas[3] >= 1 && gas[3] <= 3 ? 1u << (gas[3] - 1) : 1;
}

void acpi_read_spcr(struct machine *m, const uint8_t *table, uint32_t length)
{
	enum { UART_16550 = 0, UART_16550_SUBSET = 1, UART_16550_GENERIC = 0x12 };
	static const uint32_t rate[] = { [3] = 9600, [4] = 19200, [6] = 57600, [7] = 115200 };
	const uint8_t *gas = table + 40;
	uint64_t address;
	uint32_t width, stride;

	if (length < 80 ||
	    (table[36] != UART_16550 && table[36] != UART_16550_SUBSET && table[36] != UART_16550_GENERIC))
		return;
	address = read_u64(gas + 4);
	width = access_size(gas);
	stride = gas[1] / 8u;
	if (stride != 2 && stride != 4)
		stride = 1;
	if (stride < width)
		stride = width;
	if (address == 0 || (gas[0] == ADDRESS_PORT && address > PORTS - 8) || gas[0] > ADDRESS_PORT)
		return;
	if (gas[0] == ADDRESS_MEMORY && !in_reach(m, address, "SPCR: the console's registers"))
		return;
	m->spcr = (struct boot_serial){ .base = address, .width = width, .stride = stride };
	m->spcr.kind = gas[0] == ADDRESS_PORT ? BOOT_SERIAL_PORT : BOOT_SERIAL_MEMORY;
	m->spcr_baud = table[58] < sizeof rate / sizeof *rate ? rate[table[58]] : 0;
}

void acpi_read_hpet(struct machine *m, const uint8_t *table, uint32_t length)
{
	if (length >= 56 && table[40] == ADDRESS_MEMORY && read_u64(table + 44) % 8 == 0)
		m->hpet = in_reach(m, read_u64(table + 44), "HPET: its registers") ? read_u64(table + 44) : 0;
}
