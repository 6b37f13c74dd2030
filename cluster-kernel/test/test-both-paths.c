/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGNAL_WAIT by the fast path and by the slow one: the same random programs on two machines, of which one has no fast
 * path. After each step the threads, their registers, queues, slices and deadlines are the same.
 *
 * The clock is set before each step, in units that are much longer than what a step reads of it: the paths read it at
 * other moments, so times are compared in units.
 */
#include <string.h>
#include "both-paths.h"
#include "harness.h"
#include "notification.h"

enum { THREADS = 5, NOTES = 3, STEPS = 1500, NOTE = 1000, READ_ONLY = 1003, WRITE_ONLY, BADGED, EP, REPLY,
       EMPTY, A = 1010, ROOT = 1 };

/* What is compared. */
struct seen {
	uint64_t thread[THREADS][11], word[NOTES], core[3];
	uint64_t queue[THREADS + 1];
};

static struct seen seen[STEPS];
static struct thread *threads[THREADS];

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
	const bool in_queue = thread->queued || thread->state == THREAD_WAITING;
	const uint64_t run = thread->time + (thread == running(0) ? machine->time : 0);
	const uint64_t all[] = { thread->state, r->rax, r->rdi, r->rsi, thread->in_timers,
		                 thread->in_timers ? units(thread->deadline) : 0, thread->queued,
		                 length(thread->slice_left),
		                 thread->priority, in_queue ? index_of(thread->next) : 0, length(run) };
	_Static_assert(sizeof(all) == sizeof(seen[0].thread[0]), "all that is compared");
	memcpy(words, all, sizeof(all));
}

static void look(struct seen *now)
{
	const struct cpu *cpu = machine->kernel.cpu[0];
	unsigned queued = 0;
	memset(now, 0, sizeof(*now));
	for (unsigned i = 0; i < THREADS; i++)
		look_at_thread(threads[i], now->thread[i]);
	for (unsigned i = 0; i < NOTES; i++)
		now->word[i] = ((struct notification *)slot_of(NOTE + i)->cap.object)->word;
	now->core[0] = index_of(running(0));
	now->core[1] = units(cpu->own.slice_end);
	now->core[2] = (uint64_t)cpu->shared.running;
	EXPECT(timer_is_set(cpu, threads, THREADS), true);
	for (int p = cpu->shared.ready.highest; p >= 0; p--)
		for (const struct thread *one = cpu->shared.ready.level[p].head; one; one = one->next)
			now->queue[queued++] = index_of(one);
}

/* A deadline in the past, soon, late, or none. */
static uint64_t draw_deadline(uint64_t time)
{
	switch (draw(5)) {
	case 0: return 0;
	case 1: return time - UNIT;
	default: return time + UNIT * (1 + draw(40));
	}
}

/* Of a notification; now and then one that is badged, lacks a right, or names something else or nothing. */
static uint64_t draw_cap(void)
{
	static const uint64_t odd[] = { READ_ONLY, WRITE_ONLY, BADGED, BADGED, EP, REPLY, EMPTY, CNODE };
	return draw(8) ? NOTE + draw(NOTES) : odd[draw(sizeof(odd) / sizeof(odd[0]))];
}

static void take_step(uint64_t time)
{
	uint64_t wait = draw_cap(), signal = draw_cap(), deadline = draw_deadline(time);
	unsigned drawn = draw(25), other = draw(THREADS), priority = 90 + draw(3);
	if (running(0) == machine->root) { /* it never sleeps */
		if (drawn < 12)
			simple(0, SYS_SIGNAL, NOTE + draw(NOTES));
		else
			call(A + 10 * other, TCB_RESUME, NONE, NONE);
		return;
	}
	if (drawn == 20 && running(0) != threads[0]) /* nothing would end the receive of another */
		drawn = 0;
	if (drawn < 15)
		syscall_on(0, SYS_SIGNAL_WAIT, wait, 0, W(deadline), NONE, signal);
	else if (drawn < 17)
		syscall_on(0, SYS_WAIT, wait, 0, W(deadline), NONE, 0);
	else if (drawn < 19)
		simple(0, SYS_SIGNAL, signal);
	else if (drawn == 19)
		simple(0, SYS_YIELD, 0);
	else if (drawn == 20)
		syscall_on(0, SYS_RECV, EP, 0, W(0), NONE, REPLY); /* only a bound notification ends this */
	else if (drawn == 21)
		call(A + 10 * other, TCB_SCHEDULE, W(priority, 0), W(ROOT_SLOT_TCB));
	else
		call(A + 10 * other, drawn == 22 ? TCB_SUSPEND : TCB_RESUME, NONE, NONE);
}

/* Returns how many system calls left by the fast path. */
static unsigned play(bool slow, uint64_t drawn_from, bool compare)
{
	unsigned fast = 0;
	machine->slow_wait = slow;
	machine->kernel.slice = 9 * UNIT;
	make(OBJECT_NOTIFICATION, 0, NOTE, NOTES);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(READ_ONLY, NOTE, RIGHT_READ, 0);
	copy(WRITE_ONLY, NOTE + 1, RIGHT_WRITE, 0);
	copy(BADGED, NOTE + 1, RIGHT_READ | RIGHT_WRITE, 0x40);
	seed = drawn_from;
	begun = (machine->time / UNIT + 10) * UNIT;
	machine->time = begun;
	root_priority(200);
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = make_thread(A + 10 * i, 90 + draw(3), 0);
	EXPECT(call(A, TCB_BIND, NONE, W(NOTE + 2)), 0);
	root_priority(ROOT);
	check_every(20);
	for (unsigned i = 0; i < STEPS; i++) {
		struct seen now;
		uint64_t time = begun + (uint64_t)UNIT * 2 * (i + 1);
		hosted_advance(machine, time - machine->time);
		settle();
		take_step(time + UNIT / 2);
		fast += machine->core[0].fast;
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
	hosted_destroy(machine);
	machine = hosted_create(&config);
	return play(slow, drawn_from, compare);
}

static void both_paths_do_the_same(void)
{
	enum { PROGRAMS = 8 };
	unsigned fast = 0;
	for (uint64_t i = 1; i <= PROGRAMS; i++) {
		uint64_t drawn_from = 2 * PROGRAMS * machine->config.seed + i;
		EXPECT(play_anew(true, drawn_from, false), 0);
		fast += play_anew(false, drawn_from, true);
	}
	if (!kernel_has_readers() || objects_have_homes()) /* else each entry is a reader's */
		EXPECT(fast > STEPS / 2, true);
}

TESTS(both_paths) = {
	{ "both paths of a signal and wait do the same", both_paths_do_the_same, 1 },
	{ 0 },
};
