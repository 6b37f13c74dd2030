/* SPDX-License-Identifier: BSD-2-Clause */
#include "programs.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

enum { MACHINES_MAX = 2, STALLS_MAX = 4 };
#define BUFFERS 0x500000ull /* in the 2 MiB where the root task's image is */

static struct program *list;
static unsigned list_count;

static struct hosted *machine_of(const struct program *program)
{
	return program->machine ? program->machine : machine;
}

/* A program that has done its rounds gives the core to others: it faults, without a handler. */
static bool go_on(struct program *program, struct hosted *on, unsigned core)
{
	const uint64_t words[] = { 0, 0, 0, 0, 0 };
	if (!(program->ends && !program->left) && program->next(program, core))
		return true;
	if (!program->ends || program->left)
		return false;
	hosted_post_fault(on, core, FAULT_EXCEPTION, 5, words);
	return true;
}

static bool ask(void *argument, struct hosted *on, unsigned core)
{
	(void)argument;
	const struct thread *thread = current(on->kernel.cpu[core]);
	for (unsigned i = 0; i < list_count; i++)
		if (list[i].thread == thread && machine_of(&list[i]) == on)
			return go_on(&list[i], on, core);
	return false;
}

static uint64_t all_left(void)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < list_count; i++)
		sum += list[i].left;
	return sum;
}

/* Nobody works, and there are rounds left: somebody was not woken. */
static _Noreturn void stuck(void)
{
	for (unsigned i = 0; i < list_count; i++)
		fprintf(stderr, "program %u: step %llu, %llu rounds left, thread on core %u in state %u\n", i,
		        (unsigned long long)list[i].step, (unsigned long long)list[i].left, list[i].thread->core,
		        list[i].thread->state);
	fprintf(stderr, "no program goes on (seed %llu)\n", (unsigned long long)machine_of(list)->config.seed);
	abort();
}

void run_programs(struct program *programs, unsigned count, uint64_t advance)
{
	struct hosted *machines[MACHINES_MAX] = { machine };
	unsigned machine_count = programs[0].machine ? 0 : 1, stalls = 0;
	list = programs;
	list_count = count;
	for (unsigned i = 0; i < count; i++) {
		bool known = false;
		programs[i].ends = programs[i].left;
		for (unsigned m = 0; m < machine_count; m++)
			known |= machines[m] == machine_of(&programs[i]);
		if (!known)
			machines[machine_count++] = machine_of(&programs[i]);
	}
	for (unsigned m = 0; m < machine_count; m++)
		machines[m]->config.program = ask;
	for (uint64_t left = all_left(); left; left = all_left()) {
		for (unsigned m = 0; m < machine_count; m++)
			for (unsigned c = 0; c < machines[m]->config.cores; c++)
				machines[m]->core[c].quiet = false;
		hosted_run_all(machines, machine_count);
		for (unsigned m = 0; m < machine_count; m++)
			kernel_check(machines[m]);
		stalls = all_left() < left ? 0 : stalls + 1;
		if (all_left() && (!advance || stalls >= STALLS_MAX))
			stuck();
		for (unsigned m = 0; m < machine_count; m++)
			hosted_advance(machines[m], advance);
	}
	for (unsigned m = 0; m < machine_count; m++)
		machines[m]->config.program = 0;
}

uint64_t buffer_at(uint64_t slot) { return BUFFERS + slot % 256 * 4096; }

void make_page(uint64_t slot, uint64_t vaddr)
{
	make(OBJECT_FRAME_4K, 0, slot, 1);
	EXPECT(call(slot, FRAME_MAP, W(vaddr, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK), W(VSPACE)), 0);
}

struct thread *spawn(uint64_t slot, unsigned priority, unsigned core)
{
	uint64_t start[21] = { 1, 0x1000 * slot, 0x2000 * slot }; /* resume, RIP, RSP */
	make(OBJECT_TCB, 0, slot, 1);
	make_page(slot + 1, buffer_at(slot));
	EXPECT(call(slot, TCB_CONFIGURE, W(buffer_at(slot), 0), W(CNODE, VSPACE, slot + 1)), 0);
	EXPECT(call(slot, TCB_SCHEDULE, W(priority, core), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(slot, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	return (struct thread *)slot_of(slot)->cap.object;
}

bool post(struct program *self, unsigned core, unsigned number, uint64_t cptr, uint64_t word0, uint64_t reply)
{
	struct hosted_call order = { .number = number, .cptr = cptr, .reply = reply, .info = message_info(0, 0, 1),
		                     .word = { word0 } };
	hosted_post_call(machine_of(self), core, &order);
	return true;
}

bool invoke_on(struct program *self, unsigned core, uint64_t cptr, uint64_t label, const uint64_t *words,
               unsigned word_count, const uint64_t *caps, unsigned cap_count)
{
	struct hosted_call order = { .number = SYS_CALL, .cptr = cptr,
	                             .info = message_info(label, cap_count, word_count) };
	for (unsigned i = 0; i < word_count && i < MESSAGE_REGISTERS; i++)
		order.word[i] = words[i];
	for (unsigned i = MESSAGE_REGISTERS; i < word_count; i++)
		EXPECT(hosted_store(machine_of(self), core, self->vaddr + 8 * i, words[i]), true);
	for (unsigned i = 0; i < cap_count; i++)
		EXPECT(hosted_store(machine_of(self), core, self->vaddr + offsetof(struct ipc_buffer, caps) + 8 * i,
		                    caps[i]),
		       true);
	hosted_post_call(machine_of(self), core, &order);
	return true;
}

uint64_t last(const struct program *self) { return self->thread->context.registers.rax; }
