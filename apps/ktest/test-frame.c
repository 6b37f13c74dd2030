/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

#define VSPACE ROOT_SLOT_VSPACE
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE, LARGE = 2 << 20 };

static int map(uint64_t frame, uint64_t address) { return frame_map(IPC, frame, VSPACE, address, READ_WRITE, 0); }
static volatile uint64_t *at(uint64_t address) { return place(address); }

TEST(small, 1, 0, "frame: a page of 4 KiB can be written and read to its end")
{
	map_page(0, READ_WRITE);
	for (unsigned i = 0; i < 512; i++)
		at(WINDOW)[i] = i * 3;
	for (unsigned i = 0; i < 512; i++)
		check_eq(at(WINDOW)[i], i * 3);
}

TEST(large, 1, 0, "frame: a page of 2 MiB can be written and read to its end")
{
	check_ok(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW));
	for (unsigned i = 0; i < LARGE / 8; i += 509)
		at(LARGE_WINDOW)[i] = i;
	for (unsigned i = 0; i < LARGE / 8; i += 509)
		check_eq(at(LARGE_WINDOW)[i], i);
	check_eq(at(LARGE_WINDOW)[LARGE / 8 - 1], 0);
}

TEST(shared, 1, 0, "frame: two mappings of one frame show the same memory")
{
	uint64_t frame = map_page(0, READ_WRITE);
	check_ok(map(copy_of(frame, RIGHT_ALL), WINDOW + 4096));
	at(WINDOW)[7] = 1234;
	check_eq(at(WINDOW + 4096)[7], 1234);
}

TEST(separate, 1, 0, "frame: two frames are different memory")
{
	map_page(0, READ_WRITE);
	map_page(1, READ_WRITE);
	at(WINDOW)[0] = 5;
	check_eq(at(WINDOW + 4096)[0], 0);
}

TEST(attributes, 1, 0, "frame: every cache attribute can be mapped and used")
{
	for (unsigned i = 0; i <= CACHE_WRITE_COMBINING; i++) {
		check_ok(frame_map(IPC, object(OBJECT_FRAME_4K, 0), VSPACE, WINDOW + i * 4096, READ_WRITE, i));
		check_ok(frame_map(IPC, object(OBJECT_FRAME_2M, 0), VSPACE, LARGE_WINDOW + i * LARGE, READ_WRITE, i));
		at(WINDOW + i * 4096)[1] = i + 1;
		at(LARGE_WINDOW + i * LARGE)[1] = i + 1;
		check_eq(at(WINDOW + i * 4096)[1], i + 1);
		check_eq(at(LARGE_WINDOW + i * LARGE)[1], i + 1);
	}
}

TEST(address, 1, 0, "frame: FRAME_ADDRESS tells where it is, mapped or not")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), before, after;
	check_ok(frame_address(frame, &before));
	check_ok(map(frame, WINDOW));
	check_ok(frame_address(frame, &after));
	check_eq(before, after);
	check_eq(before % 4096, 0);
}

TEST(again, 1, 0, "frame: unmapped, it can be mapped elsewhere and keeps its content")
{
	uint64_t frame = map_page(0, READ_WRITE);
	at(WINDOW)[0] = 77;
	check_ok(frame_unmap(frame));
	check_ok(map(frame, WINDOW + 4096));
	check_eq(at(WINDOW + 4096)[0], 77);
	check_ok(map(object(OBJECT_FRAME_4K, 0), WINDOW));
	check_eq(at(WINDOW)[0], 0);
}

TEST(deleted, 1, 0, "frame: the end of the capability ends its mapping and no other")
{
	uint64_t frame = map_page(0, READ_WRITE), copy = copy_of(frame, RIGHT_ALL);
	check_ok(map(copy, WINDOW + 4096));
	at(WINDOW)[0] = 3;
	check_ok(cnode_delete(ROOT_SLOT_CNODE, frame));
	check_eq(at(WINDOW + 4096)[0], 3);
	check_ok(map(object(OBJECT_FRAME_4K, 0), WINDOW)); /* there is room again */
}

TEST(copy_unmapped, 1, 0, "frame: a copy of a mapped capability is not mapped")
{
	uint64_t frame = map_page(0, READ_WRITE);
	check_error(frame_unmap(copy_of(frame, RIGHT_ALL)), NOT_MAPPED);
	at(WINDOW)[0] = 1;
}

TEST(moved, 1, 0, "frame: a moved capability stays mapped")
{
	uint64_t frame = map_page(0, READ_WRITE), to = slot();
	check_ok(cnode_move(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, frame));
	at(WINDOW)[0] = 1;
	check_ok(frame_unmap(to));
}

TEST(write_combining, 1, 0, "frame: a page of 2 MiB that combines writes is unmapped like others")
{
	uint64_t frame = object(OBJECT_FRAME_2M, 0);
	for (unsigned i = 0; i < 2; i++) {
		check_ok(frame_map(IPC, frame, VSPACE, LARGE_WINDOW, READ_WRITE, CACHE_WRITE_COMBINING));
		check_ok(frame_unmap(frame));
	}
	check_ok(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW));
}

TEST(short_message, 1, 0, "frame: TRUNCATED for fewer than three words")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	for (unsigned words = 0; words < 3; words++) {
		struct message m = { .word = { WINDOW, RIGHT_READ, 0 } };
		IPC->caps[0] = VSPACE;
		check_error(invoke(frame, FRAME_MAP, 1, words, &m), TRUNCATED);
	}
}

TEST(bad_space, 1, 0, "frame: BAD_CAP for what is no address space")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_error(frame_map(IPC, frame, object(OBJECT_ENDPOINT, 0), WINDOW, RIGHT_READ, 0), BAD_CAP);
	check_error(frame_map(IPC, frame, slot(), WINDOW, RIGHT_READ, 0), BAD_CAP);
	struct message m = { .word = { WINDOW, RIGHT_READ, 0 } };
	check_error(invoke(frame, FRAME_MAP, 0, 3, &m), BAD_CAP);
}

TEST(mapped, 1, 0, "frame: MAPPED for a mapped capability, and for an address that is taken")
{
	uint64_t frame = map_page(0, READ_WRITE);
	check_error(map(frame, WINDOW + 4096), MAPPED);
	check_error(map(object(OBJECT_FRAME_4K, 0), WINDOW), MAPPED);
	check_ok(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW));
	check_error(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW), MAPPED);
}

TEST(large_over_table, 1, 0, "frame: MAPPED for 2 MiB where a page table is")
{
	check_error(map(object(OBJECT_FRAME_2M, 0), WINDOW), MAPPED);
}

TEST(small_in_large, 1, 0, "frame: MISSING_TABLE for 4 KiB inside a page of 2 MiB")
{
	check_ok(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW));
	check_error(map(object(OBJECT_FRAME_4K, 0), LARGE_WINDOW + 4096), MISSING_TABLE);
}

TEST(alignment, 1, 0, "frame: ALIGNMENT for an address that is not")
{
	check_error(map(object(OBJECT_FRAME_4K, 0), WINDOW + 1), ALIGNMENT);
	check_error(map(object(OBJECT_FRAME_4K, 0), WINDOW + 2048), ALIGNMENT);
	check_error(map(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW + 4096), ALIGNMENT);
}

TEST(bad_address, 1, 0, "frame: BAD_ARGUMENT for the kernel's half and the last page of the user's")
{
	static const uint64_t bad[] = { 0x7ffffffff000, 0x800000000000, 0xffff800000000000, 0xffffffff80000000,
	                                0xfffffffffffff000 };
	uint64_t frame = object(OBJECT_FRAME_4K, 0), large = object(OBJECT_FRAME_2M, 0);
	for (unsigned i = 0; i < 5; i++)
		check_error(map(frame, bad[i]), BAD_ARGUMENT);
	check_error(map(large, 0x7fffffe00000), BAD_ARGUMENT);
	check_error(map(large, 0xffffffff80000000), BAD_ARGUMENT);
}

TEST(bad_attributes, 1, 0, "frame: BAD_ARGUMENT for cache attributes that do not exist")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_error(frame_map(IPC, frame, VSPACE, WINDOW, RIGHT_READ, CACHE_WRITE_COMBINING + 1), BAD_ARGUMENT);
	check_error(frame_map(IPC, frame, VSPACE, WINDOW, RIGHT_READ, ~0u), BAD_ARGUMENT);
}

TEST(no_right, 1, 0, "frame: NO_RIGHTS for a mapping that cannot be read")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_error(frame_map(IPC, frame, VSPACE, WINDOW, RIGHT_WRITE | RIGHT_EXECUTE, 0), NO_RIGHTS);
	check_error(frame_map(IPC, frame, VSPACE, WINDOW, 0, 0), NO_RIGHTS);
	check_error(map(copy_of(frame, RIGHT_WRITE), WINDOW), NO_RIGHTS);
}

TEST(missing, 1, 0, "frame: MISSING_TABLE where page tables are missing")
{
	check_error(map(object(OBJECT_FRAME_4K, 0), NO_TABLES), MISSING_TABLE);
	check_error(map(object(OBJECT_FRAME_2M, 0), NO_TABLES), MISSING_TABLE);
	check_error(map(object(OBJECT_FRAME_4K, 0), LARGE_WINDOW), MISSING_TABLE);
}

TEST(not_mapped, 1, 0, "frame: NOT_MAPPED for unmapping what is not")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_error(frame_unmap(frame), NOT_MAPPED);
	check_ok(map(frame, WINDOW));
	check_ok(frame_unmap(frame));
	check_error(frame_unmap(frame), NOT_MAPPED);
}

TEST(label, 1, 0, "frame: BAD_LABEL for other invocations")
{
	struct message m = { 0 };
	check_error(invoke(object(OBJECT_FRAME_4K, 0), FRAME_GUARD + 1, 0, 4, &m), BAD_LABEL);
	check_error(invoke(object(OBJECT_FRAME_2M, 0), PAGE_TABLE_MAP, 0, 4, &m), BAD_LABEL);
}

TEST(space_gone, 1, 0, "frame: a mapping may outlive its address space")
{
	uint64_t vspace = object(OBJECT_VSPACE, 0), frame = object(OBJECT_FRAME_4K, 0);
	space_add_tables(vspace, FOREIGN_CODE);
	check_ok(frame_map(IPC, frame, vspace, FOREIGN_CODE, READ_WRITE, 0));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, vspace));
	check_ok(frame_unmap(frame));
	check_ok(map(frame, WINDOW));
	at(WINDOW)[0] = 1;
}
