/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores as contexts: kernel entries as arch-x86_64/trap.c makes them, and whose turn it is. */
#include <stdio.h>
#include <stdlib.h>
#include "arch.h"
#include "hosted.h"
#include "remote.h"
#include "syscall.h"

enum { STEPS_MAX = 4000000 }; /* of one hosted_run(): more means that cores wait for each other */

_Thread_local struct hosted_core *hosted_self;

static bool has_vector(const struct hosted_core *core)
{
	uint64_t any = 0;
	for (unsigned i = 0; i < HOSTED_VECTORS / 64; i++)
		any |= core->vectors[i];
	return any;
}

static bool timer_due(const struct hosted_core *core) { return core->timer && core->timer <= core->machine->time; }

static bool runnable(const struct hosted_core *core)
{
	return core->inside || core->order != ORDER_NONE || has_vector(core) || timer_due(core);
}

void hosted_interrupt(struct hosted_core *core, unsigned vector) { core->vectors[vector / 64] |= 1ull << vector % 64; }

/* The highest goes first, as local APICs have it. */
static unsigned take_vector(struct hosted_core *core)
{
	unsigned i = HOSTED_VECTORS / 64 - 1;
	while (!core->vectors[i])
		i--;
	unsigned bit = 63 - __builtin_clzll(core->vectors[i]);
	core->vectors[i] &= ~(1ull << bit);
	return i * 64 + bit;
}

static void interrupt(struct hosted_core *core, unsigned vector)
{
	struct cpu *cpu = core->cpu;
	current(cpu)->context.syscall = false;
	hosted_pause();
	if (vector == HOSTED_VECTOR_TIMER) {
		kernel_timer(cpu);
	} else if (vector == HOSTED_VECTOR_DOORBELL) {
		kernel_doorbell(cpu);
	} else if (vector == HOSTED_VECTOR_POKE) {
		remote_serve(cpu);
		kernel_poke(cpu);
	} else {
		kernel_irq(cpu, vector - HOSTED_VECTOR_IRQ);
	}
}

static void obey(struct hosted_core *core)
{
	struct cpu *cpu = core->cpu;
	enum hosted_order order = core->order;
	core->order = ORDER_NONE;
	if (current(cpu) != core->thread)
		return; /* preempted: its program will come to this again */
	struct context *context = &current(cpu)->context;
	core->done = true;
	context->syscall = order == ORDER_CALL;
	if (order == ORDER_CALL) {
		const uint64_t *w = core->words;
		struct thread_registers *r = &context->registers;
		r->rax = w[0], r->rdi = w[1], r->rsi = w[2], r->rdx = w[3], r->r10 = w[4], r->r8 = w[5], r->r9 = w[6];
		r->r12 = w[7];
		r->rip += SYSCALL_SIZE;
		hosted_pause();
		kernel_syscall(cpu);
	} else {
		hosted_pause();
		kernel_fault(cpu, core->fault, core->fault_count, core->words);
	}
}

static void enter(struct hosted_core *core)
{
	if (has_vector(core)) {
		interrupt(core, take_vector(core));
	} else if (timer_due(core)) {
		core->timer = 0;
		interrupt(core, HOSTED_VECTOR_TIMER);
	} else if (core->order != ORDER_NONE) {
		obey(core);
	} else {
		return;
	}
	hosted_pause(); /* others may get the lock before the hardware work is done */
	arch_finish(core->cpu);
}

static void core_main(void *argument)
{
	struct hosted_core *core = argument;
	for (;;) {
		core->inside = true;
		enter(core);
		core->inside = false;
		fiber_yield(&core->fiber);
	}
}

void hosted_core_init(struct hosted *machine, unsigned index)
{
	struct hosted_core *core = &machine->core[index];
	core->machine = machine;
	core->cpu = machine->kernel.cpu[index];
	core->cpu->own.stat->started = core->cpu->own.stat->updated = core->cpu->own.stat->idle_since = machine->time;
	fiber_init(&core->fiber, core_main, core);
	hosted_interrupt(core, HOSTED_VECTOR_POKE); /* as trap_start() does */
}

/* A turn of the waiting machine: may it go on? */
void hosted_pause(void)
{
	if (hosted_self->machine->config.cores > 1)
		fiber_yield(&hosted_self->fiber);
}

void hosted_relax(void)
{
	if (hosted_self->machine->config.cores == 1)
		arch_panic("a core waits for another, and there is none");
	hosted_pause();
}

uint64_t hosted_time(void) { return hosted_self->machine->time++; }

static unsigned choose(struct hosted *machine, unsigned count)
{
	if (count == 1)
		return 0;
	if (machine->config.choose)
		return machine->config.choose(machine->config.choose_argument, count) % count;
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	return (machine->random >> 33) % count;
}

static bool step(struct hosted *machine)
{
	struct hosted_core *candidate[BOOT_MAX_CPUS];
	unsigned count = 0;
	for (unsigned i = 0; i < machine->config.cores; i++)
		if (runnable(&machine->core[i]))
			candidate[count++] = &machine->core[i];
	if (!count)
		return false;
	hosted_self = candidate[choose(machine, count)];
	fiber_resume(&hosted_self->fiber);
	hosted_self = 0;
	return true;
}

void hosted_run_all(struct hosted *const *list, unsigned count)
{
	unsigned steps = 0;
	for (bool any = true; any;) {
		any = false;
		for (unsigned i = 0; i < count; i++)
			any |= step(list[i]);
		if (++steps > STEPS_MAX) {
			fprintf(stderr, "hosted machine: no end in sight (seed %llu)\n",
			        (unsigned long long)list[0]->config.seed);
			abort();
		}
	}
}

void hosted_run(struct hosted *machine) { hosted_run_all(&machine, 1); }

static struct hosted_core *post(struct hosted *machine, unsigned index, enum hosted_order order)
{
	struct hosted_core *core = &machine->core[index];
	if (core->order != ORDER_NONE || core->cpu->shared.current == &core->cpu->shared.idle) {
		fprintf(stderr, "hosted machine: core %u has no thread that could do this now\n", index);
		abort();
	}
	core->order = order;
	core->thread = core->cpu->shared.current;
	core->done = false;
	return core;
}

void hosted_post_call(struct hosted *machine, unsigned index, const struct hosted_call *call)
{
	const uint64_t words[] = { call->number, call->cptr, call->info, call->word[0], call->word[1], call->word[2],
		                   call->word[3], call->reply };
	struct hosted_core *core = post(machine, index, ORDER_CALL);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		core->words[i] = words[i];
}

void hosted_post_fault(struct hosted *machine, unsigned index, unsigned fault, unsigned count, const uint64_t *words)
{
	struct hosted_core *core = post(machine, index, ORDER_FAULT);
	core->fault = fault;
	core->fault_count = count;
	for (unsigned i = 0; i < sizeof(core->words) / sizeof(core->words[0]); i++)
		core->words[i] = i < count ? words[i] : 0;
}

bool hosted_done(const struct hosted *machine, unsigned core) { return machine->core[core].done; }
void hosted_advance(struct hosted *machine, uint64_t cycles) { machine->time += cycles; }
