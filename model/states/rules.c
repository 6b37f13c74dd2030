/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include "check.h"
#include "cnode.h"
#include "endpoint.h"
#include "message.h"
#include "notification.h"
#include "reply.h"

/* Of two ready threads of one priority the one that runs has an end, for which the timer is set. */
static void check_equals(unsigned core)
{
	const struct cpu *cpu = tiny_cpu(core);
	const struct thread *thread = current(tiny_cpu(core));
	if (tiny_idle(core) || cpu->shared.ready.highest != thread->priority)
		return;
	const uint64_t end = cpu->own.slice_end, timer = tiny->core[core].timer;
	if (!end || !timer || timer > end)
		fail("core %u runs a thread beside an equal one, and no timer ends it: slice %llu, timer %llu", core,
		     (unsigned long long)end, (unsigned long long)timer);
	if (end > tiny->time + tiny->kernel.slice)
		fail("core %u runs a thread beside an equal one for more than a slice: %llu cycles", core,
		     (unsigned long long)(end - tiny->time));
}

/* What was given away is not this kernel's any more. */
static void check_given(void)
{
	static struct census census;
	census_take(&census);
	for (unsigned i = 0; i < census.count; i++) {
		const struct cap *cap = &census.entry[i].cap;
		const bool is_memory = cap->type == OBJECT_UNTYPED || cap->type == OBJECT_FRAME_4K;
		if (is_memory && cap->object - tiny_place < 1ull << TINY_M_BITS)
			fail("memory was given away, and there is a capability to it");
	}
}

void rules_any_state(void)
{
	for (unsigned i = 0; i < tiny->config.cores; i++)
		if (!kernel_has_core(&tiny->kernel, i) && tiny_cpu(i)->shared.visited)
			fail("core %u leaves the kernel, and is to make calls for threads of other cores", i);
}

void rules_state(void)
{
	if (tiny_place && !tiny_has_place())
		check_given();
	kernel_check(tiny);
	if (hosted_tlb_stale(tiny))
		fail("a TLB has a translation that the page tables do not have");
	for (unsigned core = 0; core < tiny->config.cores; core++) {
		struct cpu *cpu = tiny_cpu(core);
		if (!tiny_idle(core) && cpu->own.loaded_vspace != thread_vspace(current(cpu)))
			fail("core %u runs a thread in an address space that is not the thread's", core);
		check_equals(core);
	}
}

/* A call that a step makes: the operation's, or the one that stopped, from the thread's registers. */
static void find_cause(struct cause *cause, const struct step *step)
{
	const struct operation *operation = step->operation;
	const struct thread *thread = current(tiny_cpu(step->core));
	*cause = (struct cause){ 0 };
	if (operation->kind == OP_CALL) {
		*cause = (struct cause){ .caller = thread, .number = operation->number, .cptr = operation->cptr,
			.label = operation->label, .reply = operation->reply, .words = operation->words };
		memcpy(cause->word, operation->word, sizeof(cause->word));
		memcpy(cause->cap, operation->cap, sizeof(cause->cap));
		while (cause->caps < OPERATION_CAPS && operation->cap[cause->caps])
			cause->caps++;
	} else if (operation->kind == OP_GO_ON && thread->context.again) {
		const struct context *context = &thread->context;
		const struct ipc_buffer *buffer = thread_ipc_buffer(thread);
		const uint64_t info = context_info(context);
		*cause = (struct cause){ .caller = thread, .number = context_syscall(context),
			.cptr = context_cptr(context), .label = message_label(info), .words = message_words(info),
			.reply = context_reply_cptr(context), .caps = buffer ? message_caps(info) : 0 };
		for (unsigned i = 0; i < OPERATION_WORDS; i++)
			cause->word[i] = i < MESSAGE_REGISTERS ? context_word(context, i)
			                 : buffer ? buffer->words[i] : 0;
		for (unsigned i = 0; i < cause->caps; i++)
			cause->cap[i] = buffer->caps[i];
	}
}

void rules_before(struct rules_before *before, const struct step *step)
{
	const struct cpu *cpu = tiny_cpu(step->core);
	require(tiny->config.cores == 1);
	find_cause(&before->cause, step);
	before->tick = step->operation->kind == OP_TICK;
	before->current = cpu->shared.current;
	before->slice_end = cpu->own.slice_end;
	before->equal = tiny_idle(step->core) ? 0 : cpu->shared.ready.level[cpu->shared.current->priority].head;
	for (unsigned i = 0; i < before->census.count; i++) {
		const struct cap *cap = &before->census.entry[i].cap;
		if (cap->type == OBJECT_NOTIFICATION)
			before->words[i] = ((const struct notification *)cap->object)->word;
	}
}

static bool makes(const struct cause *cause, uint64_t number) { return cause->caller && cause->number == number; }

/* Returns the object that a capability pointer named before the step; 0: none of the type. All CSpaces are the root
 * CNode. */
static uint64_t named(const struct rules_before *before, uint64_t cptr, unsigned type, uint64_t *badge)
{
	const int index = cptr < 1u << ROOT_CNODE_BITS ? census_find(&before->census, &tiny->root_cnode[cptr]) : -1;
	if (index < 0 || before->census.entry[index].cap.type != type)
		return 0;
	if (badge)
		*badge = before->census.entry[index].cap.badge;
	return before->census.entry[index].cap.object;
}

/* Returns whether the thread has got all of the bits: its wait, or receive, has ended with them. */
static bool has_got(const struct thread *thread, uint64_t bits)
{
	return thread->state == THREAD_READY && (thread->context.registers.rdi & bits) == bits;
}

static bool somebody_has_got(const struct rules_before *before, const struct census *after, const void *notification,
                             uint64_t bits)
{
	for (unsigned i = 0; i < before->census.threads; i++) {
		const struct census_thread *was = &before->census.thread[i];
		const bool takes = was->thread == before->cause.caller || was->notification == notification ||
		                   was->bound == notification;
		if (takes && census_thread(after, was->thread) && has_got(was->thread, bits))
			return true;
	}
	return false;
}

static bool lives(const struct census *census, unsigned type, uint64_t object)
{
	for (unsigned i = 0; i < census->count; i++)
		if (census->entry[i].cap.type == type && census->entry[i].cap.object == object)
			return true;
	return false;
}

static void check_signals(const struct rules_before *before, const struct census *after, bool complete,
                          uint64_t result)
{
	const struct cause *cause = &before->cause;
	const bool signals = makes(cause, SYS_SIGNAL) || makes(cause, SYS_SIGNAL_WAIT);
	uint64_t badge = 0;
	for (unsigned i = 0; i < before->census.count; i++) {
		const struct cap *cap = &before->census.entry[i].cap;
		if (cap->type != OBJECT_NOTIFICATION || !lives(after, OBJECT_NOTIFICATION, cap->object))
			continue;
		const struct notification *notification = (const struct notification *)cap->object;
		const uint64_t lost = before->words[i] & ~notification->word;
		if (lost && !somebody_has_got(before, after, notification, lost))
			fail("a notification has lost the bits %#llx, and no thread has got them",
			     (unsigned long long)lost);
	}
	const uint64_t object = signals ? named(before, makes(cause, SYS_SIGNAL) ? cause->cptr : cause->reply,
	                                        OBJECT_NOTIFICATION, &badge) : 0;
	if (!object || !complete || result || !lives(after, OBJECT_NOTIFICATION, object))
		return;
	badge = badge ? badge : 1;
	if ((((const struct notification *)object)->word & badge) != badge &&
	    !somebody_has_got(before, after, (const void *)object, badge))
		fail("a signal was answered OK, and is neither in the notification nor with a thread");
}

/* Calls that may end the wait of a caller otherwise: they are about its TCB. */
static bool is_about_threads(const struct cause *cause)
{
	return makes(cause, SYS_CALL) && ((cause->label >= TCB_CONFIGURE && cause->label <= TCB_SET_CORES) ||
	                                  cause->label == CNODE_DELETE || cause->label == CNODE_REVOKE);
}

static void check_replies(const struct rules_before *before, const struct census *after, bool complete,
                          uint64_t result)
{
	const struct cause *cause = &before->cause;
	const bool replies = makes(cause, SYS_REPLY) || makes(cause, SYS_REPLY_RECV);
	const uint64_t object = replies ? named(before, cause->reply, OBJECT_REPLY, 0) : 0;
	for (unsigned i = 0; i < before->census.threads; i++) {
		const struct census_thread *was = &before->census.thread[i], *is = census_thread(after, was->thread);
		if (was->state != THREAD_REPLY || !is)
			continue;
		const bool answered = object && (uint64_t)was->reply == object;
		if (answered && makes(cause, SYS_REPLY) && complete && !result && is->state == THREAD_REPLY)
			fail("a reply was answered OK, and the caller still waits for it");
		if (!answered && is->state == THREAD_READY && lives(after, OBJECT_REPLY, (uint64_t)was->reply) &&
		    cause->caller && !is_about_threads(cause))
			fail("a caller goes on, and nobody has answered it");
	}
}

/* At the end of a slice it is the turn of the equal that has waited longest, or of somebody more urgent. */
static void check_turns(const struct rules_before *before)
{
	const struct thread *now = current(tiny_cpu(0));
	if (before->tick && before->equal && before->slice_end && tiny->time >= before->slice_end &&
	    now == before->current)
		fail("a slice has ended, an equal thread is ready, and the same thread runs on");
}

void rules_step(const struct rules_before *before, const struct census *after)
{
	const struct thread *caller = before->cause.caller;
	const bool alive = caller && census_thread(after, caller);
	const bool complete = alive && !caller->context.again && !thread_waits(caller);
	const uint64_t result = alive ? caller->context.registers.rax : 0;
	rules_derivation(before, after, complete, result);
	check_signals(before, after, complete, result);
	check_replies(before, after, complete, result);
	check_turns(before);
}
