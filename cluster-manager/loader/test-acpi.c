/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ACPI reader against synthetic firmware: tables of a large server, what
 * broken and hostile firmware may say, and random damage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acpi.h"
#include "host.h"

enum { SEED = 20261121, DAMAGED = 20000, MAX_PIECES = 16, TABLE_MAX = 1 << 17 };
enum { LENGTH = 4, REVISION = 8, CHECKSUM = 9, HEADER = 36, MADT_FIRST = 44, SRAT_FIRST = 48 };

/*
 * Physical memory: pieces with nothing between them. Each table lies in memory of exactly its size, so that
 * AddressSanitizer sees a read past it.
 */
struct piece {
	uint64_t address;
	uint32_t size;
	uint8_t *bytes;
};

static struct piece piece[MAX_PIECES];
static unsigned piece_count;
static struct machine machine;

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

enum { ENABLED = 1, HOT_PLUGGABLE = 2, NON_VOLATILE = 4 };

static void memory_affinity(uint64_t base, uint64_t size, uint32_t node, uint32_t flags)
{
	put(2, 40 << 8 | 1);
	put(4, node);
	put(2, 0);
	put(8, base);
	put(8, size);
	put(4, 0);
	put(4, flags);
	put(8, 0);
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
	memory_affinity(0x100000000, 0x40000000, 300, ENABLED);
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

static void drop_firmware(void)
{
	while (piece_count > 0)
		free(piece[--piece_count].bytes);
}

static void make_firmware(void)
{
	drop_firmware();
	make_madt();
	make_srat();
	make_others();
	make_roots();
	memset(&machine, 0, sizeof machine);
	machine.address_limit = 1ul << 46;
	machine.rsdp = rsdp->address;
	ranges_add(&machine.ram, 0, 1ul << 45); /* less what a test takes from it */
	host_words[0] = '\0';
}

/* Puts the draft in place of a table. */
static void replace(struct piece *p)
{
	set(LENGTH, 4, at);
	seal(draft, at);
	free(p->bytes);
	p->size = at;
	p->bytes = memcpy(malloc(at), draft, at);
}

/* Changes bytes of a table and makes its checksum right again. */
static void rewrite(struct piece *p, uint32_t offset, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p->bytes[offset + i] = (uint8_t)(value >> 8 * i);
	seal(p->bytes, p->size);
}

/* Returns whether it was read; else host_words says why not. */
static bool read_all(void)
{
	return HOST_TRY(acpi_read(&machine));
}

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
	CHECK(host_words[0] == '\0');
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
	make_firmware();
	rewrite(fadt, 56, 4, 0xffffffff); /* with its length of 255 the sum has no room in 32 bits */
	rewrite(fadt, 88, 1, 255);
	CHECK(read_all() && machine.pm_status == 0 && machine.pm_enable == 0);
	make_firmware();
	rewrite(fadt, 208, 1, 1);
	rewrite(fadt, 212, 8, 0x100000608);
	CHECK(read_all() && machine.pm_timer == 0);

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

/* 300 is 256 and 44: the other bits are reserved in revision 1, and count from revision 2 on. */
static void srat_revisions(void)
{
	for (uint8_t revision = 0; revision < 4; revision++) {
		make_firmware();
		rewrite(srat, REVISION, 1, revision);
		CHECK(read_all() && machine.has_srat && machine.node_range_count == 1);
		CHECK(machine.node_range[0].node == (revision < 2 ? 44 : 300));
		make_firmware();
		rewrite(srat, REVISION, 1, revision);
		rewrite(srat, SRAT_FIRST + 8, 4, 0xa5a5a500); /* of the first core's domain */
		CHECK(read_all() && machine_cpu(&machine, 0)->has_node);
		CHECK(machine_cpu(&machine, 0)->node == (revision < 2 ? 0 : 0xa5a5a500));
	}
}

static void broken(void)
{
	make_firmware();
	madt->bytes[50] ^= 1;
	CHECK(!read_all() && strstr(host_words, "MADT"));
	make_firmware();
	srat->bytes[50] ^= 1;
	CHECK(read_all() && !machine.has_srat && strstr(host_words, "SRAT: wrong checksum"));
	make_firmware();
	rewrite(srat, LENGTH, 4, 0);
	CHECK(read_all() && !machine.has_srat && strstr(host_words, "SRAT: length 0"));
	make_firmware();
	rewrite(srat, LENGTH, 4, srat->size + 1); /* beyond memory */
	CHECK(read_all() && !machine.has_srat);
	make_firmware();
	rewrite(madt, MADT_FIRST + 8 + 1, 1, 0); /* the second entry has no length: what follows cannot be known */
	CHECK(read_all() && machine.cpu_count == 1);
	make_firmware();
	rewrite(madt, MADT_FIRST + 1, 1, 7); /* shorter than its kind: left out; the next begins a byte too early */
	CHECK(read_all() || strstr(host_words, "MADT"));
	make_firmware();
	rewrite(madt, madt->size - 9, 1, 0xff); /* the last entry ends beyond the table */
	CHECK(read_all() && machine.isa_flags[9] == 0);
	make_firmware();
	rsdp->bytes[0] = 'X';
	CHECK(!read_all() && strstr(host_words, "RSDP is broken"));
	make_firmware();
	xsdt->bytes[0] = rsdt->bytes[0] = 'Y';
	CHECK(!read_all() && strstr(host_words, "neither XSDT nor RSDT"));
	make_firmware();
	machine.rsdp = 0;
	CHECK(!read_all() && strstr(host_words, "no RSDP"));
	make_firmware();
	rewrite(xsdt, HEADER, 8, xsdt->address); /* a table of tables in itself, and pointers to nowhere */
	rewrite(xsdt, HEADER + 8, 8, UINT64_MAX - 3);
	CHECK(!read_all() && strstr(host_words, "MADT"));
}

/* Addresses that the CPU, with its 46 bits, cannot have: reading there would be a fault. */
static void out_of_reach(void)
{
	make_firmware();
	rewrite(spcr, 44, 8, 1ul << 46);
	CHECK(read_all() && machine.spcr.kind == BOOT_SERIAL_NONE &&
	      strstr(host_words, "SPCR: the console's registers at 0x4000"));
	make_firmware();
	rewrite(hpet, 44, 8, 1ul << 52);
	CHECK(read_all() && machine.hpet == 0 && strstr(host_words, "HPET: its registers at 0x1000"));
	make_firmware();
	rewrite(xsdt, HEADER, 8, 1ul << 50);
	CHECK(read_all() && strstr(host_words, "1 table out of this CPU's reach, at 0x4000000000000"));
	make_firmware();
	machine.rsdp = 1ul << 60;
	CHECK(!read_all() && strstr(host_words, "the RSDP at 0x1000000000000000 is out of reach"));
	make_firmware();
	begin("APIC", MADT_FIRST);
	set(36, 4, 0xfee00123);
	cpu(UINT32_MAX, true); /* all of them: none */
	cpu(300, true);
	put(2, 12 << 8 | 5);
	put(2, 0);
	put(8, UINT64_MAX);
	replace(madt);
	CHECK(read_all() && machine.cpu_count == 1 && machine.lapic_base == 0xfee00000 &&
	      strstr(host_words, "local APIC"));
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

/* Every second core is there; the others are places. */
static void too_many_cores(void)
{
	make_firmware();
	begin("APIC", MADT_FIRST);
	for (uint32_t i = 0; i < 7000; i++)
		cpu(300 + i * 7, i % 2);
	replace(madt);
	CHECK(read_all() && machine.cpu_count == MACHINE_MAX_CPUS);
	for (uint32_t i = 0; i < MACHINE_MAX_CPUS; i++)
		CHECK(machine.cpu[i].enabled == (i < 3500));
	CHECK(strstr(host_words, "MADT: more than 4096 cores, 0 enabled and 2904 disabled ones are left out"));
	make_firmware();
	begin("APIC", MADT_FIRST);
	for (uint32_t i = 0; i < MACHINE_MAX_CPUS + 2; i++)
		cpu(300 + i, i != 7);
	replace(madt);
	CHECK(read_all() && machine.cpu_count == MACHINE_MAX_CPUS && machine_cpu(&machine, 307) == NULL);
	CHECK(strstr(host_words, "1 enabled and 1 disabled ones are left out"));
	make_firmware(); /* an old entry of a core that is disabled, and its new one */
	begin("APIC", MADT_FIRST);
	cpu(7, false);
	cpu(7, true);
	replace(madt);
	CHECK(read_all() && machine.cpu_count == 1 && machine.cpu[0].enabled && host_words[0] == '\0');
}

static void too_many_io_apics(void)
{
	make_firmware();
	begin("APIC", MADT_FIRST);
	cpu(0, true);
	for (uint32_t i = 0; i < 2 * BOOT_MAX_IOAPICS; i++)
		io_apic((uint8_t)i, 0xfec00000 + i * 0x1000, i * 24);
	replace(madt);
	CHECK(read_all() && machine.ioapic_count == BOOT_MAX_IOAPICS && strstr(host_words, "I/O APICs, "));
}

/* Ranges of a node that touch are one; ranges without RAM are none. */
static void node_ranges(void)
{
	make_firmware();
	begin("SRAT", SRAT_FIRST);
	for (uint64_t i = 0; i <= MACHINE_MAX_NODE_RANGES; i++)
		memory_affinity(i << 24, 1 << 24, (uint32_t)i % 2, ENABLED);
	replace(srat);
	CHECK(!read_all() && strstr(host_words, "SRAT: more than 512 ranges of memory, the next is at 0x200000000"));
	make_firmware();
	begin("SRAT", SRAT_FIRST);
	for (uint64_t i = 0; i < 4 * 256; i++) /* of four nodes, each second range before the one below it */
		memory_affinity((i ^ 1) << 24, 1 << 24, (uint32_t)(i >> 8), ENABLED);
	replace(srat);
	CHECK(read_all() && machine.node_range_count == 4);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(machine.node_range[i].range.base == (uint64_t)machine.node_range[i].node << 32 &&
		      machine.node_range[i].range.size == 1ul << 32);
	make_firmware();
	ranges_remove(&machine.ram, 1ul << 40, 1ul << 40);
	begin("SRAT", SRAT_FIRST);
	for (uint64_t i = 0; i < MACHINE_MAX_NODE_RANGES; i++) /* places for memory, and an expander that has none */
		memory_affinity((1ul << 40) + (i << 25), 1 << 24, 3, ENABLED | HOT_PLUGGABLE);
	memory_affinity(0, 1 << 30, 0, HOT_PLUGGABLE); /* disabled */
	memory_affinity(0, 1 << 30, 1, ENABLED | HOT_PLUGGABLE);
	memory_affinity(1ul << 30, 1 << 30, 2, ENABLED);
	replace(srat);
	CHECK(read_all() && machine.node_range_count == 2 && host_words[0] == '\0');
	CHECK(machine.node_range[0].node == 1 && machine.node_range[1].node == 2);
	make_firmware();
	begin("SRAT", SRAT_FIRST);
	memory_affinity(1ul << 40, UINT64_MAX, 1, ENABLED); /* past the last address */
	replace(srat);
	CHECK(read_all() && machine.node_range_count == 1);
	CHECK(machine.node_range[0].range.size == UINT64_MAX - (1ul << 40));
}

/* Non-volatile memory is no node where it is no RAM; where it is, a line says so. */
static void non_volatile(void)
{
	make_firmware();
	ranges_remove(&machine.ram, 1ul << 40, 1ul << 40);
	begin("SRAT", SRAT_FIRST);
	memory_affinity(1ul << 40, 1ul << 36, 4, ENABLED | NON_VOLATILE);
	replace(srat);
	CHECK(read_all() && machine.node_range_count == 0 && host_words[0] == '\0');
	ranges_add(&machine.ram, 1ul << 40, 1ul << 35);
	CHECK(read_all() && machine.node_range_count == 1);
	CHECK(strstr(host_words, "memory at 0x10000000000 is non-volatile, and 32768 MiB of it are RAM"));
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
			CHECK(read_all() || strstr(host_words, "MADT"));
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
	srat_revisions();
	broken();
	out_of_reach();
	found_by_scan();
	too_many_cores();
	too_many_io_apics();
	node_ranges();
	non_volatile();
	shortened();
	stunted();
	damaged();
	drop_firmware();
	return host_failures != 0;
}
