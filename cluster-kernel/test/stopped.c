/* SPDX-License-Identifier: BSD-2-Clause */
#include "stopped.h"
#include "harness.h"

enum { HIGH = 1000, SPARE = 1020 };

struct thread *high, *worker;

/* The worker has an equal, so that the clock moves. */
void stopped_begin(void)
{
	make(OBJECT_NOTIFICATION, 0, STOPPED_NOTE, 1);
	high = make_thread(HIGH, 200, 0);
	worker = make_thread(STOPPED_WORKER, 100, 0);
	make_thread(SPARE, 100, 0);
	root_priority(10);
	EXPECT(running(0), high);
}

void stopped_wait(uint64_t deadline) { syscall_on(0, SYS_WAIT, STOPPED_NOTE, 0, W(deadline), NONE, 0); }

void stopped_call(unsigned budgets, uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count,
                  const uint64_t *caps, unsigned cap_count)
{
	for (unsigned ticks = 1; running(0) == high; ticks++) /* too few pass before the worker runs */
		stopped_wait(machine->time + ticks + budgets);
	EXPECT(running(0), worker);
	syscall_on(0, SYS_CALL, cptr, label, words, word_count, caps, cap_count, 0);
	EXPECT(running(0), high);
	EXPECT(worker->context.again, true);
}

void stopped_finish(uint64_t expected)
{
	stopped_wait(0);
	while (running(0) != worker)
		simple(0, SYS_YIELD, 0);
	EXPECT(result(worker), expected);
	EXPECT(simple(0, SYS_SIGNAL, STOPPED_NOTE), 0);
	EXPECT(running(0), high);
}
