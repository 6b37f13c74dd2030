/* SPDX-License-Identifier: BSD-2-Clause */
/* What a core does: kernel entries as arch-x86_64/trap.c makes them. Whose turn it is: turns.c, threads.c. */
#include <stdio.h>
#include <stdlib.h>
#include <skerry/core_control.h>
#include "arch.h"
#include "core_move.h"
#include "fastpath.h"
#include "fastpath_wait.h"
#include "hosted.h"
#include "idle.h"
#include "remote.h"
#include "syscall.h"

_Thread_local struct hosted_core *hosted_self;

struct cpu *arch_this_cpu(void) { return hosted_self ? hosted_self->cpu : 0; }

void arch_leave_kernel(struct cpu *cpu)
{
	core_forget(cpu);
	hosted_self->timer = 0;
	hosted_self->away = true;
}

static bool has_vector(const struct hosted_core *core)
{
	uint64_t any = 0;
	for (unsigned i = 0; i < HOSTED_VECTORS / 64; i++)
		any |= atomic_load_explicit(&core->vectors[i], memory_order_relaxed);
	return any;
}

uint64_t hosted_now(const struct hosted *machine)
{
	uint64_t time = atomic_load_explicit(&machine->time, memory_order_relaxed);
	return machine->config.tsc ? time + __builtin_ia32_rdtsc() - machine->tsc_start : time;
}

bool hosted_timer_due(const struct hosted_core *core)
{
	uint64_t timer = atomic_load_explicit(&core->timer, memory_order_relaxed);
	return timer && timer <= hosted_now(core->machine);
}

struct hosted_core *hosted_end_turn(struct hosted *machine)
{
	for (unsigned i = 0; i < machine->config.cores; i++) {
		struct hosted_core *core = &machine->core[i];
		uint64_t timer = atomic_load_explicit(&core->timer, memory_order_relaxed), now = hosted_now(machine);
		if (!atomic_load_explicit(&core->owes_visits, memory_order_relaxed) || !timer)
			continue;
		if (timer > now)
			hosted_advance(machine, timer - now);
		return core;
	}
	return 0;
}

/* The current thread is about to make its system call or raise its trap once more (context_restart()). */
static bool core_restarts(const struct hosted_core *core)
{
	const struct context *context = &current(core->cpu)->context;
	return context->again || context->raise;
}

static bool core_is_programmed(const struct hosted_core *core)
{
	return core->machine->config.program && !core->quiet && current(core->cpu) != &core->cpu->shared.idle;
}

/* A core that has left its kernel for the loader, and is to be parked, or was taken by this one. */
static bool is_on_the_way(const struct hosted_core *core)
{
	const struct boot_info *info = core->machine->kernel.boot;
	const uint32_t number = core->machine->kernel.map_core[core->cpu->own.index].number;
	uint64_t word = info->core_control ? core_read(hosted_core_control(number)) : 0;
	return core_owner(word) == info->cluster && (core_state(word) == CORE_LEAVING ||
	       core_may_join(word, (struct cluster_control *)direct(info->control) + info->cluster));
}

bool hosted_core_busy(const struct hosted_core *core)
{
	if (core->away)
		return core->inside || is_on_the_way(core);
	return core->inside || core->order != ORDER_NONE || has_vector(core) || hosted_timer_due(core) ||
	       core_restarts(core) ||
	       core_is_programmed(core);
}

void hosted_interrupt(struct hosted_core *core, unsigned vector)
{
	atomic_fetch_or_explicit(&core->vectors[vector / 64], 1ull << vector % 64, memory_order_release);
	if (core->machine->config.threads)
		threads_wake(core);
}

/* The highest goes first, as local APICs have it. Only the core itself takes any. */
static unsigned take_vector(struct hosted_core *core)
{
	unsigned i = HOSTED_VECTORS / 64 - 1;
	while (!atomic_load_explicit(&core->vectors[i], memory_order_relaxed))
		i--;
	unsigned bit = 63 - __builtin_clzll(atomic_load_explicit(&core->vectors[i], memory_order_relaxed));
	atomic_fetch_and_explicit(&core->vectors[i], ~(1ull << bit), memory_order_acquire);
	return i * 64 + bit;
}

static void entered_by(struct context *context, bool syscall, bool trap)
{
	context->syscall = syscall;
	context->trap = trap;
}

static void handle_interrupt(struct hosted_core *core, unsigned vector)
{
	struct cpu *cpu = core->cpu;
	entered_by(&current(cpu)->context, false, false);
	hosted_pause();
	if (vector == HOSTED_VECTOR_TIMER || vector == HOSTED_VECTOR_REST) {
		kernel_timer(cpu);
	} else if (vector == HOSTED_VECTOR_DOORBELL) {
		kernel_doorbell(cpu);
	} else if (vector == HOSTED_VECTOR_RESCHEDULE) {
		interrupts_serve(core);
		remote_serve(cpu);
		kernel_reschedule(cpu);
	} else {
		kernel_irq(cpu, vector - HOSTED_VECTOR_IRQ);
	}
}

/* As entry.S does. Returns true if the call left by the fast path, which does not pass arch_finish(). */
static bool serve_call(struct hosted_core *core, const struct context *context)
{
	struct cpu *cpu = core->cpu;
	const struct context *fast;
	const uint64_t number = context_syscall(context);
	bool goes_on;
	switch (number == SYS_SIGNAL_WAIT && core->machine->slow_wait ? 0 : number) {
	case SYS_CALL: fast = fastpath_call(cpu, context_cptr(context), context_info(context)); break;
	case SYS_REPLY_RECV:
		fast = fastpath_reply_receive(cpu, context_cptr(context), context_info(context),
		                              context_reply_cptr(context));
		break;
	case SYS_SIGNAL_WAIT:
		fast = fastpath_signal_wait(cpu, context_cptr(context), context_reply_cptr(context), &goes_on);
		break;
	default: kernel_syscall(cpu); return false;
	}
	if (!fast)
		kernel_syscall_entered(cpu);
	return fast;
}

void hosted_system_call(struct hosted_core *core)
{
	struct context *context = &current(core->cpu)->context;
	context->again = false;
	entered_by(context, true, false);
	context->registers.rip += SYSCALL_SIZE;
	hosted_pause();
	core->fast = serve_call(core, context);
}

/* As arch-x86_64/trap.c: trap_user(), trap_again(). */
static void raise_trap(struct cpu *cpu)
{
	struct context *context = &current(cpu)->context;
	const struct thread_registers *r = &context->registers;
	const uint64_t words[5] = { r->rip, r->rsp, r->rflags, HOSTED_TRAP, 0 };
	context->raise = false;
	entered_by(context, false, true);
	hosted_pause();
	kernel_fault(cpu, FAULT_EXCEPTION, 5, words);
}

static bool core_obey(struct hosted_core *core)
{
	struct cpu *cpu = core->cpu;
	enum hosted_order order = core->order;
	core->order = ORDER_NONE;
	if (current(cpu) != core->thread)
		return false; /* preempted: its program will come to this again */
	core->done = true;
	if (order == ORDER_CALL) {
		const uint64_t *w = core->words;
		struct thread_registers *r = &current(cpu)->context.registers;
		r->rax = w[0], r->rdi = w[1], r->rsi = w[2], r->rdx = w[3], r->r10 = w[4], r->r8 = w[5], r->r9 = w[6];
		r->r12 = w[7];
		hosted_system_call(core);
	} else if (order == ORDER_TRAP) {
		current(cpu)->context.registers.rip += SYSCALL_SIZE;
		raise_trap(cpu);
	} else {
		entered_by(&current(cpu)->context, false, false);
		hosted_pause();
		kernel_fault(cpu, core->fault, core->fault_count, core->words);
	}
	return true;
}

/* The program posts what it does next, which then is done before any interrupt. */
static bool ask_program(struct hosted_core *core)
{
	const struct hosted_config *config = &core->machine->config;
	if (!core_is_programmed(core))
		return false;
	core->quiet = !config->program(config->program_argument, core->machine, core - core->machine->core);
	return !core->quiet && core->order != ORDER_NONE;
}

/* As resident.c has it. */
static bool in_loader(struct hosted_core *core)
{
	struct core_control *control =
		hosted_core_control(core->machine->kernel.map_core[core->cpu->own.index].number);
	for (unsigned i = 0; i < HOSTED_VECTORS / 64; i++)
		atomic_store(&core->vectors[i], 0);
	if (core_parked(control, core_read(control)))
		return true;
	hosted_pause(); /* another cluster may hold it meanwhile */
	if (!core_arrive(core->cpu))
		return true;
	core->away = false;
	hosted_interrupt(core, HOSTED_VECTOR_RESCHEDULE);
	return true;
}

static bool core_enter(struct hosted_core *core)
{
	if (core->away)
		return is_on_the_way(core) && in_loader(core);
	if (has_vector(core)) {
		handle_interrupt(core, take_vector(core));
	} else if (hosted_timer_due(core)) {
		core->timer = 0;
		handle_interrupt(core, HOSTED_VECTOR_TIMER);
	} else if (core_restarts(core)) {
		if (current(core->cpu)->context.raise)
			raise_trap(core->cpu);
		else
			hosted_system_call(core);
	} else if (core->order != ORDER_NONE || ask_program(core)) {
		return core_obey(core);
	} else {
		return false;
	}
	return true;
}

void hosted_core_enter(struct hosted_core *core)
{
	uint32_t entries = atomic_load_explicit(&core->entries, memory_order_relaxed);
	atomic_store_explicit(&core->entries, entries + 1, memory_order_relaxed); /* only the core itself counts */
	interrupts_enter(core);
	core->inside = true;
	core->fast = false;
	core->spins = 0;
	bool entered = core_enter(core);
	if (entered) {
		core->quiet = false;
		hosted_pause(); /* others may get the lock before the hardware work is done */
		if (!core->fast)
			arch_finish(core->cpu);
		else if (core->cpu->own.pending)
			arch_panic("a core leaves by the fast path with hardware work pending");
		interrupts_leave(core);
	}
	core->inside = false;
}

void hosted_core_init(struct hosted *machine, unsigned index)
{
	struct hosted_core *core = &machine->core[index];
	core->machine = machine;
	core->cpu = machine->kernel.cpu[index];
	core->random = machine->config.seed * 2654435761u + index + 1;
	idle_start(core->cpu->own.stat, hosted_now(machine));
	core->away = !kernel_has_core(&machine->kernel, index);
	hosted_interrupt(core, HOSTED_VECTOR_RESCHEDULE); /* as trap_start() does */
	if (machine->config.threads)
		threads_init(core);
	else
		turns_init(core);
}

void hosted_core_free(struct hosted_core *core)
{
	if (core->machine->config.threads)
		threads_free(core);
	else
		turns_free(core);
}

void hosted_pause(void)
{
	if (hosted_self->machine->config.threads)
		threads_pause(hosted_self);
	else
		turns_pause(hosted_self);
}

void hosted_relax(void)
{
	if (hosted_self->machine->config.cores == 1)
		arch_panic("a core waits for another, and there is none");
	if (hosted_self->machine->config.threads)
		threads_relax(hosted_self);
	else
		turns_pause(hosted_self);
}

uint64_t hosted_time(void)
{
	struct hosted *machine = hosted_self->machine;
	if (machine->config.tsc)
		return hosted_now(machine);
	return atomic_fetch_add_explicit(&machine->time, 1, memory_order_relaxed);
}

void hosted_run_all(struct hosted *const *machines, unsigned count)
{
	if (machines[0]->config.threads)
		threads_run(machines, count);
	else
		turns_run(machines, count);
}

void hosted_run(struct hosted *machine) { hosted_run_all(&machine, 1); }

static struct hosted_core *core_post(struct hosted *machine, unsigned index, enum hosted_order order)
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
	struct hosted_core *core = core_post(machine, index, ORDER_CALL);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		core->words[i] = words[i];
}

void hosted_post_fault(struct hosted *machine, unsigned index, unsigned fault, unsigned count, const uint64_t *words)
{
	struct hosted_core *core = core_post(machine, index, ORDER_FAULT);
	core->fault = fault;
	core->fault_count = count;
	for (unsigned i = 0; i < sizeof(core->words) / sizeof(core->words[0]); i++)
		core->words[i] = i < count ? words[i] : 0;
}

void hosted_post_trap(struct hosted *machine, unsigned index) { core_post(machine, index, ORDER_TRAP); }

bool hosted_done(const struct hosted *machine, unsigned core) { return machine->core[core].done; }

void hosted_advance(struct hosted *machine, uint64_t cycles)
{
	atomic_fetch_add_explicit(&machine->time, cycles, memory_order_relaxed);
}
