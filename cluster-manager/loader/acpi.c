/* SPDX-License-Identifier: BSD-2-Clause */
/* The ACPI tables that say which cores, nodes and interrupt controllers there are (ACPI 6.5, 5.2). */
#include <string.h>

#include "loader.h"

struct __attribute__((packed)) rsdp {
	char signature[8];
	uint8_t checksum;
	char oem[6];
	uint8_t revision;
	uint32_t rsdt;
	uint32_t length; /* from here on with revision 2 and above */
	uint64_t xsdt;
	uint8_t extended_checksum, reserved[3];
};

struct __attribute__((packed)) table {
	char signature[4];
	uint32_t length;
	uint8_t revision, checksum;
	char oem[6], oem_table[8];
	uint32_t oem_revision, creator, creator_revision;
};

/* Fields are read at offsets of the specification; nothing in the tables is aligned. */
static uint32_t u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

static bool sums_to_zero(const void *data, uint64_t size)
{
	uint8_t sum = 0;

	for (const uint8_t *p = data; size > 0; size--)
		sum += *p++;
	return sum == 0;
}

static uint64_t scan(uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at + 20 <= to; at += 16)
		if (memcmp((const void *)at, "RSD PTR ", 8) == 0 && sums_to_zero((const void *)at, 20))
			return at;
	return 0;
}

/* The BIOS data area at 0x400 holds the segment of the extended one at 0x40e. */
static uint64_t find_rsdp(void)
{
	uint64_t bda = 0x400, ebda;

	__asm__("" : "+r"(bda)); /* the compiler takes small constant addresses for null pointers */
	ebda = (uint64_t)*(const volatile uint16_t *)(bda + 0xe) << 4;
	uint64_t found = ebda >= 0x80000 && ebda < 0xa0000 ? scan(ebda, ebda + 1024) : 0;

	return found != 0 ? found : scan(0xe0000, 0x100000);
}

static void identity_map_table(uint64_t at)
{
	identity_extend(at + PAGE_SIZE);
	identity_extend(at + ((const struct table *)at)->length);
}

static const uint8_t *find_table(const struct rsdp *rsdp, const char *signature, uint32_t *length)
{
	bool wide = rsdp->revision >= 2 && rsdp->xsdt != 0;
	uint64_t root = wide ? rsdp->xsdt : rsdp->rsdt;
	uint32_t width = wide ? 8 : 4;

	identity_map_table(root);
	for (uint32_t at = sizeof(struct table); at + width <= ((const struct table *)root)->length; at += width) {
		const uint8_t *entry = (const uint8_t *)root + at;
		uint64_t address = wide ? u64(entry) : u32(entry);
		const struct table *table = (const void *)address;

		if (address == 0)
			continue;
		identity_map_table(address);
		if (memcmp(table->signature, signature, 4) == 0 && table->length >= sizeof *table) {
			*length = table->length;
			return (const uint8_t *)table;
		}
	}
	return NULL;
}

static void add_cpu(struct machine *m, uint32_t apic, uint32_t flags)
{
	const struct machine_cpu *known = machine_cpu(m, apic);

	if (known != NULL) { /* may be there as APIC and as x2APIC */
		m->cpu[known - m->cpu].enabled |= flags & 1;
		return;
	}
	if (m->cpu_count < MACHINE_MAX_CPUS)
		m->cpu[m->cpu_count++] = (struct machine_cpu){ .apic = apic, .enabled = flags & 1 };
}

static void read_madt_entry(struct machine *m, const uint8_t *e)
{
	switch (e[0]) {
	case 0: /* local APIC; id 255 stands for none */
		if (e[3] != 0xff)
			add_cpu(m, e[3], u32(e + 4));
		break;
	case 1:
		if (m->ioapic_count < BOOT_MAX_IOAPICS)
			m->ioapic[m->ioapic_count++] =
				(struct boot_ioapic){ .base = u32(e + 4), .id = e[2], .gsi_base = u32(e + 8) };
		break;
	case 2: /* ISA interrupt override */
		if (e[3] < 16) {
			m->isa_gsi[e[3]] = u32(e + 4);
			m->isa_flags[e[3]] = (uint32_t)e[8] | (uint32_t)e[9] << 8;
		}
		break;
	case 5:
		m->lapic_base = u64(e + 4);
		break;
	case 9: /* local x2APIC */
		add_cpu(m, u32(e + 4), u32(e + 8));
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

static void read_srat_entry(struct machine *m, const uint8_t *e)
{
	m->has_srat = true;
	switch (e[0]) {
	case 0: /* local APIC: the domain is one byte and three more */
		set_node(m, e[3], e[2] | (u32(e + 8) & 0xffffff00), u32(e + 4));
		break;
	case 1:
		if ((u32(e + 28) & 1) && u64(e + 16) != 0 && m->node_range_count < MACHINE_MAX_NODE_RANGES)
			m->node_range[m->node_range_count++] =
				(struct machine_node_range){ { u64(e + 8), u64(e + 16) }, u32(e + 2) };
		break;
	case 2: /* local x2APIC */
		set_node(m, u32(e + 8), u32(e + 4), u32(e + 12));
		break;
	}
}

enum { ENTRY_TYPES = 10 };
static const uint8_t madt_least[ENTRY_TYPES] = { [0] = 8, [1] = 12, [2] = 10, [5] = 12, [9] = 16 };
static const uint8_t srat_least[ENTRY_TYPES] = { [0] = 16, [1] = 40, [2] = 24 };

/* Calls `read` for each entry (byte 0 its type, byte 1 its size) that has at least the size of its type. */
static void each_entry(struct machine *m, const uint8_t *table, uint32_t length, uint32_t first,
		       const uint8_t least[ENTRY_TYPES], void (*read)(struct machine *, const uint8_t *))
{
	for (uint32_t at = first; at + 2 <= length && table[at + 1] >= 2 && at + table[at + 1] <= length;
	     at += table[at + 1])
		if (table[at] < ENTRY_TYPES && table[at + 1] >= least[table[at]])
			read(m, table + at);
}

static void read_fadt(struct machine *m, const uint8_t *fadt, uint32_t length)
{
	if (length >= 116) {
		m->pm_timer = u32(fadt + 76);
		m->pm_timer_32 = u32(fadt + 112) >> 8 & 1;
	}
	if (length >= 220 && fadt[208] == 1 && u64(fadt + 212) != 0) /* X_PM_TMR_BLK in I/O space */
		m->pm_timer = (uint32_t)u64(fadt + 212);
}

void acpi_read(struct machine *m)
{
	const struct rsdp *rsdp;
	const uint8_t *table;
	uint32_t length;

	if (m->rsdp == 0)
		m->rsdp = find_rsdp();
	if (m->rsdp == 0)
		die("no ACPI: there is no RSDP");
	identity_extend(m->rsdp + sizeof *rsdp);
	rsdp = (const void *)m->rsdp;
	for (uint32_t i = 0; i < 16; i++)
		m->isa_gsi[i] = i;

	table = find_table(rsdp, "APIC", &length);
	if (table == NULL || length < 44)
		die("no ACPI MADT: the cores of this machine are unknown");
	m->lapic_base = u32(table + 36);
	each_entry(m, table, length, 44, madt_least, read_madt_entry);
	table = find_table(rsdp, "SRAT", &length);
	if (table != NULL)
		each_entry(m, table, length, 48, srat_least, read_srat_entry);
	table = find_table(rsdp, "FACP", &length);
	if (table != NULL)
		read_fadt(m, table, length);
}
