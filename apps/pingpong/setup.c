/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/stubs.h>
#include "pingpong.h"

enum { THREAD_PRIORITY = MAIN_PRIORITY - 10 };
#define CODE    0x400000ull

const struct code threads_code = { threads_start, threads_end };
struct shared *shared;
bool at_home;
static uint64_t shared_frame /* the first */, done;

uint64_t object_of(unsigned core, enum skerry_object type)
{
	uint64_t made = object(type, 0);
	if (at_home)
		check_ok(cnode_set_locality(ROOT_SLOT_CNODE, made, mask_of(core)));
	return made;
}

void shared_use(uint64_t frame, void *here)
{
	shared_frame = frame;
	shared = here;
	done = badged(object(OBJECT_NOTIFICATION, 0), 1, RIGHT_ALL);
}

void shared_make(uint64_t rounds)
{
	check(rounds <= SHARED_CAPACITY);
	shared_frame = objects(OBJECT_FRAME_2M, 0, shared_frames());
	check_ok(frame_map(IPC, shared_frame, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ | RIGHT_WRITE,
	                   CACHE_WRITE_BACK));
	for (unsigned i = 1; i < shared_frames(); i++)
		check_ok(frame_map(IPC, shared_frame + i, ROOT_SLOT_VSPACE, LARGE_WINDOW + ((uint64_t)i << 21),
		                   RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	shared_use(shared_frame, (void *)LARGE_WINDOW);
	*shared = (struct shared){ .rounds = rounds, .done_call = SYS_SIGNAL, .done_cap = done };
}

uint64_t shared_done(void) { return done; }

void shared_wait(void) { check_ok(notification_wait(done, 0, 0)); }

static void map_there(uint64_t frame, uint64_t vspace, uint64_t address, unsigned rights)
{
	check_ok(frame_map(IPC, copy_of(frame, rights), vspace, address, rights, CACHE_WRITE_BACK));
}

uint64_t space_of(const struct code *of)
{
	static unsigned page;
	uint64_t vspace = object(OBJECT_VSPACE, 0), tables = objects(OBJECT_PAGE_TABLE, 0, 4);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, tables + i, vspace, CODE));
	check_ok(page_table_map(IPC, tables + 3, vspace, SHARED_THERE));

	page = (page + 1) % 256;
	uint64_t code = map_page(page, RIGHT_READ | RIGHT_WRITE);
	char *text = (char *)(WINDOW + page * 4096ull);
	for (const char *c = of->start; c < of->end; c++)
		*text++ = *c;
	map_there(code, vspace, CODE, RIGHT_READ | RIGHT_EXECUTE);
	for (unsigned i = 0; i < shared_frames(); i++)
		map_there(shared_frame + i, vspace, SHARED_THERE + ((uint64_t)i << 21), RIGHT_READ | RIGHT_WRITE);
	if (PINGPONG_CORES > FEW_CORES) /* the window has fewer pages than there are spaces */
		check_ok(frame_unmap(code));
	return vspace;
}

uint64_t thread_of(const struct code *code, uint64_t vspace, unsigned index, unsigned core, const char *entry,
                   struct thread_registers registers)
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = object(OBJECT_FRAME_4K, 0);
	uint64_t buffer = THREAD_BUFFERS + index * 4096ull;
	check_ok(frame_map(IPC, frame, vspace, buffer, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, vspace, frame, buffer, 0));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, THREAD_PRIORITY, core));
	registers.rip = CODE + (uint64_t)(entry - code->start);
	check_ok(tcb_write_registers(IPC, tcb, 0, &registers));
	return tcb;
}

uint64_t thread_new(uint64_t vspace, unsigned index, const char *entry, struct thread_registers registers)
{
	registers.rbx = SHARED_THERE;
	return thread_of(&threads_code, vspace, index, 0, entry, registers);
}

void others_run(void)
{
	uint64_t never = object(OBJECT_NOTIFICATION, 0);
	check_eq(-notification_wait(never, read_tsc() + ROOT->tsc_hz / 1000, 0), SKERRY_TIMED_OUT);
}
