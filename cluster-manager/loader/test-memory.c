/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory maps, boot information and archives that are broken: what is reserved never becomes RAM, each error says
 * where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define MIB (1ul << 20)
#define GIB (1ul << 30)
enum { RESERVED_MAX = 1024 };

static struct machine machine;

static void fresh(void)
{
	memset(&machine, 0, sizeof machine);
	memory_forget();
	memory_reach(1ul << 40);
	host_words[0] = '\0';
	memory_note(&machine, MIB, 2 * GIB - MIB, true, true);
}

static bool settled(void)
{
	return HOST_TRY(memory_settle(&machine));
}

static void reserved(void)
{
	fresh();
	memory_note(&machine, GIB, -GIB, false, false); /* its end is 2^64 */
	CHECK(settled() && machine.ram.count == 1 && machine.ram.at[0].size == GIB - MIB);
	fresh();
	memory_note(&machine, GIB, UINT64_MAX - GIB + 4096, false, false); /* past it */
	CHECK(settled() && machine.ram.count == 1 && machine.ram.at[0].size == GIB - MIB);
	fresh();
	memory_note(&machine, 1ul << 45, GIB, true, true);
	CHECK(settled() && machine.ram.count == 1 && strstr(host_words, "1024 MiB of RAM at 0x10000000000 and above"));
	fresh();
	memory_note(&machine, (1ul << 40) - GIB, -((1ul << 40) - GIB), true, true);
	CHECK(settled() && ranges_total(&machine.ram) == 3 * GIB - MIB);
}

/* More than a set of ranges holds: none may be forgotten, whatever their order. */
static void many_reserved(bool descending, uint64_t count)
{
	fresh();
	for (uint64_t i = 0; i < count; i++)
		memory_note(&machine, 16 * MIB + (descending ? count - 1 - i : i) * MIB, MIB / 2, false, false);
	CHECK(settled());
	for (uint64_t i = 0; i < count; i++)
		CHECK(ranges_common(&machine.ram, 16 * MIB + i * MIB, MIB / 2) == 0);
}

static void too_many_reserved(void)
{
	fresh();
	for (uint64_t i = 0; i < RESERVED_MAX; i++)
		memory_note(&machine, 16 * MIB + i * MIB, MIB / 2, false, false);
	CHECK(!HOST_TRY(memory_note(&machine, 8 * MIB, 4096, false, false)));
	CHECK(strstr(host_words, "more than 1024 reserved ranges, the next is at 0x800000"));
}

/* RAM and what else is known, each in more pieces than a set has room for: a line says how much is lost. */
static void too_many_pieces(void)
{
	fresh();
	for (uint64_t i = 1; i < RANGES_MAX; i++)
		memory_note(&machine, 4 * GIB + i * MIB, MIB / 2, true, true);
	CHECK(settled() && host_words[0] == '\0' && machine.ram.count == RANGES_MAX);
	fresh();
	for (uint64_t i = 1; i < RANGES_MAX + 3; i++)
		memory_note(&machine, 4 * GIB + i * MIB, MIB / 2, true, true);
	memory_note(&machine, 3 * GIB, MIB, false, false);
	CHECK(settled() && machine.ram.count == RANGES_MAX);
	CHECK(strstr(host_words, "in more than 128 pieces: 1536 KiB of RAM are left out, and 2560 KiB in all"));
}

/* Reading past what the CPU has would be a fault, before anything can say so. */
static void reach(void)
{
	fresh();
	CHECK(identity_map((1ul << 40) - 4096, 4096) && !identity_map((1ul << 40) - 4096, 4097));
	CHECK(!identity_map(1ul << 40, 1) && !identity_map(UINT64_MAX, 2) && !identity_map(4096, UINT64_MAX));
	memory_reach(1ul << 52);
	CHECK(!identity_map(127ul << 40, 1)); /* the kernels' direct map is no larger */
}

/* Boot information being written. */
static _Alignas(8) uint8_t info[1024];
static uint32_t size;

static void put(unsigned bytes, uint64_t value)
{
	for (; bytes > 0; bytes--, value >>= 8)
		info[size++] = (uint8_t)value;
}

static void tag(uint32_t type, uint32_t bytes)
{
	size = (size + 7) & ~7u;
	put(4, type);
	put(4, bytes);
}

/* In memory of exactly its size, so that a read past it is seen. */
static bool read_info(void)
{
	uint8_t *copy = aligned_alloc(8, (size + 7) & ~7u);
	bool good;

	memcpy(info, &size, 4);
	memcpy(copy, info, size);
	good = HOST_TRY(multiboot2_read(&machine, copy));
	free(copy);
	return good;
}

static void begin(void)
{
	fresh();
	memset(info, 0, sizeof info);
	size = 8;
}

static void tags(void)
{
	begin();
	tag(0, 8);
	CHECK(read_info());
	begin();
	CHECK(!read_info() && strstr(host_words, "8 bytes has no end tag"));
	begin();
	tag(14, 64); /* an RSDP of which little is there */
	put(8, 0);
	CHECK(!read_info() && strstr(host_words, "tag at byte 8 of 24 runs over the end"));
	begin();
	tag(1, 12);
	put(4, 0x41414141);
	tag(0, 8);
	CHECK(!read_info() && strstr(host_words, "command line does not end"));
	begin();
	tag(3, 12);
	put(4, 0x200000);
	tag(0, 8);
	CHECK(!read_info() && strstr(host_words, "tag of module 0 has 12 bytes"));
	begin();
	tag(3, 18);
	put(8, 0x100000ul << 32 | 0x200000);
	put(2, 'm');
	tag(0, 8);
	CHECK(!read_info() && strstr(host_words, "module m ends at 0x100000, before its start 0x200000"));
}

static void memory_tags(void)
{
	begin();
	tag(6, 16 + 24);
	put(8, 24);
	put(8, 4 * GIB);
	put(8, GIB);
	put(8, 1);
	tag(0, 8);
	CHECK(read_info() && settled() && ranges_total(&machine.ram) == 3 * GIB - MIB);
	begin();
	tag(6, 16 + 24);
	put(8, 8); /* entries of 8 bytes */
	put(24, 0);
	tag(0, 8);
	CHECK(!read_info() && strstr(host_words, "is not of entries of 24 or more"));
	begin();
	tag(6, 16 + 36); /* one and a half */
	put(8, 24);
	put(36, 0);
	tag(0, 8);
	CHECK(!read_info() && strstr(host_words, "memory map of 52 bytes"));
	begin();
	tag(17, 16 + 40);
	put(8, 40);
	put(8, 1);
	put(8, 0xfffff000);
	put(8, 0);
	put(8, 1ul << 52); /* pages, of which the bytes are 2^64 */
	put(8, 0);
	tag(0, 8);
	CHECK(read_info() && machine.low_ram_end == 2 * GIB);
}

/* An archive of one file: the header's sizes, the file's name with its end, and how many of the bytes are there. */
static bool read_archive(const char *sizes, const char *name, uint32_t name_size, uint32_t bytes)
{
	char *archive;
	bool good;

	fresh();
	memset(info, '0', 110);
	memcpy(info, "070701", 6);
	memcpy(info + 14, "000081A4", 8);
	memcpy(info + 54, sizes, 8);
	snprintf((char *)info + 94, 9, "%08x", name_size);
	memset(info + 110, 0, sizeof info - 110);
	memcpy(info + 110, name, strlen(name));
	archive = memcpy(malloc(bytes), info, bytes);
	good = HOST_TRY(archive_read(&machine, archive, bytes));
	free(archive);
	return good;
}

static void archives(void)
{
	CHECK(read_archive("00000000", "TRAILER!!!", 11, 121));
	CHECK(!read_archive("0000000)", "root", 5, 200) &&
	      strstr(host_words, "byte 0: its file size is no hexadecimal"));
	CHECK(!read_archive("00000000", "", 0, 200) && strstr(host_words, "byte 0: a name of 0 bytes"));
	CHECK(!read_archive("00000000", "root", 0xffffff92, 200) &&
	      strstr(host_words, "byte 0: a name of 4294967186 bytes"));
	CHECK(!read_archive("00000000", "roott", 5, 200) && strstr(host_words, "byte 0: its name does not end"));
	CHECK(!read_archive("00001000", "root", 5, 200) && strstr(host_words, "root at byte 0 has 4096 bytes"));
	CHECK(!read_archive("00001000", "r\033[2J\n", 7, 200) && strstr(host_words, ": r?[2J? at byte 0"));
	CHECK(!read_archive("00000000", "./", 3, 116) && strstr(host_words, "without a name at byte 0"));
	CHECK(!read_archive("00000000", " a", 3, 116) && strstr(host_words, "without a name at byte 0"));
	CHECK(!read_archive("00000000", ".", 2, 112) && strstr(host_words, "begins at byte 112 of 112"));
	CHECK(machine.module_count == 1 && strcmp(machine.module[0].name, ".") == 0);
	CHECK(!read_archive("00000000", "./root", 7, 120) && strcmp(machine.module[0].name, "root") == 0);
}

int main(void)
{
	reserved();
	many_reserved(false, RANGES_MAX + 1);
	many_reserved(true, RANGES_MAX + 1);
	too_many_reserved();
	too_many_pieces();
	reach();
	tags();
	memory_tags();
	archives();
	return host_failures != 0;
}
