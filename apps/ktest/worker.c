/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

enum { WORKERS = 24, STACK_SIZE = 16384 };
#define BUFFERS (WINDOW + 256 * 4096ull) /* their IPC buffers: the window's upper half */

static struct worker workers[WORKERS];
static uint8_t stack[WORKERS][STACK_SIZE] __attribute__((aligned(4096)));
static unsigned count;
static uint64_t grave; /* an endpoint that nobody sends to */

void worker_entry(void);
_Noreturn void worker_main(struct worker *worker);

bool in_worker(void)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	return here >= (uint64_t)stack && here < (uint64_t)(stack + WORKERS);
}

_Noreturn void worker_stop(void)
{
	struct message m = { 0 };
	for (;;)
		ipc_receive(grave, 0, &m);
}

_Noreturn void worker_main(struct worker *worker)
{
	worker->run(worker);
	worker->done = true;
	worker_stop();
}

void worker_init(void)
{
	grave = slot();
	check_ok(untyped_retype(IPC, test_memory(), OBJECT_ENDPOINT, 0, ROOT_SLOT_CNODE, grave, 1));
}

/* Before the test's memory goes: threads at rest leave nothing behind in the shared memory of the next test. */
void worker_reset(void)
{
	for (unsigned i = 0; i < count; i++)
		tcb_suspend(workers[i].tcb);
	count = 0;
}

void workers_drop(void)
{
	for (unsigned i = 0; i < count; i++) {
		cnode_delete(ROOT_SLOT_CNODE, workers[i].tcb);
		cnode_delete(ROOT_SLOT_CNODE, workers[i].frame);
	}
	count = 0;
}

struct worker *worker_make(void (*run)(struct worker *), unsigned priority, unsigned core)
{
	check(count < WORKERS);
	struct worker *worker = &workers[count];
	uint64_t buffer = BUFFERS + count * 4096ull;
	*worker = (struct worker){ .run = run, .index = count };
	worker->tcb = object(OBJECT_TCB, 0);
	count++;
	worker->frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_map(IPC, worker->frame, ROOT_SLOT_VSPACE, buffer, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	worker->ipc = place(buffer);
	worker_fault_to(worker, 0);
	check_ok(tcb_schedule(IPC, worker->tcb, ROOT_SLOT_TCB, priority, core));
	worker_restart(worker, false);
	return worker;
}

bool waits(const struct worker *worker)
{
	struct thread_registers registers;
	return tcb_read_registers(IPC, worker->tcb, &registers) == 0;
}

void worker_fault_to(struct worker *worker, uint64_t endpoint)
{
	check_ok(tcb_configure(IPC, worker->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, worker->frame,
	                       (uint64_t)worker->ipc, endpoint));
}

void worker_restart(struct worker *worker, bool resume)
{
	struct thread_registers registers = {
		.rip = (uint64_t)worker_entry,
		.rsp = (uint64_t)stack[worker->index + 1],
		.rdi = (uint64_t)worker,
	};
	check_ok(tcb_write_registers(IPC, worker->tcb, resume, &registers));
}

struct worker *worker_start(void (*run)(struct worker *), unsigned priority, unsigned core, uint64_t arg0,
                            uint64_t arg1)
{
	struct worker *worker = worker_make(run, priority, core);
	worker->arg[0] = arg0;
	worker->arg[1] = arg1;
	check_ok(tcb_resume(worker->tcb));
	return worker;
}

void spinner(struct worker *self)
{
	for (;;) {
		self->count++;
		program_turn();
	}
}

struct trial trial_make(void (*run)(struct worker *), unsigned priority, unsigned core)
{
	struct trial trial = { object(OBJECT_ENDPOINT, 0), object(OBJECT_REPLY, 0), worker_make(run, priority, core) };
	worker_fault_to(trial.worker, badged(trial.endpoint, TRIAL_BADGE, RIGHT_WRITE));
	return trial;
}

bool trial_faults(const struct trial *trial, struct message *fault)
{
	struct timeout timeout = timeout_begin();
	int error;
	*fault = (struct message){ 0 };
	while ((error = ipc_nb_receive(trial->endpoint, trial->reply, fault)) == -SKERRY_WOULD_BLOCK) {
		if (trial->worker->done)
			return false;
		check(!timeout_over(&timeout));
		pause_main();
	}
	check_ok(error);
	check_eq(fault->badge, TRIAL_BADGE);
	return true;
}

struct message trial_fault(const struct trial *trial)
{
	struct message fault;
	check(trial_faults(trial, &fault));
	return fault;
}

struct message trial_run(const struct trial *trial, const struct thread_registers *registers)
{
	check_ok(tcb_write_registers(IPC, trial->worker->tcb, 1, registers));
	struct message fault = trial_fault(trial);
	uint64_t error = IPC->words[MESSAGE_REGISTERS]; /* the fault's fifth word outlives our own messages */
	trial_answer(trial, 1);
	IPC->words[MESSAGE_REGISTERS] = error;
	return fault;
}

void trial_answer(const struct trial *trial, uint64_t label)
{
	struct message m = { .info = message_info(label, 0, 0) };
	check_ok(ipc_reply(trial->reply, &m));
}
