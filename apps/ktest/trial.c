/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

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
