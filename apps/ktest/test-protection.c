/* SPDX-License-Identifier: BSD-2-Clause */
/* A mapping's rights keep a program from reading, writing and executing. */
#include "ktest.h"

enum access { READ, WRITE, EXECUTE };
enum { PRESENT = 1, WRITING = 2, USER = 4, FETCH = 16, FINE = ~0u };

static void attempt(struct worker *self)
{
	volatile uint64_t *at = (volatile uint64_t *)self->arg[0];
	switch (self->arg[1]) {
	case READ: self->out[0] = *at; break;
	case WRITE: *at = 0xc3c3c3c3c3c3c3c3; break; /* ret */
	case EXECUTE: ((void (*)(void))self->arg[0])(); break;
	}
}

/* The page fault's error code that the access ends with, FINE for none. */
static uint64_t result(uint64_t address, enum access access)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct timeout timeout = timeout_begin();
	struct message m = { 0 };
	struct worker *w = worker_make(attempt, 50, last_core());
	worker_fault_to(w, endpoint);
	w->arg[0] = address;
	w->arg[1] = access;
	check_ok(tcb_resume(w->tcb));
	while (ipc_nb_receive(endpoint, 0, &m)) {
		if (w->done)
			return FINE;
		check(!timeout_over(&timeout));
		pause_main();
	}
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[2], address);
	return m.word[3];
}

static uint64_t map(unsigned rights, unsigned cap_rights)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), writer = copy_of(frame, RIGHT_ALL);
	check_ok(frame_map(IPC, writer, ROOT_SLOT_VSPACE, WINDOW + 4096, RIGHT_READ | RIGHT_WRITE, 0));
	*(volatile uint8_t *)(WINDOW + 4096) = 0xc3;
	uint64_t mapped = copy_of(frame, cap_rights);
	check_ok(frame_map(IPC, mapped, ROOT_SLOT_VSPACE, WINDOW, rights, 0));
	return mapped;
}

TEST(read_only, 1, 0, "protection: a page without WRITE is read, not written, not executed")
{
	map(RIGHT_READ, RIGHT_ALL);
	check_eq(result(WINDOW, READ), FINE);
	check_eq(result(WINDOW, WRITE), PRESENT | WRITING | USER);
	check_eq(result(WINDOW, EXECUTE), PRESENT | USER | FETCH);
}

TEST(read_write, 1, 0, "protection: a page without EXECUTE is read and written, not executed")
{
	map(RIGHT_READ | RIGHT_WRITE, RIGHT_ALL);
	check_eq(result(WINDOW, READ), FINE);
	check_eq(result(WINDOW, WRITE), FINE);
	check_eq(result(WINDOW, EXECUTE), PRESENT | USER | FETCH);
}

TEST(executable, 1, 0, "protection: a page with EXECUTE and without WRITE is executed, not written")
{
	map(RIGHT_READ | RIGHT_EXECUTE, RIGHT_ALL);
	check_eq(result(WINDOW, EXECUTE), FINE);
	check_eq(result(WINDOW, WRITE), PRESENT | WRITING | USER);
}

TEST(taken, 1, 0, "protection: FRAME_PROTECT takes WRITE and EXECUTE, each alone, and gives back what it took")
{
	uint64_t frame = map(RIGHT_ALL, RIGHT_ALL);
	check_ok(frame_protect(frame, RIGHT_READ | RIGHT_EXECUTE));
	check_eq(result(WINDOW, EXECUTE), FINE);
	check_eq(result(WINDOW, WRITE), PRESENT | WRITING | USER);
	check_ok(frame_protect_in(IPC, frame, ROOT_SLOT_VSPACE, RIGHT_READ | RIGHT_WRITE));
	check_eq(result(WINDOW, WRITE), FINE);
	check_eq(result(WINDOW, EXECUTE), PRESENT | USER | FETCH);
	check_ok(frame_protect_in(IPC, frame, ROOT_SLOT_VSPACE, RIGHT_ALL));
	check_eq(result(WINDOW, WRITE), FINE);
	check_eq(result(WINDOW, EXECUTE), FINE);
}

TEST(capability, 1, 0, "protection: no mapping has a right that its capability has not")
{
	map(RIGHT_ALL, RIGHT_READ);
	check_eq(result(WINDOW, READ), FINE);
	check_eq(result(WINDOW, WRITE), PRESENT | WRITING | USER);
	check_eq(result(WINDOW, EXECUTE), PRESENT | USER | FETCH);
}

TEST(large, 1, 0, "protection: the same for a page of 2 MiB")
{
	check_ok(frame_map(IPC, object(OBJECT_FRAME_2M, 0), ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ, 0));
	check_eq(result(LARGE_WINDOW + 0x1ff000, READ), FINE);
	check_eq(result(LARGE_WINDOW + 0x1ff000, WRITE), PRESENT | WRITING | USER);
	check_eq(result(LARGE_WINDOW + 0x1ff000, EXECUTE), PRESENT | USER | FETCH);
}

TEST(unmapped, 1, 0, "protection: an unmapped page is neither read nor written nor executed")
{
	uint64_t frame = map(RIGHT_ALL, RIGHT_ALL);
	check_eq(result(WINDOW, WRITE), FINE);
	check_ok(frame_unmap(frame));
	check_eq(result(WINDOW, READ), USER);
	check_eq(result(WINDOW, WRITE), WRITING | USER);
	check_eq(result(WINDOW, EXECUTE), USER | FETCH);
}

TEST(deleted, 1, 0, "protection: a page whose capability is deleted or revoked is gone")
{
	uint64_t frame = map(RIGHT_ALL, RIGHT_ALL);
	check_eq(result(WINDOW, WRITE), FINE);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, frame));
	check_eq(result(WINDOW, READ), USER);
	frame = object(OBJECT_FRAME_4K, 0);
	uint64_t copy = copy_of(frame, RIGHT_ALL);
	check_ok(frame_map(IPC, copy, ROOT_SLOT_VSPACE, WINDOW, RIGHT_ALL, 0));
	check_eq(result(WINDOW, WRITE), FINE);
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, frame));
	check_eq(result(WINDOW, READ), USER);
}

TEST(table_gone, 1, 0, "protection: the pages of an unmapped page table are gone")
{
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, table + i, ROOT_SLOT_VSPACE, NO_TABLES));
	check_ok(frame_map(IPC, object(OBJECT_FRAME_4K, 0), ROOT_SLOT_VSPACE, NO_TABLES, RIGHT_ALL, 0));
	check_eq(result(NO_TABLES, WRITE), FINE);
	check_ok(page_table_unmap(table + 2));
	check_eq(result(NO_TABLES, READ), USER);
	check_ok(page_table_map(IPC, table + 2, ROOT_SLOT_VSPACE, NO_TABLES));
	check_eq(result(NO_TABLES, READ), USER);
}

TEST(kernel, 1, 0, "protection: kernel addresses are neither read nor written nor executed")
{
	static const uint64_t address[] = { 0xffffffff80000000, 0xffff800000000000, 0xffffffffffe00000,
	                                    0xfffffffffffff000 };
	for (unsigned i = 0; i < 4; i++) {
		check(result(address[i], READ) & USER);
		check(result(address[i], WRITE) & USER);
		check(result(address[i], EXECUTE) & USER);
	}
}

TEST(root_info, 1, 0, "protection: what the kernel tells the first task cannot be written")
{
	check_eq(result(ROOT_INFO_VADDR, WRITE), PRESENT | WRITING | USER);
	check_eq(result(ROOT_STAT_VADDR, WRITE), PRESENT | WRITING | USER);
	check_eq(result((uint64_t)attempt, WRITE), PRESENT | WRITING | USER);
}
