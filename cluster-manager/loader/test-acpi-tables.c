/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of a large server with sound firmware, and ways to edit them. */
#include <stdlib.h>
#include <string.h>

#include "test-acpi.h"

struct piece piece[MAX_PIECES];
unsigned piece_count;
struct machine machine;

const void *acpi_memory(uint64_t address, uint64_t size)
{
	for (unsigned i = 0; i < piece_count; i++) {
		const struct piece *p = &piece[i];

		if (address >= p->address && address - p->address <= p->size &&
		    size <= p->size - (address - p->address))
			return p->bytes + (address - p->address);
	}
	return NULL;
}

/* A table being written. */
uint8_t draft[TABLE_MAX];
uint32_t at;

void put(unsigned bytes, uint64_t value)
{
	for (; bytes > 0; bytes--, value >>= 8)
		draft[at++] = (uint8_t)value;
}

void begin(const char *signature, uint32_t size)
{
	memset(draft, 0, sizeof draft);
	memcpy(draft, signature, 4);
	draft[8] = 6; /* revision */
	at = size;
}

void set(uint32_t offset, unsigned bytes, uint64_t value)
{
	uint32_t end = at;

	at = offset;
	put(bytes, value);
	at = end;
}

void seal(uint8_t *table, uint32_t size)
{
	uint8_t sum = 0;

	table[CHECKSUM] = 0;
	for (uint32_t i = 0; i < size; i++)
		sum += table[i];
	table[CHECKSUM] = (uint8_t)-sum;
}

struct piece *place(uint64_t address, const void *bytes, uint32_t size)
{
	struct piece *p = &piece[piece_count++];

	*p = (struct piece){ address, size, malloc(size) };
	memcpy(p->bytes, bytes, size);
	return p;
}

static struct piece *end_at(uint64_t address)
{
	set(LENGTH, 4, at);
	seal(draft, at);
	return place(address, draft, at);
}

void cpu(uint32_t id, bool enabled)
{
	if (id < 255) {
		put(2, 8 << 8 | 0);
		put(1, id);
		put(1, id);
		put(4, enabled);
	} else {
		put(2, 16 << 8 | 9);
		put(2, 0);
		put(4, id);
		put(4, enabled);
		put(4, id);
	}
}

void io_apic(uint8_t id, uint32_t base, uint32_t first_gsi)
{
	put(2, 12 << 8 | 1);
	put(2, id);
	put(4, base);
	put(4, first_gsi);
}

static void affinity(uint32_t id, uint32_t node)
{
	if (id < 255) {
		put(2, 16 << 8 | 0);
		put(1, node & 0xff);
		put(1, id);
		put(4, 1);
		put(4, node & 0xffffff00);
		put(4, 0);
	} else {
		put(2, 24 << 8 | 2);
		put(2, 0);
		put(4, node);
		put(4, id);
		put(4, 1);
		put(8, 0);
	}
}

void memory_affinity(uint64_t base, uint64_t size, uint32_t node)
{
	put(2, 40 << 8 | 1);
	put(4, node);
	put(2, 0);
	put(8, base);
	put(8, size);
	put(4, 0);
	put(4, 1); /* enabled */
	put(8, 0);
}

struct piece *madt, *srat, *fadt, *spcr, *hpet, *rsdp, *xsdt, *rsdt;

/* Two sockets of 60 threads, ids 0 .. 59 and 256 .. 315; three I/O APICs; IRQ 0 at 2, IRQ 9 level low. */
static void make_madt(void)
{
	begin("APIC", MADT_FIRST);
	set(36, 4, 0xfee00000);
	set(40, 4, 1);
	for (uint32_t i = 0; i < 60; i++)
		cpu(i, true);
	for (uint32_t i = 0; i < 60; i++)
		cpu(256 + i, i != 59);
	io_apic(8, 0xfec00000, 0);
	io_apic(9, 0xfec01000, 24);
	io_apic(10, 0xfec40000, 48);
	put(8, 2ull << 32 | 0 << 24 | 0 << 16 | 10 << 8 | 2);
	put(2, 0);
	put(8, 9ull << 32 | 9 << 24 | 0 << 16 | 10 << 8 | 2);
	put(2, 0xf);
	madt = end_at(0x70001000);
}

static void make_srat(void)
{
	begin("SRAT", SRAT_FIRST);
	for (uint32_t i = 0; i < 60; i++)
		affinity(i, 0);
	for (uint32_t i = 0; i < 60; i++)
		affinity(256 + i, 300);
	memory_affinity(0x100000000, 0x40000000, 300);
	srat = end_at(0x70002000);
}

static void make_others(void)
{
	begin("FACP", 276);
	set(56, 4, 0x400);
	set(76, 4, 0x408);
	set(88, 1, 4);
	set(112, 4, 1 << 8);
	fadt = end_at(0x70003000);

	begin("SPCR", 80);
	set(36, 1, 0x12);
	set(40, 4, 3 << 24 | 32 << 8 | 0); /* memory, registers of 32 bits, accesses of 32 bits */
	set(44, 8, 0xfe034000);
	set(58, 1, 7);
	spcr = end_at(0x70004000);

	begin("HPET", 56);
	set(44, 8, 0xfed00000);
	hpet = end_at(0x70005000);
}

static void make_roots(void)
{
	const struct piece *table[] = { fadt, madt, srat, spcr, hpet };
	uint8_t sum = 0;

	begin("XSDT", HEADER);
	for (unsigned i = 0; i < 5; i++)
		put(8, table[i]->address);
	xsdt = end_at(0x70000000);
	begin("RSDT", HEADER);
	for (unsigned i = 0; i < 5; i++)
		put(4, table[i]->address);
	rsdt = end_at(0x70000800);

	memset(draft, 0, 36);
	memcpy(draft, "RSD PTR ", 8);
	draft[15] = 2;
	at = 36;
	set(16, 4, rsdt->address);
	set(20, 4, 36);
	set(24, 8, xsdt->address);
	for (unsigned i = 0; i < 20; i++)
		sum += draft[i];
	draft[8] = (uint8_t)-sum;
	rsdp = place(0x6fff0000, draft, 36);
}

void drop_firmware(void)
{
	while (piece_count > 0)
		free(piece[--piece_count].bytes);
}

void make_firmware(void)
{
	drop_firmware();
	make_madt();
	make_srat();
	make_others();
	make_roots();
	memset(&machine, 0, sizeof machine);
	machine.address_limit = 1ul << 46;
	machine.rsdp = rsdp->address;
	host_words[0] = '\0';
}

/* The draft in place of a table. */
void replace(struct piece *p)
{
	set(LENGTH, 4, at);
	seal(draft, at);
	free(p->bytes);
	p->size = at;
	p->bytes = memcpy(malloc(at), draft, at);
}

void rewrite(struct piece *p, uint32_t offset, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p->bytes[offset + i] = (uint8_t)(value >> 8 * i);
	seal(p->bytes, p->size);
}
