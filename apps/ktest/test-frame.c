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

/* FRAME_PROTECT: what a program may do with memory afterwards. */

static void store(struct worker *self)
{
	program_store(self->arg[0], 5);
	self->count++;
}

static void load(struct worker *self)
{
	self->out[0] = program_load(self->arg[0]);
	self->count++;
}

/* A program of that core faults when it does so, with this error code, and goes on once the frame may be used again. */
static void check_denied(void (*run)(struct worker *), unsigned core, uint64_t address, unsigned error, uint64_t frame)
{
	struct trial t = trial_make(run, 50, core);
	t.worker->arg[0] = address;
	check_ok(tcb_resume(t.worker->tcb));
	struct message m = trial_fault(&t);
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[2], address);
	check_eq(m.word[3], error);
	check_eq(t.worker->count, 0);
	if (frame_protect_in(IPC, frame, VSPACE, READ_WRITE))
		check_ok(map(frame, address));
	trial_answer(&t, 0);
	until(t.worker->done);
}

static void own(unsigned core)
{
	uint64_t frame = map_page(0, READ_WRITE);
	at(WINDOW)[0] = 3;
	check_ok(frame_protect(frame, RIGHT_READ));
	check_eq(at(WINDOW)[0], 3);
	check_denied(store, core, WINDOW, 7, frame); /* a write, by user mode, of what is there */
	check_eq(at(WINDOW)[0], 5);
}

TEST(own_mapping, 1, 0, "protect: a page that may only be read is not written, until it may") { own(0); }
TEST(own_remote, 2, 0, "protect: the same on another core") { own(last_core()); }

static void derived(unsigned core)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), copy = copy_of(frame, RIGHT_ALL), last = copy_of(copy, RIGHT_ALL);
	check_ok(map(frame, WINDOW));
	check_ok(map(last, WINDOW + 4096));
	check_ok(frame_protect(copy, RIGHT_READ));
	at(WINDOW)[0] = 4;
	check_eq(at(WINDOW + 4096)[0], 4);
	struct trial t = trial_make(store, 50, core);
	t.worker->arg[0] = WINDOW + 4096;
	check_ok(tcb_resume(t.worker->tcb));
	check_eq(trial_fault(&t).word[2], WINDOW + 4096);
	check_ok(frame_protect_in(IPC, last, VSPACE, READ_WRITE)); /* of what it has left */
	trial_answer(&t, 0);
	check_eq(trial_fault(&t).word[2], WINDOW + 4096);
	trial_answer(&t, 1);
	check_ok(map(copy, WINDOW + 8192)); /* the invoked one has kept its rights */
	at(WINDOW + 8192)[0] = 6;
	check_eq(at(WINDOW)[0], 6);
}

TEST(descendant, 1, 0, "protect: what derives from a frame loses WRITE for good") { derived(0); }
TEST(descendant_remote, 2, 0, "protect: the same on another core") { derived(last_core()); }

TEST(none, 1, 0, "protect: without READ a frame is unmapped, and may be mapped again")
{
	uint64_t frame = map_page(0, READ_WRITE);
	check_ok(frame_protect(frame, 0));
	check_error(frame_unmap(frame), NOT_MAPPED);
	check_denied(load, 0, WINDOW, 4, frame);
	check_eq(at(WINDOW)[0], 0);
}

TEST(protect_large, 1, 0, "protect: a page of 2 MiB")
{
	uint64_t frame = object(OBJECT_FRAME_2M, 0);
	check_ok(map(frame, LARGE_WINDOW));
	check_ok(frame_protect(frame, RIGHT_READ));
	check_denied(store, last_core(), LARGE_WINDOW + 8 * 4096, 7, frame);
	check_eq(at(LARGE_WINDOW + 8 * 4096)[0], 5);
}

TEST(many, 1, 0, "protect: a thousand copies, in a line and beside each other")
{
	enum { COUNT = 1000 };
	uint64_t frame = object(OBJECT_FRAME_4K, 0), first = 0, copy = frame;
	for (unsigned i = 0; i < COUNT; i++) {
		copy = copy_of(i % 2 ? copy : frame, RIGHT_ALL);
		first = first ? first : copy;
	}
	check_ok(frame_protect(frame, RIGHT_WRITE));
	check_error(map(first, WINDOW), NO_RIGHTS);
	check_error(map(copy, WINDOW), NO_RIGHTS);
	check_ok(map(frame, WINDOW));
}

TEST(buffer, 1, 0, "protect: a thread loses an IPC buffer that it could not write")
{
	struct trial t = trial_make(load, 50, 0);
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_ok(tcb_configure(IPC, t.worker->tcb, ROOT_SLOT_CNODE, VSPACE, frame, WINDOW, 0));
	check_ok(frame_protect(frame, READ_WRITE));
	check_ok(frame_protect(frame, RIGHT_READ));
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, frame));
	check_error(tcb_configure(IPC, t.worker->tcb, ROOT_SLOT_CNODE, VSPACE, copy_of(frame, RIGHT_READ), WINDOW, 0),
	            NO_RIGHTS);
}

TEST(refused, 1, 0, "protect: TRUNCATED, BAD_CAP, NO_RIGHTS, NOT_MAPPED, BAD_ARGUMENT, and nothing happens")
{
	uint64_t frame = map_page(0, READ_WRITE), unmapped = object(OBJECT_FRAME_4K, 0),
	         other = object(OBJECT_VSPACE, 0);
	check_error(invoke_only(frame, FRAME_PROTECT), TRUNCATED);
	check_error(frame_protect_in(IPC, frame, unmapped, 0), BAD_CAP);
	check_error(frame_protect_in(IPC, frame, copy_of(VSPACE, RIGHT_READ), 0), NO_RIGHTS);
	check_error(frame_protect_in(IPC, unmapped, VSPACE, 0), NOT_MAPPED);
	check_error(frame_protect_in(IPC, frame, other, 0), BAD_ARGUMENT);
	at(WINDOW)[0] = 9;
	check_eq(at(WINDOW)[0], 9);
}
