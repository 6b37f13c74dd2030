/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ACPI reader against synthetic firmware: what a large server says, what
 * broken and hostile firmware may say, and random damage. Each table lies in
 * memory of exactly its size, so that AddressSanitizer sees a read past it.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acpi.h"
#include "loader.h"

enum { MAX_PIECES = 16, TABLE_MAX = 32768, SEED = 20261121, DAMAGED = 20000 };
enum { LENGTH = 4, CHECKSUM = 9, HEADER = 36, MADT_FIRST = 44, SRAT_FIRST = 48 };

/* Physical memory: pieces with nothing between them. */
static struct piece {
	uint64_t address;
	uint32_t size;
	uint8_t *bytes;
} piece[MAX_PIECES];
static unsigned piece_count;

static struct machine machine;
static char last_words[256];
static jmp_buf refused;

const void *acpi_memory(uint64_t address, uint64_t size)
{
	for (unsigned i = 0; i < piece_count; i++) {
		const struct piece *p = &piece[i];

		if (address >= p->address && address - p->address <= p->size && size <= p->size - (address - p->address))
			return p->bytes + (address - p->address);
	}
	return NULL;
}

static void keep(const char *format, va_list args)
{
	text_format(last_words, sizeof last_words, format, args);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
	longjmp(refused, 1);
}

/* A table being written. */
static uint8_t draft[TABLE_MAX];
static uint32_t at;

static void put(unsigned bytes, uint64_t value)
{
	for (; bytes > 0; bytes--, value >>= 8)
		draft[at++] = (uint8_t)value;
}

static void begin(const char *signature, uint32_t size)
{
	memset(draft, 0, sizeof draft);
	memcpy(draft, signature, 4);
	draft[8] = 6; /* revision */
	at = size;
}

static void set(uint32_t offset, unsigned bytes, uint64_t value)
{
	uint32_t end = at;

	at = offset;
	put(bytes, value);
	at = end;
}

static void seal(uint8_t *table, uint32_t size)
{
	uint8_t sum = 0;

	table[CHECKSUM] = 0;
	for (uint32_t i = 0; i < size; i++)
		sum += table[i];
	table[CHECKSUM] = (uint8_t)-sum;
}

static struct piece *place(uint64_t address, const void *bytes, uint32_t size)
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

static void cpu(uint32_t id, bool enabled)
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

static void io_apic(uint8_t id, uint32_t base, uint32_t first_gsi)
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

static struct piece *madt, *srat, *fadt, *spcr, *hpet, *rsdp, *xsdt, *rsdt;

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
	put(2, 40 << 8 | 1);
	put(4, 300);
	put(2, 0);
	put(8, 0x100000000);
	put(8, 0x40000000);
	put(4, 0);
	put(4, 1);
	put(8, 0);
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

static void make_firmware(void)
{
	while (piece_count > 0)
		free(piece[--piece_count].bytes);
	make_madt();
	make_srat();
	make_others();
	make_roots();
	memset(&machine, 0, sizeof machine);
	machine.rsdp = rsdp->address;
	last_words[0] = '\0';
}

/* Whether it was read; else last_words says why not. */
static bool read_all(void)
{
	if (setjmp(refused) != 0)
		return false;
	acpi_read(&machine);
	return true;
}

static int failures;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s does not hold (\"%s\")\n", what, last_words);
	failures++;
}
#define CHECK(condition) check(condition, #condition)

static void sound(void)
{
	make_firmware();
	CHECK(read_all());
	CHECK(machine.cpu_count == 120 && machine.cpu[119].apic == 315);
	CHECK(machine.cpu[118].enabled && !machine.cpu[119].enabled);
	CHECK(machine_cpu(&machine, 300)->has_node && machine_cpu(&machine, 300)->node == 300);
	CHECK(machine_cpu(&machine, 0)->has_node && machine_cpu(&machine, 0)->node == 0);
	CHECK(machine.ioapic_count == 3 && machine.ioapic[2].base == 0xfec40000 && machine.ioapic[2].gsi_base == 48);
	CHECK(machine.isa_gsi[0] == 2 && machine.isa_gsi[1] == 1 && machine.isa_flags[9] == 0xf);
	CHECK(machine.node_range_count == 1 && machine.node_range[0].node == 300);
	CHECK(machine.lapic_base == 0xfee00000 && machine.has_pic);
	CHECK(machine.pm_timer == 0x408 && machine.pm_timer_32 && !machine.no_rtc);
	CHECK(machine.pm_status == 0x400 && machine.pm_enable == 0x402);
	CHECK(machine.spcr.kind == BOOT_SERIAL_MEMORY && machine.spcr.base == 0xfe034000 && machine.spcr.stride == 4 &&
	      machine.spcr.width == 4 && machine.spcr_baud == 115200);
	CHECK(machine.hpet == 0xfed00000);
	CHECK(last_words[0] == '\0');
}

static void rewrite(struct piece *p, uint32_t offset, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p->bytes[offset + i] = (uint8_t)(value >> 8 * i);
	seal(p->bytes, p->size);
}

static void variants(void)
{
	make_firmware();
	rewrite(fadt, 112, 4, 1 << 20);
	rewrite(fadt, 109, 2, 1 << 5 | 1 << 2);
	rewrite(madt, 40, 4, 0);
	CHECK(read_all() && machine.pm_timer == 0 && machine.no_rtc && machine.no_vga && !machine.has_pic);
	CHECK(machine.pm_status == 0);
	make_firmware();
	rewrite(fadt, 148, 4, 32 << 8 | 1);
	rewrite(fadt, 152, 8, 0x1800);
	CHECK(read_all() && machine.pm_status == 0x1800 && machine.pm_enable == 0x1802);
	make_firmware();
	rewrite(fadt, 148, 4, 32 << 8 | 1);
	rewrite(fadt, 152, 8, 0x100001800);
	CHECK(read_all() && machine.pm_status == 0);

	make_firmware(); /* as ACPI 1.0 had it */
	xsdt->bytes[0] = 'Y';
	CHECK(read_all() && machine.cpu_count == 120);
	make_firmware();
	rewrite(spcr, 40, 4, 1 << 24 | 8 << 8 | 1);
	rewrite(spcr, 44, 8, 0x3e8);
	rewrite(spcr, 58, 1, 0);
	CHECK(read_all() && machine.spcr.kind == BOOT_SERIAL_PORT && machine.spcr.base == 0x3e8 &&
	      machine.spcr.stride == 1 && machine.spcr.width == 1 && machine.spcr_baud == 0);
	make_firmware();
	rewrite(spcr, 36, 1, 3); /* another kind of UART */
	CHECK(read_all() && machine.spcr.kind == BOOT_SERIAL_NONE);
}

static void broken(void)
{
	make_firmware();
	madt->bytes[50] ^= 1;
	CHECK(!read_all() && strstr(last_words, "MADT"));
	make_firmware();
	srat->bytes[50] ^= 1;
	CHECK(read_all() && !machine.has_srat && strstr(last_words, "SRAT: wrong checksum"));
	make_firmware();
	rewrite(srat, LENGTH, 4, 0);
	CHECK(read_all() && !machine.has_srat && strstr(last_words, "SRAT: length 0"));
	make_firmware();
	rewrite(srat, LENGTH, 4, srat->size + 1); /* beyond memory */
	CHECK(read_all() && !machine.has_srat);
	make_firmware();
	rewrite(madt, MADT_FIRST + 8 + 1, 1, 0); /* the second entry has no length: what follows cannot be known */
	CHECK(read_all() && machine.cpu_count == 1);
	make_firmware();
	rewrite(madt, MADT_FIRST + 1, 1, 7); /* shorter than its kind: left out; the next begins a byte too early */
	CHECK(read_all() || strstr(last_words, "MADT"));
	make_firmware();
	rewrite(madt, madt->size - 9, 1, 0xff); /* the last entry ends beyond the table */
	CHECK(read_all() && machine.isa_flags[9] == 0);
	make_firmware();
	rsdp->bytes[0] = 'X';
	CHECK(!read_all() && strstr(last_words, "RSDP is broken"));
	make_firmware();
	xsdt->bytes[0] = rsdt->bytes[0] = 'Y';
	CHECK(!read_all() && strstr(last_words, "neither XSDT nor RSDT"));
	make_firmware();
	machine.rsdp = 0;
	CHECK(!read_all() && strstr(last_words, "no RSDP"));
	make_firmware();
	rewrite(xsdt, HEADER, 8, xsdt->address); /* a table of tables in itself, and pointers to nowhere */
	rewrite(xsdt, HEADER + 8, 8, UINT64_MAX - 3);
	CHECK(!read_all() && strstr(last_words, "MADT"));
}

static void found_by_scan(void)
{
	static uint8_t bios[0x20000];

	make_firmware();
	memcpy(bios + 0x1ff0 - 0x1ff0 % 16, rsdp->bytes, 36);
	place(0xe0000, bios, sizeof bios);
	machine.rsdp = 0;
	CHECK(read_all() && machine.cpu_count == 120);
}

/* Random bytes, checksums right: nothing may be read outside, no table overrun. */
static void damaged(void)
{
	srand(SEED);
	for (int i = 0; i < DAMAGED; i++) {
		struct piece *p;

		make_firmware();
		p = &piece[(unsigned)rand() % piece_count];
		for (int n = rand() % 6; n >= 0; n--)
			p->bytes[(unsigned)rand() % p->size] = (uint8_t)(rand() % 3 ? rand() : 255);
		if (p != rsdp)
			seal(p->bytes, p->size);
		read_all();
		CHECK(machine.cpu_count <= MACHINE_MAX_CPUS && machine.ioapic_count <= BOOT_MAX_IOAPICS);
		CHECK(machine.node_range_count <= MACHINE_MAX_NODE_RANGES);
		CHECK(machine.spcr.kind == BOOT_SERIAL_NONE || (machine.spcr.stride >= 1 && machine.spcr.stride <= 4));
		CHECK(machine.pm_timer <= 0xffff - 3 && machine.hpet % 8 == 0);
		CHECK(machine.pm_status <= 0xffff && machine.pm_enable <= 0xffff);
	}
}

/* The draft in place of a table. */
static void replace(struct piece *p)
{
	set(LENGTH, 4, at);
	seal(draft, at);
	free(p->bytes);
	p->size = at;
	p->bytes = memcpy(malloc(at), draft, at);
}

static void too_many(void)
{
	make_firmware();
	begin("APIC", MADT_FIRST);
	for (uint32_t i = 0; at + 16 <= TABLE_MAX; i++)
		cpu(300 + i * 7, true);
	replace(madt);
	CHECK(read_all() && machine.cpu_count == MACHINE_MAX_CPUS);

	make_firmware();
	begin("APIC", MADT_FIRST);
	cpu(0, true);
	for (uint32_t i = 0; i < 2 * BOOT_MAX_IOAPICS; i++)
		io_apic((uint8_t)i, 0xfec00000 + i * 0x1000, i * 24);
	replace(madt);
	CHECK(read_all() && machine.ioapic_count == BOOT_MAX_IOAPICS);
}

/* Tables that end at each of their bytes, lengths and checksums right. */
static void shortened(void)
{
	struct piece **const table[] = { &madt, &srat, &fadt, &spcr, &hpet };

	for (unsigned which = 0; which < 5; which++) {
		make_firmware();
		for (uint32_t size = (*table[which])->size; size-- > HEADER;) {
			struct piece *p;

			make_firmware();
			p = *table[which];
			memcpy(draft, p->bytes, size);
			at = size;
			replace(p);
			CHECK(read_all() || strstr(last_words, "MADT"));
		}
	}
}

/* A last entry of each kind that is shorter than its kind. */
static void stunted(void)
{
	for (unsigned type = 0; type < 12; type++) {
		for (unsigned size = 2; size < 40; size++) {
			for (unsigned which = 0; which < 2; which++) {
				make_firmware();
				begin(which == 0 ? "APIC" : "SRAT", which == 0 ? MADT_FIRST : SRAT_FIRST);
				if (which == 0)
					cpu(7, true);
				put(2, size << 8 | type);
				for (unsigned i = 2; i < size; i++)
					put(1, 1);
				replace(which == 0 ? madt : srat);
				CHECK(read_all());
			}
		}
	}
}

int main(void)
{
	printf("seed %d\n", SEED);
	sound();
	variants();
	broken();
	found_by_scan();
	too_many();
	shortened();
	stunted();
	damaged();
	make_firmware();
	while (piece_count > 0)
		free(piece[--piece_count].bytes);
	return failures != 0;
}
