/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include <skerry/cluster_mask.h>
#include <skerry/core_control.h>
#include <skerry/memory_control.h>
#include "arena.h"
#include "message.h"

enum { CHANGES = 8, AWAY = 5, MEMORY_BITS = 17, CLOCK_BITS = 40 };
enum { PLACE_USED = 4 << 12 }; /* bytes of the memory that moves, of which operations make something */
_Static_assert(TINY_LAST < CHECK_SLOTS, "kernel_check() looks at all slots that operations use");

struct hosted *tiny;
uint64_t tiny_now, tiny_place;

/* In place of the port's, by the linker's --wrap: a reading does not move the clock. */
uint64_t __wrap_hosted_time(void);
uint64_t __wrap_hosted_time(void)
{
	access_read(&hosted_self->machine->time, sizeof(hosted_self->machine->time));
	return hosted_self->machine->time;
}

static uint64_t place_is_here;

bool tiny_has_place(void) { return place_is_here; }

static bool is_place(uint64_t base) { return tiny_place && base - tiny_place < 1ull << TINY_M_BITS; }

/* In place of the port's, for the memory that moves: the host's tables do not go back with the write log. */
uint32_t __real_arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces);
uint32_t __wrap_arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces);
uint32_t __wrap_arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces)
{
	if (!is_place(base))
		return __real_arch_direct_count(kernel, base, pieces);
	access_read(&place_is_here, sizeof(place_is_here));
	return place_is_here ? pieces : 0;
}

void __real_arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped);
void __wrap_arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped);
void __wrap_arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped)
{
	if (!is_place(base)) {
		__real_arch_direct_set(kernel, base, pieces, mapped);
		return;
	}
	if (place_is_here == mapped)
		fail("memory comes that is here, or goes that is not");
	log_put(&place_is_here, mapped);
	if (!mapped)
		LOG_SET(tiny->direct_losses, tiny->direct_losses + 1);
	for (unsigned i = 0; mapped && i < PLACE_USED / 8; i++) /* what its last owner has left */
		log_put((uint64_t *)direct(base) + i, TINY_SECRET);
}

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

static void make_objects(unsigned cores, unsigned core_of_b)
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
	make_thread(TINY_A, ROOT_SLOT_VSPACE, TINY_VADDR + 0x1000, cores > 1);
	make_thread(TINY_B, TINY_V2, TINY_VADDR + 0x2000, core_of_b);
	MAKE(TINY_MEMORY, OBJECT_ENDPOINT, 0, TINY_EP, 1);
	MAKE(TINY_MEMORY, OBJECT_NOTIFICATION, 0, TINY_N, 1);
	MAKE(TINY_MEMORY, OBJECT_REPLY, 0, TINY_R, 1);
	CALL(ROOT_SLOT_CNODE, CNODE_COPY, ROOT_SLOT_CNODE, 0, 0, TINY_CNODE_READ, ROOT_SLOT_CNODE, RIGHT_READ);
	CALL(ROOT_SLOT_TCB, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, 0);
	const struct thread *b = (const struct thread *)tiny->root_cnode[TINY_B].cap.object;
	thread_ipc_buffer(b)->receive_cnode = TINY_CNODE;
	thread_ipc_buffer(b)->receive_slot = 1;
}

/* Memory that derives from nothing, as what may be given away does. */
static void make_moving(void)
{
	unsigned untyped = ROOT_SLOT_UNTYPED;
	while (tiny->root_cnode[untyped].cap.size_bits <= TINY_M_BITS ||
	       tiny->root_cnode[untyped].cap.object & ((1ull << TINY_M_BITS) - 1) ||
	       slot_has_children(&tiny->root_cnode[untyped]))
		untyped++;
	MAKE(untyped, OBJECT_UNTYPED, TINY_M_BITS, TINY_M, 1);
	CALL(ROOT_SLOT_CNODE, CNODE_DELETE, 0, 0, 0, untyped);
	tiny_place = tiny->root_cnode[TINY_M].cap.object;
	place_is_here = true;
}

static void make_homes(unsigned core)
{
	if (strcmp(REGIME_HEADER, "dynamic.h") != 0)
		return;
	for (unsigned i = 0; i < CHANGES; i++) /* more than a change needs */
		CALL(ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, 0, 0, 0, GRANULARITY_FINE);
	CALL(ROOT_SLOT_CNODE, CNODE_LOCALITY, 0, 0, 0, TINY_N, mask_of(core));
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

/* Each thread of core 1 signals, and no other core goes on. */
static void send_away(void)
{
	const struct hosted_call call = { .number = SYS_SIGNAL, .cptr = TINY_N };
	for (unsigned i = 0; i < AWAY && !tiny_idle(1); i++) {
		hosted_post_call(tiny, 1, &call);
		while (hosted_core_busy(&tiny->core[1])) {
			hosted_self = &tiny->core[1];
			fiber_resume(&hosted_self->fiber);
			hosted_self = 0;
		}
	}
	if (!tiny_idle(1))
		fail("the tiny machine cannot be made: a thread is not away");
}

void tiny_make(const struct tiny_config *config)
{
	require(!tiny && config->cores >= 1 && config->cores <= STEP_CORES && config->budget > 0);
	const struct hosted_controlled neighbour = { TINY_NEIGHBOUR, 1, 0 };
	struct hosted_config hosted = { .cores = config->cores, .gsis = 2, .seed = 1,
		                        .memory = config->start & START_MOVES ? 96 << 20 : 0,
		                        .controlled_count = (config->start & START_MOVES) != 0,
		                        .controlled = &neighbour };
	tiny = hosted_create(&hosted);
	make_objects(config->cores, config->start & START_AWAY ? 1 : config->cores - 1);
	for (unsigned i = 0; config->start & START_AWAY && i < AWAY - 2; i++)
		make_thread(TINY_P0 + 2 * i, ROOT_SLOT_VSPACE, TINY_PLAY + (i + 1) * 0x1000ull, 1);
	if (config->start & START_MOVES)
		make_moving();
	if (config->start & START_DIRTY)
		make_dirty();
	if (config->start & START_HOMES)
		make_homes(config->cores - 1);
	hosted_advance(tiny, 1ull << CLOCK_BITS); /* so that no deadline that is overdue comes before 0 */
	hosted_run(tiny);
	const unsigned core = config->cores > 1;
	while ((uint64_t)current(tiny_cpu(core)) != tiny->root_cnode[core ? TINY_A : ROOT_SLOT_TCB].cap.object) {
		hosted_advance(tiny, tiny->kernel.slice);
		hosted_run(tiny);
	}
	if (config->start & START_AWAY)
		send_away();
	tiny->kernel.work_budget = (int32_t)config->budget;
	tiny_now = tiny->time;
	log_range(tiny, (__builtin_offsetof(struct hosted, port) + 7) & ~7ull); /* behind it is the console */
	log_range(direct(arena_part(0)), tiny->config.memory);
	if (config->start & START_MOVES) {
		log_range(&place_is_here, sizeof(place_is_here));
		log_range(hosted_control(0), BOOT_MAX_CLUSTERS * sizeof(struct cluster_control) +
		                                     (size_t)HOSTED_CPUS * sizeof(struct core_control));
		log_range(hosted_memory_control(), hosted_memory_size() & ~7ull);
	}
}
