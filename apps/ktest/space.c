/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

/* pages of the window from here on hold their data pages and, once, the code */
enum { SPACES = 32, SPACE_PAGES = 128 };

void space_add_tables(uint64_t vspace, uint64_t address)
{
	uint64_t tables = objects(OBJECT_PAGE_TABLE, 0, 3);
	for (unsigned level = 0; level < 3; level++) {
		int error = page_table_map(IPC, tables + level, vspace, address);
		if (error != -SKERRY_MAPPED)
			check_ok(error);
	}
}

struct space space_make(const void *entry, unsigned priority, unsigned core, uint64_t arg0, uint64_t arg1)
{
	static unsigned turn;
	unsigned page = SPACE_PAGES + 2 * (turn++ % SPACES);
	struct space space = { .vspace = object(OBJECT_VSPACE, 0), .tcb = object(OBJECT_TCB, 0) };
	uint64_t code = map_page(page, RIGHT_READ | RIGHT_WRITE), data = map_page(page + 1, RIGHT_READ | RIGHT_WRITE);
	uint64_t code_there = copy_of(code, RIGHT_READ | RIGHT_EXECUTE);
	char *text = (char *)(WINDOW + page * 4096ull);
	for (const char *c = foreign_start; c < foreign_end; c++)
		*text++ = *c;

	space.data_frame = copy_of(data, RIGHT_READ | RIGHT_WRITE);
	space.data = (volatile uint64_t *)(WINDOW + (page + 1) * 4096ull);
	space_add_tables(space.vspace, FOREIGN_CODE);
	check_ok(frame_map(IPC, code_there, space.vspace, FOREIGN_CODE, RIGHT_ALL, CACHE_WRITE_BACK));
	check_ok(frame_map(IPC, space.data_frame, space.vspace, FOREIGN_DATA, RIGHT_ALL, CACHE_WRITE_BACK));
	check_ok(tcb_configure(IPC, space.tcb, ROOT_SLOT_CNODE, space.vspace, 0, 0, 0));
	check_ok(tcb_schedule(IPC, space.tcb, ROOT_SLOT_TCB, priority, core));
	struct thread_registers registers = {
		.rip = FOREIGN_CODE + (uint64_t)((const char *)entry - foreign_start),
		.rbx = FOREIGN_DATA, .rdi = arg0, .rsi = arg1,
	};
	check_ok(tcb_write_registers(IPC, space.tcb, 0, &registers));
	return space;
}
