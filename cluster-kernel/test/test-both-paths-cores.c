/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As test-both-paths.c, on two cores: beside SIGNAL_WAIT the threads move, call each other, are stopped, destroyed and
 * made anew, lose their address spaces and notifications, and fault. Where the regime has the choice, the kernel's
 * granularity and the objects' localities change, too.
 *
 * A core that is in the kernel goes on until it leaves or waits, so that the order of events is that of the steps,
 * however long a path is.
 */
#include <string.h>
#include "both-paths.h"
#include "draw-localities.h"
#include "harness.h"
#include "notification.h"
#include "vspace.h"
#include "work.h"

enum { CORES = 2, THREADS = 8, NOTES = 4, STEPS = 700, AT = 1 << 30, ROOT = 1, RUN_WHILE = 256 };
/* Slots. */
enum { NOTE = 1000, READ_ONLY = 1005, WRITE_ONLY, BADGED, EMPTY, EP, BOUND_EP, REPLY = 1012, A = 1020,
       SPACE_POOL = 1110, OF_SPACE = 10, SPACE = 1, TABLES = 2, FRAME = 5, TCB_WORDS = 21 };
enum { THREAD_WORDS = 19, CORE_WORDS = 5 };

/* What is compared. */
struct seen {
	uint64_t thread[THREADS][THREAD_WORDS], word[NOTES][2], core[CORES][CORE_WORDS], queue[CORES][THREADS + 2];
};

static struct seen seen[STEPS];
static struct thread *threads[THREADS];
static unsigned turns;

static unsigned choose(void *argument, unsigned count)
{
	(void)argument;
	return ++turns % RUN_WHILE ? 0 : count - 1;
}

/* 0: nobody; THREADS + 1: the root task. */
static unsigned index_of(const struct thread *thread)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (thread == threads[i])
			return i + 1;
	return thread ? THREADS + 1 : 0;
}

static void look_at_thread(const struct thread *thread, uint64_t *words)
{
	const struct thread_registers *r = &thread->context.registers;
	const bool in_queue = thread->queued || (thread_waits(thread) && thread->state != THREAD_REPLY);
	const uint64_t run = thread->time + (running(0) == thread || running(1) == thread ? machine->time : 0);
	const uint64_t all[] = { thread->state, r->rax, r->rdi, r->rsi, r->rip, r->r12, thread->in_timers,
		                 thread->in_timers ? units(thread->deadline) : 0, thread->queued,
		                 length(thread->slice_left),
		                 thread->priority, in_queue ? index_of(thread->next) : 0,
		                 in_queue ? index_of(thread->previous) : 0,
		                 length(run), thread->core, thread->next_core, thread->loaded, thread->bound != 0,
		                 r->fs_base };
	_Static_assert(sizeof(all) == sizeof(seen[0].thread[0]), "all that is compared");
	memcpy(words, all, sizeof(all));
}

static void look_at_core(unsigned core, uint64_t *words, uint64_t *queue)
{
	const struct cpu *cpu = machine->kernel.cpu[core];
	const struct thread *thread = running(core);
	const uint64_t all[] = { index_of(thread), units(cpu->own.slice_end), (uint64_t)cpu->shared.running,
		                 units(cpu->own.housekeeping_at),
		                 thread && cpu->own.loaded_vspace == thread_vspace(thread) };
	EXPECT(timer_is_set(cpu, threads, THREADS), true);
	_Static_assert(sizeof(all) == sizeof(seen[0].core[0]), "all that is compared");
	memcpy(words, all, sizeof(all));
	for (int p = cpu->shared.ready.highest; p >= 0; p--)
		for (const struct thread *one = cpu->shared.ready.level[p].head; one; one = one->next)
			*queue++ = index_of(one);
}

static void look(struct seen *now)
{
	memset(now, 0, sizeof(*now));
	for (unsigned i = 0; i < THREADS; i++)
		look_at_thread(threads[i], now->thread[i]);
	for (unsigned i = 0; i < NOTES; i++) {
		const struct notification *notification = (const struct notification *)slot_of(NOTE + i)->cap.object;
		now->word[i][0] = notification->word;
		now->word[i][1] = index_of(notification->waiters.head);
	}
	for (unsigned i = 0; i < CORES; i++)
		look_at_core(i, now->core[i], now->queue[i]);
}

/* A deadline in the past, soon, late, never, or none; two threads often have the same. */
static uint64_t draw_deadline(uint64_t time)
{
	switch (draw(6)) {
	case 0: return 0;
	case 1: return draw(2) ? time - UNIT : 1;
	case 2: return draw(4) ? time + 20 * UNIT : ~0ull;
	default: return time + UNIT * (1 + draw(20));
	}
}

static uint64_t draw_cap(void)
{
	static const uint64_t odd[] = { READ_ONLY, WRITE_ONLY, BADGED, BADGED, BADGED, EP, REPLY, EMPTY, CNODE, A,
	                                ~0ull };
	return draw(12) ? NOTE + draw(NOTES) : odd[draw(sizeof(odd) / sizeof(odd[0]))];
}

/* Returns the same one mostly: most threads are equals. */
static uint64_t draw_priority(void) { return draw(3) ? 90 : 89 + draw(3); }

static uint64_t tcb(unsigned i) { return A + 10 * i; }

static void make_space(unsigned i)
{
	const uint64_t pool = SPACE_POOL + OF_SPACE * i, space = pool + SPACE;
	make(OBJECT_UNTYPED, VSPACE_BITS, pool, 1);
	EXPECT(call(pool, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, space, 1), W(CNODE)), 0);
	make(OBJECT_PAGE_TABLE, 0, pool + TABLES, 3);
	for (unsigned k = 0; k < 3; k++)
		EXPECT(call(pool + TABLES + k, PAGE_TABLE_MAP, W(AT), W(space)), 0);
	make(OBJECT_FRAME_4K, 0, pool + FRAME, 1);
	EXPECT(call(pool + FRAME, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(space)), 0);
}

static void delete_space(unsigned i)
{
	const uint64_t pool = SPACE_POOL + OF_SPACE * i;
	revoke(pool);
	for (unsigned k = 0; k <= FRAME; k++)
		if (k != SPACE)
			delete(pool + k);
}

/* The thread, which does not run on core 0, begins anew: in its own space, or, if it has none, the root task's. */
static void start(unsigned i, unsigned core)
{
	const uint64_t space = SPACE_POOL + OF_SPACE * i + SPACE, first[TCB_WORDS] = { 1, 0x1000 * i, 0x2000 * i };
	EXPECT(call(tcb(i), TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(tcb(i), TCB_CONFIGURE, W(1024, 0),
	            W(CNODE, slot_empty(slot_of(space)) ? VSPACE : space, tcb(i) + 1)), 0);
	EXPECT(call(tcb(i), TCB_SCHEDULE, W(draw_priority(), core), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(tcb(i), TCB_WRITE_REGISTERS, first, TCB_WORDS, NONE), 0);
}

static void make_one(unsigned i, unsigned core)
{
	make(OBJECT_TCB, 0, tcb(i), 1);
	make(OBJECT_FRAME_4K, 0, tcb(i) + 1, 1);
	threads[i] = (struct thread *)slot_of(tcb(i))->cap.object;
	start(i, core);
}

static void make_note(unsigned i) { make(OBJECT_NOTIFICATION, 0, NOTE + i, 1); }

/* By core 0, and to the thread only if it does not run there. */
static void change(unsigned i)
{
	const unsigned drawn = draw(20), note = draw(NOTES), core = draw(CORES);
	const uint64_t pool = SPACE_POOL + OF_SPACE * i;
	if (running(0) == threads[i] || drawn < 4)
		call(tcb(i), TCB_SCHEDULE, W(draw_priority(), core), W(ROOT_SLOT_TCB));
	else if (drawn < 6)
		call(tcb(i), TCB_SUSPEND, NONE, NONE);
	else if (drawn < 8)
		call(tcb(i), TCB_RESUME, NONE, NONE);
	else if (drawn < 12)
		start(i, core);
	else if (drawn == 12)
		call(tcb(i), TCB_SET_TLS, W(0x1000 + draw(4)), NONE);
	else if (drawn == 13)
		call(tcb(i), draw(2) ? TCB_BIND : TCB_UNBIND, NONE, W(NOTE + note));
	else if (drawn == 14 && slot_empty(slot_of(pool)))
		make_space(i);
	else if (drawn == 14)
		delete_space(i);
	else if (drawn == 15)
		call(pool + FRAME, FRAME_UNMAP, NONE, NONE);
	else if (drawn == 16)
		call(pool + FRAME, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(pool + SPACE));
	else if (drawn == 17)
		delete(tcb(i)), delete(tcb(i) + 1), make_one(i, core);
	else if (drawn == 18)
		revoke(NOTE + note), delete(NOTE + note), make_note(note);
	else
		call(CNODE, CNODE_COPY, W(draw(2) ? READ_ONLY : WRITE_ONLY, NOTE + note,
		                          draw(2) ? RIGHT_READ : RIGHT_WRITE, 0), W(CNODE));
}

/* By the thread that runs on the core, which is not the root task. */
static void take_step(unsigned core, uint64_t time)
{
	const unsigned drawn = draw(40), i = index_of(running(core)) - 1;
	const uint64_t wait = draw_cap(), signal = draw_cap(), deadline = draw_deadline(time);
	hosted_touch(machine, core, AT);
	if (drawn < 28) {
		syscall_on(core, SYS_SIGNAL_WAIT, wait, 0, W(deadline), NONE, signal);
	} else if (drawn < 30) {
		syscall_on(core, SYS_WAIT, wait, 0, W(deadline), NONE, 0);
	} else if (drawn < 33) {
		simple(core, SYS_SIGNAL, signal);
	} else if (drawn < 35) {
		simple(core, SYS_YIELD, 0);
	} else if (drawn == 35) {
		syscall_on(core, SYS_CALL, EP, draw(3), W(draw(9)), NONE, 0);
	} else if (drawn < 38) {
		syscall_on(core, draw(2) ? SYS_REPLY_RECV : SYS_RECV, EP, 0, W(draw(9)), NONE, REPLY + i);
	} else if (drawn == 38) {
		syscall_on(core, SYS_RECV, BOUND_EP, 0, W(0), NONE, 0);
	} else {
		hosted_post_trap(machine, core);
		settle();
	}
}

/* What wakes and changes threads, and does not wait: by the root task, or whoever runs on core 0. */
static void disturb(void)
{
	if (draw(4))
		simple(0, SYS_SIGNAL, NOTE + draw(NOTES));
	else
		change(draw(THREADS));
}

static bool has_program(unsigned core) { return running(core) && running(core) != machine->root; }

static void step(uint64_t time)
{
	unsigned core = draw(CORES);
	if (objects_have_homes() && !draw(10)) {
		order_granularity(draw(4) ? GRANULARITY_COARSE : GRANULARITY_FINE);
		settle();
		draw_localities(machine, &seed);
	}
	if (!has_program(core))
		core ^= 1;
	if (has_program(core) && draw(6))
		take_step(core, time);
	else if (running(0))
		disturb();
}

static void set_up(void)
{
	machine->kernel.slice = 9 * UNIT;
	for (unsigned i = 0; i < NOTES; i++)
		make_note(i);
	make(OBJECT_ENDPOINT, 0, EP, 2);
	make(OBJECT_REPLY, 0, REPLY, THREADS);
	copy(BADGED, NOTE + 1, RIGHT_READ | RIGHT_WRITE, 0x40);
	begun = (machine->time / UNIT + 10) * UNIT;
	machine->time = begun;
	root_priority(200);
	for (unsigned i = THREADS / 2; i < THREADS; i++)
		make_space(i);
	for (unsigned i = 0; i < THREADS; i++)
		make_one(i, i % CORES);
	EXPECT(call(tcb(0), TCB_BIND, NONE, W(NOTE + 2)), 0);
	root_priority(ROOT);
	check_every(8);
}

/* Returns how many system calls left by the fast path. */
static unsigned play(bool slow, uint64_t drawn_from, bool compare)
{
	unsigned fast = 0;
	machine->slow_wait = slow;
	seed = drawn_from;
	set_up();
	for (unsigned i = 0; i < STEPS; i++) {
		struct seen now;
		uint64_t time = begun + (uint64_t)UNIT * 2 * (i + 1);
		turns = 0;
		machine->kernel.work_budget = 1; /* of deadlines that pass together, each needs an entry of its own */
		hosted_advance(machine, time - machine->time);
		settle();
		machine->kernel.work_budget = WORK_BUDGET;
		machine->core[0].fast = machine->core[1].fast = false;
		step(time + UNIT / 2);
		fast += machine->core[0].fast + machine->core[1].fast;
		look(compare ? &now : &seen[i]);
		if (!compare)
			continue;
		for (unsigned k = 0; k < sizeof(now) / sizeof(uint64_t); k++)
			EXPECT(((uint64_t *)&now)[k], ((uint64_t *)&seen[i])[k]);
	}
	return fast;
}

/* In a machine of its own. */
static unsigned play_anew(bool slow, uint64_t drawn_from, bool compare)
{
	struct hosted_config config = machine->config;
	config.choose = choose;
	config.memory = 64 << 20;
	hosted_destroy(machine);
	machine = hosted_create(&config);
	return play(slow, drawn_from, compare);
}

static void both_paths_do_the_same(void)
{
	enum { PROGRAMS = 24 };
	unsigned with = 0, without = 0;
	for (uint64_t i = 1; i <= PROGRAMS; i++) {
		uint64_t drawn_from = 2 * PROGRAMS * machine->config.seed + i;
		without += play_anew(true, drawn_from, false);
		with += play_anew(false, drawn_from, true);
	}
	if (!kernel_has_readers() || objects_have_homes()) /* else each entry is a reader's */
		EXPECT(with > without + PROGRAMS * STEPS / 20, true);
}

TESTS(both_paths_cores) = {
	{ "both paths of a signal and wait do the same on two cores", both_paths_do_the_same, CORES | TEST_ONCE },
	{ 0 },
};
