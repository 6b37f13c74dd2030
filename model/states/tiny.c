/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include "arena.h"
#include "message.h"

enum { MEMORY_BITS = 17, CLOCK_BITS = 40 };
_Static_assert(TINY_LAST < CHECK_SLOTS, "kernel_check() looks at all slots that operations use");

struct hosted *tiny;
uint64_t tiny_now;

/* In place of the port's, by the linker's --wrap: a reading does not move the clock. */
uint64_t __wrap_hosted_time(void);
uint64_t __wrap_hosted_time(void) { return hosted_self->machine->time; }

static void check_made(uint64_t result, uint64_t cptr, uint64_t label)
{
	if (result)
		fail("the tiny machine cannot be made: call %llu on slot %llu ends with %llu",
		     (unsigned long long)label, (unsigned long long)cptr, (unsigned long long)result);
}
/* The root task invokes an object. */
#define CALL(cptr, label, cap0, cap1, cap2, ...) \
	check_made(hosted_root_invokes(tiny, cptr, label, (uint64_t[]){ cap0, cap1, cap2 }, \
	                               sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ }), \
	           cptr, label)
#define MAKE(untyped, object, bits, slot, count) \
	CALL(untyped, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, object, bits, slot, count)

static void make_thread(unsigned slot, uint64_t vspace, uint64_t buffer, unsigned core)
{
	MAKE(TINY_MEMORY, OBJECT_TCB, 0, slot, 1);
	MAKE(TINY_MEMORY, OBJECT_FRAME_4K, 0, slot + 1, 1);
	CALL(slot + 1, FRAME_MAP, vspace, 0, 0, buffer, RIGHT_ALL, 0);
	CALL(slot, TCB_CONFIGURE, ROOT_SLOT_CNODE, vspace, slot + 1, buffer, 0);
	CALL(slot, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, core);
	CALL(slot, TCB_RESUME, 0, 0, 0, 0);
}

static void make_objects(unsigned cores)
{
	unsigned untyped = ROOT_SLOT_UNTYPED;
	while (tiny->root_cnode[untyped].cap.size_bits < 22)
		untyped++;
	MAKE(untyped, OBJECT_UNTYPED, TINY_U_BITS, TINY_U, 1);
	MAKE(untyped, OBJECT_UNTYPED, MEMORY_BITS, TINY_MEMORY, 1);
	MAKE(TINY_MEMORY, OBJECT_PAGE_TABLE, 0, TINY_TABLE, 6);
	MAKE(TINY_MEMORY, OBJECT_VSPACE, 0, TINY_V2, 1);
	MAKE(TINY_MEMORY, OBJECT_CNODE, 4, TINY_CNODE, 1);
	CALL(TINY_TABLE, PAGE_TABLE_MAP, ROOT_SLOT_VSPACE, 0, 0, TINY_VADDR);
	for (unsigned i = 1; i < 4; i++)
		CALL(TINY_TABLE + i, PAGE_TABLE_MAP, TINY_V2, 0, 0, TINY_VADDR);
	make_thread(TINY_A, ROOT_SLOT_VSPACE, TINY_VADDR + 0x1000, cores - 1);
	make_thread(TINY_B, TINY_V2, TINY_VADDR + 0x2000, cores - 1);
	MAKE(TINY_MEMORY, OBJECT_ENDPOINT, 0, TINY_EP, 1);
	MAKE(TINY_MEMORY, OBJECT_NOTIFICATION, 0, TINY_N, 1);
	MAKE(TINY_MEMORY, OBJECT_REPLY, 0, TINY_R, 1);
	CALL(ROOT_SLOT_CNODE, CNODE_COPY, ROOT_SLOT_CNODE, 0, 0, TINY_CNODE_READ, ROOT_SLOT_CNODE, RIGHT_READ);
	CALL(ROOT_SLOT_TCB, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, 0);
	const struct thread *b = (const struct thread *)tiny->root_cnode[TINY_B].cap.object;
	thread_ipc_buffer(b)->receive_cnode = TINY_CNODE;
	thread_ipc_buffer(b)->receive_slot = 1;
}

/* Frames are made of all of the untyped, written, and revoked. */
static void make_dirty(void)
{
	const unsigned frames = 1 << (TINY_U_BITS - 12);
	MAKE(TINY_U, OBJECT_FRAME_4K, 0, TINY_P0, frames);
	for (unsigned i = 0; i < frames; i++)
		memset(direct(tiny->root_cnode[TINY_P0 + i].cap.object), (int)(TINY_SECRET & 0xff), 4096);
	CALL(ROOT_SLOT_CNODE, CNODE_REVOKE, 0, 0, 0, TINY_U);
}

void tiny_make(const struct tiny_config *config)
{
	require(!tiny && config->cores >= 1 && config->cores <= 2 && config->budget > 0);
	struct hosted_config hosted = { .cores = config->cores, .gsis = 2, .seed = 1 };
	tiny = hosted_create(&hosted);
	make_objects(config->cores);
	if (config->dirty)
		make_dirty();
	hosted_advance(tiny, 1ull << CLOCK_BITS); /* so that no deadline that is overdue comes before 0 */
	hosted_run(tiny);
	const unsigned last = config->cores - 1;
	while ((uint64_t)current(tiny_cpu(last)) != tiny->root_cnode[last ? TINY_A : ROOT_SLOT_TCB].cap.object) {
		hosted_advance(tiny, tiny->kernel.slice);
		hosted_run(tiny);
	}
	tiny->kernel.work_budget = (int32_t)config->budget;
	tiny_now = tiny->time;
	log_range(tiny, (__builtin_offsetof(struct hosted, port) + 7) & ~7ull); /* behind it is the console */
	log_range(direct(arena_part(0)), tiny->config.memory);
}
