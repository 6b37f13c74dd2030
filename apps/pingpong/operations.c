/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest that user level can ask of the kernel, each at about the largest size that there is. */
#include "pingpong.h"

enum { MANY = 2000, CROWD = 120, CROWD_PRIORITY = MAIN_PRIORITY - 10, CNODE_BITS = 11, PAGES = 512 };
#define MAPPED_AT 0x10000000ull

extern const char waiting_thread[];

static uint64_t target, room;

/* A thread in this address space. */
static uint64_t member(const struct thread_registers *registers, unsigned priority, uint64_t frame, uint64_t buffer)
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, buffer, 0));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, priority, 0));
	check_ok(tcb_write_registers(IPC, tcb, 1, registers));
	return tcb;
}

/* ... that makes one system call, when the main thread lets it. */
static uint64_t crowd_member(uint64_t call, uint64_t cap, uint64_t word, uint64_t frame, uint64_t buffer)
{
	struct thread_registers registers = { .rip = (uint64_t)waiting_thread, .rax = call, .rdi = cap, .rdx = word };
	return member(&registers, CROWD_PRIORITY, frame, buffer);
}

static void start_crowd(uint64_t call, uint64_t cap, uint64_t word)
{
	for (unsigned i = 0; i < CROWD; i++)
		crowd_member(call, cap, word, 0, 0);
	others_run();
}

static void do_nothing(void) { }

static void run_delete(void) { check_ok(cnode_delete(ROOT_SLOT_CNODE, target)); }
static void run_revoke(void) { check_ok(cnode_revoke(ROOT_SLOT_CNODE, target)); }

static void prepare_copies(void)
{
	target = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 0; i < MANY; i++)
		copy_of(target, RIGHT_ALL);
}

/* Each a copy of the one before. */
static void prepare_chain(void)
{
	target = object(OBJECT_ENDPOINT, 0);
	for (uint64_t last = target, i = 0; i < MANY; i++)
		last = copy_of(last, RIGHT_ALL);
}

static void fill_memory(enum skerry_object type, unsigned size_bits, unsigned count)
{
	check_ok(untyped_retype(IPC, target, type, size_bits, ROOT_SLOT_CNODE, slots(count), count));
}

static void prepare_objects(void)
{
	target = object(OBJECT_UNTYPED, 24);
	fill_memory(OBJECT_TCB, 0, 256);
	fill_memory(OBJECT_ENDPOINT, 0, 256);
	fill_memory(OBJECT_NOTIFICATION, 0, 256);
	fill_memory(OBJECT_CNODE, 4, 256);
	fill_memory(OBJECT_PAGE_TABLE, 0, 256);
	fill_memory(OBJECT_FRAME_4K, 0, 256);
	fill_memory(OBJECT_VSPACE, 0, 64);
}

static void prepare_cnode(void)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	target = object(OBJECT_CNODE, CNODE_BITS);
	for (unsigned i = 1; i < 1u << CNODE_BITS; i++)
		check_ok(cnode_copy(IPC, target, i, ROOT_SLOT_CNODE, endpoint, RIGHT_ALL));
}

/* Each holds the only capability of the next. */
static void prepare_nested(void)
{
	enum { DEPTH = 256 };
	uint64_t first = objects(OBJECT_CNODE, 2, DEPTH);
	for (unsigned i = DEPTH - 1; i; i--)
		check_ok(cnode_move(IPC, first + i - 1, 1, ROOT_SLOT_CNODE, first + i));
	target = first;
}

static void prepare_receivers(void)
{
	target = object(OBJECT_ENDPOINT, 0);
	start_crowd(SYS_RECV, target, 0);
}

static void prepare_senders(void)
{
	target = object(OBJECT_ENDPOINT, 0);
	start_crowd(SYS_CALL, target, 0);
}

static void prepare_waiters(void)
{
	target = object(OBJECT_NOTIFICATION, 0);
	start_crowd(SYS_WAIT, target, read_tsc() + ROOT->tsc_hz * 100); /* in the list of deadlines, too */
}

/* Threads whose deadlines pass together; each waits again, for nothing, once it runs. */
static void start_deadlines(unsigned priority)
{
	uint64_t note = object(OBJECT_NOTIFICATION, 0);
	room = read_tsc() + ROOT->tsc_hz / 20;
	for (unsigned i = 0; i < CROWD; i++) {
		struct thread_registers registers = { .rip = (uint64_t)waiting_thread, .rax = SYS_WAIT, .rdi = note,
		                                      .rdx = room,
			                              .r12 = note, .r13 = SYS_WAIT };
		member(&registers, priority, 0, 0);
	}
	others_run();
	check(read_tsc() < room);
	while (read_tsc() + 100000 < room)
		;
}

static void prepare_deadlines_above(void) { start_deadlines(MAIN_PRIORITY + 5); }
static void prepare_deadlines_below(void) { start_deadlines(CROWD_PRIORITY); }

static void run_deadlines(void)
{
	while (read_tsc() < room + 500000)
		;
}

/* An address space with a page table full of pages. */
static uint64_t table;
static void prepare_mappings(void)
{
	uint64_t vspace = object(OBJECT_VSPACE, 0), tables = objects(OBJECT_PAGE_TABLE, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, tables + i, vspace, MAPPED_AT));
	for (unsigned i = 0; i < PAGES; i += 256) {
		uint64_t frames = objects(OBJECT_FRAME_4K, 0, 256);
		for (unsigned j = 0; j < 256; j++)
			check_ok(frame_map(IPC, frames + j, vspace, MAPPED_AT + (i + j) * 4096ull, RIGHT_ALL,
			                   CACHE_WRITE_BACK));
		if (!i)
			room = frames;
	}
	target = vspace;
	table = tables;
}

/* One frame, as often in the address space that runs: cores that have it loaded must flush each page. */
static void prepare_running_mappings(void)
{
	uint64_t tables = objects(OBJECT_PAGE_TABLE, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		page_table_map(IPC, tables + i, ROOT_SLOT_VSPACE, MAPPED_AT); /* what of them is there already stays */
	target = object(OBJECT_FRAME_4K, 0);
	for (unsigned i = 0; i < PAGES; i++)
		check_ok(frame_map(IPC, copy_of(target, RIGHT_ALL), ROOT_SLOT_VSPACE, MAPPED_AT + i * 4096ull,
		                   RIGHT_ALL, CACHE_WRITE_BACK));
}

static void run_unmap_table(void) { check_ok(page_table_unmap(table + 2)); }
static void run_unmap_upper(void) { check_ok(page_table_unmap(table)); }
static void run_unmap_frame(void) { check_ok(frame_unmap(room)); }

static void prepare_message(void)
{
	uint64_t frame = map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct ipc_buffer *theirs = (struct ipc_buffer *)WINDOW;
	target = object(OBJECT_ENDPOINT, 0);
	theirs->receive_cnode = ROOT_SLOT_CNODE;
	theirs->receive_slot = slots(MESSAGE_CAPS_MAX);
	for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
		IPC->caps[i] = target;
	crowd_member(SYS_RECV, target, 0, frame, WINDOW);
	others_run();
}

static void run_message(void)
{
	struct message m = { .info = message_info(1, MESSAGE_CAPS_MAX, MESSAGE_WORDS_MAX) };
	check_ok(ipc_nb_send(target, &m));
}

/* The largest frame that fits: a gigabyte where there is one besides what the test memory takes. */
static enum skerry_object frame;
static void prepare_frame(void)
{
	frame = OBJECT_FRAME_2M;
	target = test_memory();
	for (unsigned i = 0; i < ROOT->untyped_count; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_ORDINARY &&
		    ROOT->untyped[i].size_bits >= (ROOT_SLOT_UNTYPED + i == source_untyped() ? 31 : 30)) {
			frame = OBJECT_FRAME_1G;
			target = ROOT_SLOT_UNTYPED + i;
		}
	room = slot();
}

static void run_frame(void) { check_ok(untyped_retype(IPC, target, frame, 0, ROOT_SLOT_CNODE, room, 1)); }

static void prepare_256(void) { room = slots(RETYPE_COUNT_MAX); }
static void run_retype(enum skerry_object type, unsigned bits, unsigned count)
{
	check_ok(untyped_retype(IPC, test_memory(), type, bits, ROOT_SLOT_CNODE, room, count));
}
static void run_256_tcbs(void) { run_retype(OBJECT_TCB, 0, RETYPE_COUNT_MAX); }
static void run_256_untypeds(void) { run_retype(OBJECT_UNTYPED, 4, RETYPE_COUNT_MAX); }
static void run_256_replies(void) { run_retype(OBJECT_REPLY, 0, RETYPE_COUNT_MAX); }
static void run_64_vspaces(void) { run_retype(OBJECT_VSPACE, 0, 64); }
static void run_large_cnode(void) { run_retype(OBJECT_CNODE, 16, 1); }

static void prepare_empty_cnode(void) { target = object(OBJECT_CNODE, 16); }

/* Behind the deadlines of all others in the list, and out of it again. */
static uint64_t helper;
static void prepare_behind(void)
{
	start_crowd(SYS_WAIT, object(OBJECT_NOTIFICATION, 0), read_tsc() + ROOT->tsc_hz * 100);
	target = badged(object(OBJECT_NOTIFICATION, 0), 1, RIGHT_ALL);
	helper = crowd_member(SYS_SIGNAL, target, 0, 0, 0);
	check_ok(tcb_suspend(helper));
}

static void run_behind(void)
{
	check_ok(tcb_resume(helper)); /* runs while this thread waits, and signals */
	check_ok(notification_wait(target, read_tsc() + ROOT->tsc_hz * 200, 0));
}

static void prepare_thread(void)
{
	target = crowd_member(SYS_WAIT, object(OBJECT_NOTIFICATION, 0), read_tsc() + ROOT->tsc_hz * 100, 0, 0);
	others_run();
}

static void run_suspend(void) { check_ok(tcb_suspend(target)); }

const struct operation operations[] = {
	{ "nothing", do_nothing, do_nothing },
	{ "revoke: 2000 copies", prepare_copies, run_revoke },
	{ "revoke: a chain of 2000 copies", prepare_chain, run_revoke },
	{ "revoke: memory with 1600 objects", prepare_objects, run_revoke },
	{ "revoke: 512 pages of the space that runs", prepare_running_mappings, run_revoke },
	{ "delete: a CNode with 2047 capabilities", prepare_cnode, run_delete },
	{ "delete: an empty CNode with 65536 slots", prepare_empty_cnode, run_delete },
	{ "delete: 256 CNodes, each in the one before", prepare_nested, run_delete },
	{ "delete: an endpoint with 120 receivers", prepare_receivers, run_delete },
	{ "delete: an endpoint with 120 callers", prepare_senders, run_delete },
	{ "delete: a notification with 120 waiters and deadlines", prepare_waiters, run_delete },
	{ "delete: an address space with 512 pages", prepare_mappings, run_delete },
	{ "delete: a thread that waits with a deadline", prepare_thread, run_delete },
	{ "suspend: a thread that waits with a deadline", prepare_thread, run_suspend },
	{ "unmap: one page", prepare_mappings, run_unmap_frame },
	{ "unmap: a page table with 512 pages", prepare_mappings, run_unmap_table },
	{ "unmap: the table of 512 GiB above them", prepare_mappings, run_unmap_upper },
	{ "retype: the largest frame", prepare_frame, run_frame },
	{ "retype: 256 TCBs", prepare_256, run_256_tcbs },
	{ "retype: 256 untypeds", prepare_256, run_256_untypeds },
	{ "retype: 256 reply objects", prepare_256, run_256_replies },
	{ "retype: 64 address spaces", prepare_256, run_64_vspaces },
	{ "retype: a CNode of 65536 slots", prepare_256, run_large_cnode },
	{ "message: 120 words and 3 capabilities", prepare_message, run_message },
	{ "wait: with a deadline behind 120 others", prepare_behind, run_behind },
	{ "timer: 120 deadlines of a higher priority at once", prepare_deadlines_above, run_deadlines },
	{ "timer: 120 deadlines of a lower priority at once", prepare_deadlines_below, run_deadlines },
};
const unsigned operation_count = sizeof(operations) / sizeof(operations[0]);
