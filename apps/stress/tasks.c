/* SPDX-License-Identifier: BSD-2-Clause */
#include "stress.h"
#include "tasks.h"

_Static_assert(TASK_SYS_CALL == SYS_CALL && TASK_SYS_RECV == SYS_RECV && TASK_SYS_REPLY_RECV == SYS_REPLY_RECV &&
               TASK_SYS_SIGNAL == SYS_SIGNAL && TASK_SYS_WAIT == SYS_WAIT, "as the ABI has them");

#define CODE   0x400000ull
#define BUFFER 0x401000ull /* IPC buffer */
enum { THREADS_MAX = 2 * TASKS_MAX, WINDOW_PAGES = 512, STACK = 8192 };

static struct {
	uint64_t tcb;
	unsigned core;
} threads[THREADS_MAX];
static unsigned thread_count;

unsigned page_new(void)
{
	static unsigned pages;
	check(pages < WINDOW_PAGES);
	return pages++;
}

static void map_there(uint64_t frame, uint64_t vspace, uint64_t address, unsigned rights)
{
	check_ok(frame_map(IPC, copy_of(frame, rights), vspace, address, rights, CACHE_WRITE_BACK));
}

static uint64_t code_frame(void)
{
	static uint64_t frame;
	if (!frame) {
		unsigned page = page_new();
		frame = map_page(page, RIGHT_READ | RIGHT_WRITE);
		check(tasks_end - tasks_start <= 4096);
		memcpy((void *)(WINDOW + page * 4096ull), tasks_start, (size_t)(tasks_end - tasks_start));
	}
	return frame;
}

uint64_t space_new(void)
{
	uint64_t vspace = object(OBJECT_VSPACE, 0), tables = objects(OBJECT_PAGE_TABLE, 0, 5);
	for (unsigned i = 0; i < 5; i++)
		check_ok(page_table_map(IPC, tables + i, vspace, i < 3 ? CODE : REGION));
	map_there(code_frame(), vspace, CODE, RIGHT_READ | RIGHT_EXECUTE);
	return vspace;
}

static uint64_t started_at(uint64_t tcb, unsigned core, unsigned priority, const struct thread_registers *registers)
{
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, priority, core));
	check_ok(tcb_write_registers(IPC, tcb, 0, registers));
	check(thread_count < THREADS_MAX);
	threads[thread_count].tcb = tcb;
	threads[thread_count++].core = core;
	return tcb;
}

uint64_t task_new(uint64_t vspace, unsigned core, const char *entry, struct thread_registers registers, uint64_t fault)
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_map(IPC, frame, vspace, BUFFER, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, vspace, frame, BUFFER, fault));
	registers.rip = CODE + (uint64_t)(entry - tasks_start);
	return started_at(tcb, core, TASK_PRIORITY, &registers);
}

uint64_t thread_new(unsigned core, void (*function)(void *), void *argument, struct ipc_buffer **ipc)
{
	static _Alignas(16) char stacks[STRESS_CORES][STACK];
	static unsigned stack;
	uint64_t tcb = object(OBJECT_TCB, 0);
	unsigned page = page_new();
	uint64_t frame = map_page(page, RIGHT_READ | RIGHT_WRITE), address = WINDOW + page * 4096ull;
	*ipc = (struct ipc_buffer *)address;
	check(stack < STRESS_CORES);
	/* As if it had been called: the stack is 8 bytes off a multiple of 16. */
	struct thread_registers registers = { .rip = (uint64_t)function, .rdi = (uint64_t)argument,
	                                      .rsp = (uint64_t)(stacks[stack++] + STACK - 8) };
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, address, 0));
	return started_at(tcb, core, PAGER_PRIORITY, &registers);
}

void tasks_resume(void)
{
	for (unsigned i = 0; i < thread_count; i++)
		check_ok(tcb_resume(threads[i].tcb));
}

void wait_all(uint64_t done, uint64_t bits)
{
	for (uint64_t word, there = 0; there != bits; there |= word)
		check_ok(notification_wait(done, 0, &word));
}

uint64_t tasks_time(unsigned core)
{
	uint64_t sum = 0, one;
	if (core == 0)
		check_ok(tcb_time(ROOT_SLOT_TCB, &sum));
	for (unsigned i = 0; i < thread_count; i++)
		if (threads[i].core == core) {
			check_ok(tcb_time(threads[i].tcb, &one));
			sum += one;
		}
	return sum;
}
