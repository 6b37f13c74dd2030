/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include "message.h"

enum { ENTRIES_MAX = 10000, CORE_STEPS_MAX = 400 }; /* of one step: more means that it never ends */

static bool stack_used[STEP_CORES];

static uint8_t *stack_top(unsigned core)
{
	return (uint8_t *)tiny->core[core].fiber.stack + tiny->core[core].fiber.size;
}

bool step_inside(unsigned core) { return tiny->core[core].inside; }

/* What the functions below read of the core, which is not instrumented. */
static void read_core(unsigned core)
{
	for (unsigned i = 0; i < tiny->config.cores; i++) /* the canonical form does */
		access_read(&tiny->core[i].interrupted_by, sizeof(tiny->core[i].interrupted_by));
	struct cpu *cpu = tiny_cpu(core);
	const struct context *context = &current(cpu)->context;
	access_read(&tiny->core[core].vectors, sizeof(tiny->core[core].vectors));
	access_read(&tiny->core[core].timer, sizeof(tiny->core[core].timer));
	access_read(&cpu->shared.current, sizeof(cpu->shared.current));
	access_read(&context->again, sizeof(context->again));
	access_read(&context->raise, sizeof(context->raise));
}

bool step_restarts(unsigned core)
{
	const struct context *context = &current(tiny_cpu(core))->context;
	return !tiny_idle(core) && (context->again || context->raise);
}

static bool has_interrupt(unsigned core)
{
	if (tiny->core[core].away)
		return hosted_core_busy(&tiny->core[core]) && !step_inside(core); /* it is on its way here or there */
	for (unsigned i = 0; i < HOSTED_VECTORS / 64; i++)
		if (tiny->core[core].vectors[i])
			return true;
	return hosted_timer_due(&tiny->core[core]);
}

bool step_at_rest(void)
{
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		const struct hosted_core *at = &tiny->core[core];
		if (step_inside(core) || has_interrupt(core) || (at->owes_visits && at->timer))
			return false;
	}
	return true;
}

/* What a call has left below the part in use may show in a later one's variables that are not set yet. */
static void forget_stack(unsigned core)
{
	uint8_t *end = stack_top(core) - STEP_STACK;
	memset(end, 0, (size_t)((uint8_t *)tiny->core[core].fiber.at - end));
}

void stacks_begin(void)
{
	for (unsigned core = 0; tiny->config.cores > 1 && core < tiny->config.cores; core++)
		forget_stack(core);
}

/* A kernel entry, or where cores take turns, its next part. */
static void enter(unsigned core)
{
	struct fiber *fiber = &tiny->core[core].fiber;
	read_core(core);
	hosted_self = &tiny->core[core];
	if (tiny->config.cores == 1) {
		hosted_core_enter(hosted_self);
	} else {
		log_write(&fiber->at, sizeof(fiber->at)); /* assembly writes both */
		log_write(&fiber->caller, sizeof(fiber->caller));
		stack_used[core] = true;
		fiber_resume(fiber);
		if ((uint8_t *)fiber->at < stack_top(core) - STEP_STACK)
			fail("a kernel entry stops with more than %u bytes on its stack", STEP_STACK);
		if (!step_inside(core))
			forget_stack(core);
	}
	hosted_self = 0;
}

static bool has_to_do(unsigned core) { return step_inside(core) || has_interrupt(core) || step_restarts(core); }

/*
 * A core that alone has gone on since it began its last entry, with this thread, has sent itself what is pending: calls
 * of visitors that its work budget has left must wait until the thread has run (visit.c).
 */
static void check_turn(unsigned core, const struct thread *thread)
{
	const uint64_t vectors = tiny->core[core].vectors[HOSTED_VECTOR_RESCHEDULE / 64];
	const struct cpu *cpu = tiny_cpu(core);
	if (!step_inside(core) && !tiny_idle(core) && cpu->shared.current == thread && cpu->shared.visited &&
	    vectors >> HOSTED_VECTOR_RESCHEDULE % 64 & 1)
		fail("core %u interrupts itself for visitors, and its own thread has no turn", core);
}

/* Until the call of the core's thread has ended, or waits. Returns false where the core waits for another one. */
static bool run(unsigned core)
{
	const struct thread *thread = current(tiny_cpu(core));
	const struct thread *begun = 0; /* current when the last entry began here */
	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		check_turn(core, begun);
		begun = step_inside(core) ? begun : current(tiny_cpu(core));
		const struct thread *now = current(tiny_cpu(core));
		if (!step_inside(core) && !has_interrupt(core) && !now->context.raise && !tiny->core[core].order &&
		    (now != thread || !now->context.again))
			return true;
		if (tiny->config.cores > 1 && i == CORE_STEPS_MAX)
			return false;
		enter(core);
	}
	fail("core %u makes a call again and again: %u entries, and no end", core, ENTRIES_MAX);
}

/* Interrupts alone: the thread that they find, or leave behind, does nothing. */
static void run_interrupts(unsigned core)
{
	for (unsigned i = 0; has_interrupt(core); i++) {
		if (i == ENTRIES_MAX)
			fail("interrupts of core %u have no end", core);
		enter(core);
	}
}

static bool may_tick(unsigned core)
{
	return !step_inside(core) && tiny->core[core].timer && !has_interrupt(core);
}

static bool tick(unsigned core)
{
	uint64_t timer = tiny->core[core].timer;
	access_read(&tiny->time, sizeof(tiny->time));
	if (timer > tiny->time)
		LOG_SET(tiny->time, timer);
	if (tiny->config.cores == 1)
		run_interrupts(core);
	else
		enter(core);
	return true;
}

static bool go_on(unsigned core, bool part)
{
	if (!part)
		return run(core);
	enter(core);
	if (tiny->config.cores == 1)
		return step_restarts(core) && may_tick(core) && tick(core);
	return true;
}

static bool raise_pin(unsigned core)
{
	hosted_raise_pin(tiny, 0);
	if (tiny->config.cores == 1)
		run_interrupts(0);
	return true;
}

/* Only where the memory is zero: states do not differ by more than that. The port's own store is not instrumented. */
static bool store(unsigned core)
{
	uint64_t value;
	if (!hosted_load(tiny, core, TINY_PLAY, &value) || value)
		return false;
	const uint64_t entry = hosted_touch(tiny, core, TINY_PLAY);
	if (!(entry >> PTE_RIGHTS & RIGHT_WRITE))
		return false;
	log_put(direct(arch_pte_address(entry, 0)), TINY_SECRET);
	return true;
}

static void post_call(unsigned core, const struct operation *operation)
{
	struct ipc_buffer *buffer = thread_ipc_buffer(current(tiny_cpu(core)));
	struct hosted_call call = { .number = operation->number, .cptr = operation->cptr, .reply = operation->reply };
	const unsigned last = tiny->config.cores - 1;
	unsigned caps = 0;
	while (caps < OPERATION_CAPS && operation->cap[caps])
		caps++;
	call.info = message_info(operation->label, caps, operation->words);
	for (unsigned i = 0; i < operation->words; i++) {
		if (i < MESSAGE_REGISTERS)
			call.word[i] = operation->word[i];
		else if (buffer)
			log_put(&buffer->words[i], operation->word[i]);
	}
	if (operation->waits) {
		access_read(&tiny->time, sizeof(tiny->time));
		call.word[0] = tiny->time + 3 * tiny->kernel.slice;
	}
	if (operation->place)
		call.word[0] = tiny_place;
	if (operation->last)
		call.word[operation->last_word] = last;
	for (unsigned i = 0; buffer && i < OPERATION_CAPS; i++)
		log_put(&buffer->caps[i], operation->cap[i]);
	hosted_post_call(tiny, core, &call);
}

/* The thread's own step, which has been posted. */
static bool enter_posted(unsigned core, bool part)
{
	if (!part)
		return run(core);
	enter(core);
	if (tiny->config.cores == 1)
		return step_restarts(core) && may_tick(core) && tick(core); /* else it is the same as the whole call */
	return true;
}

bool step_starts(const struct step *step)
{
	const unsigned core = step->core;
	switch (step->operation->kind) {
	case OP_TICK: return !step->part && may_tick(core);
	case OP_PIN: return !step->part && core == 0 && tiny->pin[0].routed;
	case OP_GO_ON: return has_to_do(core);
	case OP_STORE:
	case OP_TOUCH: return !step->part && !has_to_do(core) && !tiny_idle(core);
	default: return !has_to_do(core) && !tiny_idle(core);
	}
}

bool step_do(const struct step *step)
{
	static const uint64_t words[5] = { 0x1000, 0x2000, RFLAGS_FIXED, 13, 0 };
	const struct operation *operation = step->operation;
	const unsigned core = step->core;
	require(core < tiny->config.cores);
	if (!step_starts(step))
		return false;
	switch (operation->kind) {
	case OP_TICK: return tick(core);
	case OP_PIN: return raise_pin(core);
	case OP_GO_ON: return go_on(core, step->part);
	case OP_STORE: return store(core);
	case OP_TOUCH: return hosted_touch(tiny, core, TINY_PLAY);
	case OP_FAULT: hosted_post_fault(tiny, core, FAULT_EXCEPTION, 5, words); break;
	default: post_call(core, operation); break;
	}
	return enter_posted(core, step->part);
}

void stacks_save(struct step_stacks *to)
{
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		memcpy(to->byte[core], stack_top(core) - STEP_STACK, STEP_STACK);
		stack_used[core] = false;
	}
}

void stacks_restore(const struct step_stacks *from, bool all)
{
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		if (stack_used[core] || all)
			memcpy(stack_top(core) - STEP_STACK, from->byte[core], STEP_STACK);
		stack_used[core] = false;
	}
}

uint64_t stacks_hash(void)
{
	uint64_t hash = 0;
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		const uint64_t *end = (const uint64_t *)stack_top(core);
		for (const uint64_t *word = tiny->core[core].fiber.at; step_inside(core) && word < end; word++)
			hash += log_mix((uint64_t)word, *word);
	}
	return hash;
}
