/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the ACPI tables (ACPI 6.5, 5.2.5 to 5.2.8). */
#include <string.h>

#include "acpi.h"
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
enum { RSDP_OLD_SIZE = 20, HEADER_SIZE = 36, TABLE_MAX = 1 << 20, RESERVED_FIRST = 0xa0000, TABLES_MAX = 256 };

static bool sums_to_zero(const void *data, uint64_t size)
{
	uint8_t sum = 0;

	for (const uint8_t *p = data; size > 0; size--)
		sum += *p++;
	return sum == 0;
}

static bool is_rsdp(const void *at)
{
	return memcmp(at, "RSD PTR ", 8) == 0 && sums_to_zero(at, RSDP_OLD_SIZE);
}

static uint64_t rsdp_scan(uint64_t from, uint64_t size)
{
	const char *memory = acpi_memory(from, size);

	for (uint64_t at = 0; memory != NULL && at + sizeof(struct rsdp) <= size; at += 16)
		if (is_rsdp(memory + at))
			return from + at;
	return 0;
}

/* The word at 0x40e of the BIOS's data is the segment of its extended data. */
static uint64_t find_rsdp(void)
{
	const uint8_t *bda = acpi_memory(0x40e, 2);
	uint64_t ebda = bda == NULL ? 0 : (uint64_t)(bda[0] | bda[1] << 8) << 4;
	uint64_t found = ebda >= 0x80000 && ebda < RESERVED_FIRST ? rsdp_scan(ebda, 1024) : 0;

	return found != 0 ? found : rsdp_scan(0xe0000, 0x20000);
}

/* A whole and sound table of this signature, or NULL. */
static const uint8_t *table_at(uint64_t address, const char *signature, uint32_t *length)
{
	const uint8_t *table = address == 0 ? NULL : acpi_memory(address, HEADER_SIZE);
	char name[5] = "";

	if (table == NULL || memcmp(table, signature, 4) != 0)
		return NULL;
	memcpy(name, table, 4);
	memcpy(length, table + 4, sizeof *length);
	table = *length < HEADER_SIZE || *length > TABLE_MAX ? NULL : acpi_memory(address, *length);
	if (table == NULL)
		print("ACPI table %s: length %u cannot be, the table is left out", name, *length);
	else if (!sums_to_zero(table, *length))
		print("ACPI table %s: wrong checksum, the table is left out", name);
	else
		return table;
	return NULL;
}

struct root {
	const uint8_t *table; /* XSDT or RSDT */
	uint32_t length, width, count; /* width: bytes of each pointer in it; count: pointers */
};

static struct root find_root(const struct machine *m)
{
	const struct rsdp *rsdp = m->rsdp == 0 ? NULL : acpi_memory(m->rsdp, RSDP_OLD_SIZE);
	struct root root = { .width = 8 };

	if (m->rsdp != 0 && rsdp == NULL)
		panic("no ACPI: the RSDP at 0x%lx is out of reach", m->rsdp);
	if (rsdp == NULL)
		panic("no ACPI: there is no RSDP");
	if (!is_rsdp(rsdp))
		panic("no ACPI: the RSDP is broken");
	if (rsdp->revision >= 2) {
		rsdp = acpi_memory(m->rsdp, sizeof *rsdp);
		if (rsdp != NULL)
			root.table = table_at(rsdp->xsdt, "XSDT", &root.length);
	}
	if (root.table == NULL && rsdp != NULL) {
		root.table = table_at(rsdp->rsdt, "RSDT", &root.length);
		root.width = 4;
	}
	if (root.table == NULL)
		panic("no ACPI: there is neither XSDT nor RSDT");
	root.count = (root.length - HEADER_SIZE) / root.width;
	if (root.count > TABLES_MAX) {
		print("ACPI: of %u tables only the first %u are looked at", root.count, TABLES_MAX);
		root.count = TABLES_MAX;
	}
	return root;
}

static uint64_t pointer_of(const struct root *root, uint32_t number)
{
	uint64_t address = 0;

	memcpy(&address, root->table + HEADER_SIZE + number * root->width, root->width); /* little endian */
	return address;
}

static void say_unreachable(const struct root *root)
{
	uint32_t count = 0;
	uint64_t last = 0;

	for (uint32_t i = 0; i < root->count; i++) {
		if (pointer_of(root, i) == 0 || acpi_memory(pointer_of(root, i), HEADER_SIZE) != NULL)
			continue;
		last = pointer_of(root, i);
		count++;
	}
	if (count > 0)
		print("ACPI: %u table%s out of this CPU's reach, at 0x%lx, left out", count,
		      count == 1 ? "" : "s, the last", last);
}

static const uint8_t *find_table(const struct root *root, const char *signature, uint32_t *length)
{
	for (uint32_t i = 0; i < root->count; i++) {
		const uint8_t *table = table_at(pointer_of(root, i), signature, length);

		if (table != NULL)
			return table;
	}
	return NULL;
}

void acpi_read(struct machine *m)
{
	static const struct {
		const char *signature;
		void (*read)(struct machine *, const uint8_t *, uint32_t);
	} wanted[] = { /* the SRAT is about cores of the MADT */
		{ "APIC", acpi_read_madt }, { "SRAT", acpi_read_srat }, { "FACP", acpi_read_fadt },
		{ "SPCR", acpi_read_spcr }, { "HPET", acpi_read_hpet },
	};
	struct root root;

	if (m->rsdp == 0)
		m->rsdp = find_rsdp();
	root = find_root(m);
	say_unreachable(&root);
	for (uint32_t i = 0; i < 16; i++)
		m->isa_gsi[i] = i;
	for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		uint32_t length;
		const uint8_t *table = find_table(&root, wanted[i].signature, &length);

		if (table != NULL)
			wanted[i].read(m, table, length);
	}
	if (m->cpu_count == 0)
		panic("no ACPI MADT: the cores of this machine are unknown");
}
