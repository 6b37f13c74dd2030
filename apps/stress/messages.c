/* SPDX-License-Identifier: BSD-2-Clause */
#include "stress.h"

void messages_measure(unsigned clients, unsigned rounds)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), done = object(OBJECT_NOTIFICATION, 0);
	uint64_t never = object(OBJECT_NOTIFICATION, 0), all = 0;
	struct thread_registers serves = { .r15 = endpoint, .r12 = object(OBJECT_REPLY, 0) }, served;
	uint64_t server = task_new(space_new(), 0, task_server, serves, 0);
	for (unsigned i = 0; i < clients; i++) {
		struct thread_registers calls = { .r14 = rounds, .r15 = badged(endpoint, i + 1, RIGHT_WRITE),
		                                  .rbx = badged(done, 1ull << i, RIGHT_WRITE), .rbp = never };
		task_new(space_new(), i % ROOT->cpu_count, task_client, calls, 0);
		all |= 1ull << i;
	}

	report_begin();
	tasks_resume();
	wait_all(done, all);
	report_end();
	check_ok(tcb_suspend(server));
	check_ok(tcb_read_registers(IPC, server, &served));
	check_eq(served.r13, (uint64_t)clients * rounds);
	report_done("messages", clients, 1, served.r13);
}
