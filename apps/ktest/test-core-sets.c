/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of cores: where a thread may put threads, itself included. */
#include <skerry/stubs.h>
#include "ktest.h"

static int schedule(uint64_t tcb, uint64_t authority, unsigned core)
{
	return tcb_schedule(IPC, tcb, authority, 0, core);
}
static int set_cores(uint64_t tcb, uint64_t authority, uint64_t set)
{
	return tcb_set_cores(IPC, tcb, authority, &set, 1);
}

TEST(fresh, 1, 0, "core sets: a new TCB puts no thread on any core, and gives none")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	for (unsigned core = 0; core < ROOT->cpu_count; core++) {
		check_error(schedule(other, tcb, core), NO_RIGHTS);
		check_error(schedule(tcb, tcb, core), NO_RIGHTS);
		check_error(set_cores(other, tcb, 1ull << core), NO_RIGHTS);
		check_error(set_cores(tcb, tcb, 1ull << core), NO_RIGHTS);
	}
	check_ok(set_cores(tcb, tcb, 0));
}

TEST(within, 2, 0, "core sets: a thread puts threads on the cores of its set and no others, and gives no others")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	check_ok(set_cores(tcb, ROOT_SLOT_TCB, 2));
	check_ok(schedule(other, tcb, 1));
	check_error(schedule(other, tcb, 0), NO_RIGHTS);
	check_ok(set_cores(other, tcb, 2));
	check_error(set_cores(other, tcb, 1), NO_RIGHTS);
	check_error(set_cores(other, tcb, 3), NO_RIGHTS);
	check_ok(schedule(tcb, other, 1)); /* what was refused changed nothing */
	check_error(schedule(tcb, other, 0), NO_RIGHTS);
	check_ok(set_cores(tcb, tcb, 0));
	check_error(set_cores(tcb, tcb, 2), NO_RIGHTS);
	check_error(schedule(other, tcb, 1), NO_RIGHTS);
}

TEST(words, 1, 0, "core sets: words that are not there are 0, and nobody has cores beyond the kernel's")
{
	static uint64_t set[MESSAGE_WORDS_MAX] = { 1 };
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, 1));
	check_ok(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, MESSAGE_WORDS_MAX));
	for (unsigned i = 1; i < MESSAGE_WORDS_MAX; i++) {
		set[i] = 1;
		check_error(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, i + 1), NO_RIGHTS);
		check_error(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 64 * i), NO_RIGHTS);
		set[i] = 0;
	}
	check_error(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 63), NO_RIGHTS);
	check_ok(schedule(tcb, tcb, 0));
	struct message m = { .word = { 1 } };
	check_error(invoke(tcb, TCB_SET_CORES, 0, 1, &m), BAD_CAP);
	IPC->caps[0] = object(OBJECT_ENDPOINT, 0);
	check_error(invoke(tcb, TCB_SET_CORES, 1, 1, &m), BAD_CAP);
	IPC->caps[0] = ROOT_SLOT_TCB;
	check_error(invoke(tcb, TCB_SET_CORES, 1, 0, &m), TRUNCATED);
}

static void nothing(struct worker *self) { self->count++; }

TEST(no_core, 1, 0, "core sets: a thread that nobody has scheduled does not run")
{
	struct worker *w = worker_make(nothing, 50, 0);
	struct thread_registers registers;
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(tcb_read_registers(IPC, w->tcb, &registers));
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_error(tcb_write_registers(IPC, tcb, 1, &registers), BAD_ARGUMENT);
	check_ok(tcb_write_registers(IPC, tcb, 0, &registers));
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_error(schedule(tcb, tcb, 0), NO_RIGHTS);
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->count, 1);
}

static void spread(struct worker *self)
{
	for (unsigned core = 0; core < ROOT->cpu_count; core++) {
		self->out[core == self->arg[0]] += !tcb_schedule(self->ipc, self->tcb, self->tcb, 0, core);
		self->out[2] += !tcb_schedule(self->ipc, self->arg[1], self->tcb, 0, core);
	}
	self->count++;
}

TEST(own, 2, 0, "core sets: a thread moves itself and what it makes within its set, and nowhere else")
{
	struct worker *w = worker_make(spread, 50, last_core());
	check_ok(tcb_set_core(IPC, w->tcb, ROOT_SLOT_TCB, last_core()));
	w->arg[0] = last_core();
	w->arg[1] = object(OBJECT_TCB, 0);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->out[0], 0);
	check_eq(w->out[1], 1);
	check_eq(w->out[2], 1);
}
