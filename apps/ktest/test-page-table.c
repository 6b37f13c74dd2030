/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

#define VSPACE ROOT_SLOT_VSPACE
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };

static int map(uint64_t table, uint64_t address) { return page_table_map(IPC, table, VSPACE, address); }
static int map_frame(uint64_t frame, uint64_t address) { return frame_map(IPC, frame, VSPACE, address, READ_WRITE, 0); }

TEST(levels, 1, 0, "page table: three of them lead to a page of 4 KiB, two to one of 2 MiB")
{
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 4), small = object(OBJECT_FRAME_4K, 0),
	         large = object(OBJECT_FRAME_2M, 0);
	for (unsigned i = 0; i < 2; i++) {
		check_error(map_frame(large, NO_TABLES + (2 << 20)), MISSING_TABLE);
		check_ok(map(table + i, NO_TABLES));
	}
	check_ok(map_frame(large, NO_TABLES + (2 << 20)));
	check_error(map_frame(small, NO_TABLES), MISSING_TABLE);
	check_ok(map(table + 2, NO_TABLES));
	check_ok(map_frame(small, NO_TABLES));
	check_error(map(table + 3, NO_TABLES), MAPPED); /* nothing is missing */
	*(volatile uint64_t *)place(NO_TABLES) = 1;
	*(volatile uint64_t *)place(NO_TABLES + (2 << 20)) = 1;
}

TEST(over_large, 1, 0, "page table: MAPPED where a page of 2 MiB is")
{
	check_ok(map_frame(object(OBJECT_FRAME_2M, 0), LARGE_WINDOW));
	check_error(map(object(OBJECT_PAGE_TABLE, 0), LARGE_WINDOW), MAPPED);
}

TEST(mapped, 1, 0, "page table: MAPPED for one that is mapped")
{
	uint64_t table = object(OBJECT_PAGE_TABLE, 0);
	check_ok(map(table, NO_TABLES));
	check_error(map(table, NO_TABLES), MAPPED);
	check_error(map(table, NO_TABLES + (1ull << 40)), MAPPED);
}

TEST(short_message, 1, 0, "page table: TRUNCATED without an address")
{
	struct message m = { .word = { NO_TABLES } };
	IPC->caps[0] = VSPACE;
	check_error(invoke(object(OBJECT_PAGE_TABLE, 0), PAGE_TABLE_MAP, 1, 0, &m), TRUNCATED);
}

TEST(bad_space, 1, 0, "page table: BAD_CAP for what is no address space")
{
	uint64_t table = object(OBJECT_PAGE_TABLE, 0);
	struct message m = { .word = { NO_TABLES } };
	check_error(page_table_map(IPC, table, table, NO_TABLES), BAD_CAP);
	check_error(page_table_map(IPC, table, slot(), NO_TABLES), BAD_CAP);
	check_error(invoke(table, PAGE_TABLE_MAP, 0, 1, &m), BAD_CAP);
}

TEST(bad_address, 1, 0, "page table: BAD_ARGUMENT for the kernel's half")
{
	static const uint64_t bad[] = { 0x7ffffffff000, 0x800000000000, 0xffff800000000000, 0xffffffff80000000, ~0ull };
	uint64_t table = object(OBJECT_PAGE_TABLE, 0);
	for (unsigned i = 0; i < 5; i++)
		check_error(map(table, bad[i]), BAD_ARGUMENT);
}

TEST(not_mapped, 1, 0, "page table: NOT_MAPPED for unmapping what is not")
{
	uint64_t table = object(OBJECT_PAGE_TABLE, 0);
	check_error(page_table_unmap(table), NOT_MAPPED);
	check_ok(map(table, NO_TABLES));
	check_ok(page_table_unmap(table));
	check_error(page_table_unmap(table), NOT_MAPPED);
}

TEST(label, 1, 0, "page table: BAD_LABEL for other invocations")
{
	struct message m = { 0 };
	check_error(invoke(object(OBJECT_PAGE_TABLE, 0), PAGE_TABLE_UNMAP + 1, 0, 4, &m), BAD_LABEL);
	check_error(invoke(object(OBJECT_PAGE_TABLE, 0), FRAME_MAP, 0, 4, &m), BAD_LABEL);
}

static uint64_t tree(void)
{
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		check_ok(map(table + i, NO_TABLES));
	return table;
}

TEST(unmapped, 1, 0, "page table: unmapped, it takes its pages along and comes back empty")
{
	uint64_t table = tree(), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(map_frame(frame, NO_TABLES));
	check_ok(page_table_unmap(table + 2));
	check_error(map_frame(object(OBJECT_FRAME_4K, 0), NO_TABLES), MISSING_TABLE);
	check_ok(map(table + 2, NO_TABLES));
	check_ok(map_frame(object(OBJECT_FRAME_4K, 0), NO_TABLES)); /* the place is free */
	check_ok(frame_unmap(frame)); /* which takes nothing away */
	*(volatile uint64_t *)place(NO_TABLES) = 1;
}

TEST(upper_unmapped, 1, 0, "page table: an upper one takes all below it along")
{
	uint64_t table = tree(), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(map_frame(frame, NO_TABLES));
	check_ok(page_table_unmap(table));
	check_ok(page_table_unmap(table + 1));
	check_ok(page_table_unmap(table + 2));
	check_ok(frame_unmap(frame));
	for (unsigned i = 0; i < 3; i++)
		check_ok(map(table + 2 - i, NO_TABLES)); /* in other places now */
	check_ok(map_frame(frame, NO_TABLES));
	*(volatile uint64_t *)place(NO_TABLES) = 1;
}

TEST(deleted, 1, 0, "page table: its end makes the addresses free")
{
	uint64_t table = tree();
	check_ok(map_frame(object(OBJECT_FRAME_4K, 0), NO_TABLES));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, table + 1));
	check_error(map_frame(object(OBJECT_FRAME_4K, 0), NO_TABLES), MISSING_TABLE);
	check_ok(map(object(OBJECT_PAGE_TABLE, 0), NO_TABLES));
	check_ok(map(object(OBJECT_PAGE_TABLE, 0), NO_TABLES));
	check_ok(map_frame(object(OBJECT_FRAME_4K, 0), NO_TABLES));
}

TEST(frame_below, 1, 0, "page table: a frame below one that ended stays MAPPED until it is unmapped")
{
	uint64_t table = tree(), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(map_frame(frame, NO_TABLES));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, table + 1));
	check_ok(map(object(OBJECT_PAGE_TABLE, 0), NO_TABLES));
	check_error(map_frame(frame, NO_TABLES), MAPPED);
	check_ok(frame_unmap(frame));
	check_error(map_frame(frame, NO_TABLES), MISSING_TABLE);
	check_ok(page_table_unmap(table + 2));
	check_ok(map(table + 2, NO_TABLES));
	check_ok(map_frame(frame, NO_TABLES));
}

TEST(space_gone, 1, 0, "page table: one whose address space ended can be mapped into another")
{
	uint64_t space = object(OBJECT_VSPACE, 0), table = object(OBJECT_PAGE_TABLE, 0);
	check_ok(page_table_map(IPC, table, space, NO_TABLES));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, space));
	check_ok(page_table_unmap(table));
	check_ok(map(table, NO_TABLES));
}
