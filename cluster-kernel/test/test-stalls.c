/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that makes system calls without pause, while the root task, on another core, stops it, reads and writes its
 * registers and lets it go on: no call is lost, and none is made twice. And threads that move themselves from core to
 * core.
 */
#include <stddef.h>
#include "programs.h"
#include "thread.h"

/*
 * Stalls and moves of a test: enough that rare orders of two cores occur. Cores that are threads yield to the host's
 * scheduler some ten times a stall, and on a busy host each of these takes milliseconds.
 */
enum { STALLS = 100000, STALLS_BRIEFLY = 10000, STALLS_THREADS = 800, OF_A_RUN = 400, MOVES = 5000, MOVES_THREADS = 800,
       CORES = 3 };
enum { ENDPOINT = 1000, NOTE = 1001, PAGE = 1010, WORKER = 1100, RECEIVER = 1110,
       REGISTERS = sizeof(struct thread_registers) / 8 };
#define TARGET (0x500000ull + 200 * 4096) /* of the 2 MiB with buffer_at() */

static _Atomic bool resting; /* the worker makes no more calls for the time being */

/* How many calls the thread has made, of those that RIP counts. */
static uint64_t made(const struct program *self)
{
	return (self->thread->context.registers.rip - self->value) / SYSCALL_SIZE;
}

/*
 * Call n is made again until RIP is behind it, as by a program: a number that the receiver gets once, in order; a page
 * that becomes mapped and unmapped, which fails if the call before was lost or made twice; a signal; a turn for others.
 */
static bool worker_next(struct program *self, unsigned core)
{
	const uint64_t n = made(self);
	EXPECT(n == self->step || n == self->step + 1, true);
	if (n > self->step) {
		EXPECT(last(self), 0);
		self->step = n;
	}
	if (n % 6 == 0 && atomic_load_explicit(&resting, memory_order_relaxed))
		return false;
	switch (n % 6) {
	case 0: return post(self, core, SYS_SEND, ENDPOINT, n, 0);
	case 1: return invoke_on(self, core, PAGE, FRAME_MAP, W(TARGET, RIGHT_READ, 0), W(VSPACE));
	case 2: return post(self, core, SYS_YIELD, 0, 0, 0);
	case 3: return invoke_on(self, core, PAGE, FRAME_UNMAP, NONE, NONE);
	case 4: return post(self, core, SYS_SIGNAL, NOTE, 0, 0);
	default: return post(self, core, SYS_WAIT, NOTE, 0, 0); /* its own signal */
	}
}

static bool receiver_next(struct program *self, unsigned core)
{
	if (self->step++) {
		EXPECT(last(self), 0);
		EXPECT(word(self->thread, 0), self->value);
		self->value += 6;
	}
	return post(self, core, SYS_RECV, ENDPOINT, 0, 0);
}

/* The registers that READ_REGISTERS gave become the words of WRITE_REGISTERS; `resume` is its first. */
static bool write_back(struct program *self, unsigned core, bool resume)
{
	uint64_t words[1 + REGISTERS] = { resume };
	for (unsigned i = 0; i < REGISTERS; i++)
		if (i < MESSAGE_REGISTERS)
			words[1 + i] = word(self->thread, i);
		else
			EXPECT(hosted_load(machine, core, self->vaddr + 8 * i, &words[1 + i]), true);
	return invoke_on(self, core, WORKER, TCB_WRITE_REGISTERS, words, 1 + REGISTERS, NONE);
}

/*
 * A round: suspend, read, write, resume; in every second one WRITE_REGISTERS resumes. After some all come to rest, so
 * that the kernel is checked.
 */
static bool meddler_next(struct program *self, unsigned core)
{
	if (self->step)
		EXPECT(last(self), 0);
	switch (self->step++ % 5) {
	case 0: atomic_store_explicit(&resting, false, memory_order_relaxed);
		return invoke_on(self, core, WORKER, TCB_SUSPEND, NONE, NONE);
	case 1: return invoke_on(self, core, WORKER, TCB_READ_REGISTERS, NONE, NONE);
	case 2: return write_back(self, core, self->left % 2);
	case 3: return invoke_on(self, core, WORKER, TCB_RESUME, NONE, NONE);
	default:
		if (--self->left % OF_A_RUN)
			return post(self, core, SYS_YIELD, 0, 0, 0);
		atomic_store_explicit(&resting, true, memory_order_relaxed);
		return false;
	}
}

static void stalled(unsigned worker_core, unsigned receiver_core, unsigned stalls)
{
	stalls = machine->config.threads ? STALLS_THREADS : stalls;
	struct program p[3] = { { .thread = machine->root, .next = meddler_next, .left = stalls,
	                          .vaddr = ROOT_IPC_BUFFER_VADDR } };
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_FRAME_4K, 0, PAGE, 1);
	p[1] = (struct program){ .thread = spawn(WORKER, 100, worker_core), .next = worker_next,
	                         .vaddr = buffer_at(WORKER) };
	p[1].value = p[1].thread->context.registers.rip;
	p[2] = (struct program){ .thread = spawn(RECEIVER, 100, receiver_core), .next = receiver_next };
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	atomic_store(&resting, false);
	run_programs(p, 3, 1);
	/* it got on; how far is a matter of the host's scheduler where cores are its threads */
	EXPECT(p[1].step > (machine->config.threads ? 0 : stalls / 8), true);
	EXPECT(p[2].value + 6 > p[1].step && p[2].value <= p[1].step + 6, true);
}

static void stalled_on_another_core(void) { stalled(1, 2, STALLS); }
static void stalled_beside_its_receiver(void) { stalled(1, 1, STALLS_BRIEFLY); }
static void stalled_far_from_its_receiver(void) { stalled(2, 0, STALLS_BRIEFLY); }

/* Moves itself, and is on the other core when the call is over: made once, and nowhere else meanwhile. */
static bool nomad_next(struct program *self, unsigned core)
{
	EXPECT(made(self), self->step);
	if (self->step) {
		EXPECT(last(self), 0);
		EXPECT(core == self->slot || self->index == 2, true);
		if (--self->left == 0)
			return false;
	}
	self->step++;
	self->slot = (core + 1 + self->step % (CORES - 1)) % CORES;
	return invoke_on(self, core, self->index == 2 ? WORKER : WORKER + 10 * self->index, TCB_SCHEDULE,
	                 W(99 + self->step % 3, self->slot),
	                 W(ROOT_SLOT_TCB));
}

/* Two such threads; `moved`: both name one TCB, so that one of them is moved by the other, wherever it wants to be. */
static void nomads(bool moved)
{
	struct program p[2];
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t slot = WORKER + (moved ? 20 : 10) * i;
		p[i] = (struct program){ .thread = spawn(slot, 100, i), .next = nomad_next, .index = moved ? 2 : i,
		                         .vaddr = buffer_at(slot) };
		p[i].left = machine->config.threads ? MOVES_THREADS : MOVES;
		p[i].value = p[i].thread->context.registers.rip;
	}
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 2, 0);
}

static void moves_itself(void) { nomads(false); }
static void is_moved_as_well(void) { nomads(true); }

TESTS(stalls) = {
	{ "stalled while it makes calls", stalled_on_another_core, CORES | TEST_ONCE },
	{ "stalled beside its receiver", stalled_beside_its_receiver, CORES | TEST_ONCE },
	{ "stalled, its receiver on the stalling core", stalled_far_from_its_receiver, CORES | TEST_ONCE },
	{ "threads move themselves", moves_itself, CORES | TEST_ONCE },
	{ "a thread that moves itself is moved", is_moved_as_well, CORES | TEST_ONCE },
	{ 0 },
};
