/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork and join (Uhlig 2007, section 4.1, Figure 7): the main thread, on core 0, signals a worker on each other core;
 * the last one that runs signals back. While they wait all other cores are halted, so that each signal is a wake-up on
 * another core; or it signals all of them in one call (SYS_SIGNAL_SET). An emulator's plugin sees the moments (MARK):
 * no clock of the guest is read in between. Where each worker's notification is at home on its core, a signal is a
 * message: the coordinator's call travels there and comes back.
 */
#include <stdatomic.h>
#include <skerry/mark.h>
#include "bare.h"
#include "pingpong.h"

enum { WARM_UP = 2, STACK_SIZE = 4096, WORKER_PRIORITY = MAIN_PRIORITY - 10 };
/* MARK(1): the first signal comes. MARK(2): a worker runs. MARK(3): all have been signalled. As in
 * deploy/bench/dynamic/forkjoin.py. */

static uint8_t stack[FEW_CORES][STACK_SIZE] __attribute__((aligned(4096)));
static uint64_t thread[FEW_CORES], wake[FEW_CORES], joined; /* by core; notifications */
static uint32_t workers;
static _Alignas(64) _Atomic uint32_t running; /* workers of this round that run */

static _Noreturn void worker_main(uint64_t woken)
{
	for (;;) {
		check_ok(notification_wait(woken, 0, 0));
		MARK(2);
		if (atomic_fetch_add(&running, 1) + 1 == workers)
			check_ok(notification_signal(joined));
	}
}

/* In slots that follow each other where one call signals all. */
static void make_notifications(bool at_once)
{
	const uint64_t first = at_once ? objects(OBJECT_NOTIFICATION, 0, workers) : 0;
	for (unsigned core = 1; core <= workers; core++)
		wake[core] = at_once ? first + core - 1 : badged(object_of(core, OBJECT_NOTIFICATION), 1, RIGHT_ALL);
}

static void worker_start(unsigned core)
{
	thread[core] = object(OBJECT_TCB, 0);
	struct thread_registers registers = {
		/* as after a call */
		.rip = (uint64_t)worker_main, .rsp = (uint64_t)stack[core] + STACK_SIZE - 8, .rdi = wake[core],
	};
	check_ok(tcb_configure(IPC, thread[core], ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_schedule(IPC, thread[core], ROOT_SLOT_TCB, WORKER_PRIORITY, core));
	check_ok(tcb_write_registers(IPC, thread[core], 1, &registers));
}

/* Registers can be read of a thread that waits. */
static bool worker_waits(unsigned core)
{
	struct thread_registers registers;
	return tcb_read_registers(IPC, thread[core], &registers) == 0;
}

/* Returns when all workers wait, and their cores have had the time to halt. */
static void workers_rest(void)
{
	for (unsigned core = 1; core <= workers; core++)
		while (!worker_waits(core))
			others_run();
	others_run();
}

static void signal_each(void)
{
	for (unsigned core = 1; core <= workers; core++)
		check_ok(notification_signal(wake[core]));
}

static void signal_all(void)
{
	uint64_t set = ~0ull >> (64 - workers);
	check_ok(notification_signal_set(wake[1], &set));
}

static void fork_and_join(bool at_once)
{
	running = 0;
	MARK(1);
	if (at_once)
		signal_all();
	else
		signal_each();
	MARK(3);
	check_ok(notification_wait(joined, 0, 0));
	check_eq(running, workers);
}

static void measure_rounds(unsigned cores, unsigned rounds, bool at_once)
{
	MARK(0);
	workers = cores - 1;
	check(workers <= 64);
	make_notifications(at_once);
	joined = badged(object_of(0, OBJECT_NOTIFICATION), 1, RIGHT_ALL);
	for (unsigned core = 1; core <= workers; core++)
		worker_start(core);
	for (unsigned i = 0; i < WARM_UP + rounds; i++) {
		workers_rest();
		fork_and_join(at_once);
	}
	workers_rest();
	for (unsigned core = 1; core <= workers; core++)
		check_ok(tcb_suspend(thread[core]));
	struct text line = LINE;
	text_format(&line, "{\"event\":\"forkjoin\",\"cores\":%u,\"warm_up\":%u,\"rounds\":%u}\n", cores, WARM_UP,
	            rounds);
	output_results(&line);
	memory_reset();
}

void forkjoin_measure(unsigned rounds, const uint32_t *cores, bool at_once)
{
	for (; *cores; cores++) {
		check(*cores >= 2 && *cores <= ROOT->cpu_count);
		measure_rounds(*cores, rounds, at_once);
	}
}
