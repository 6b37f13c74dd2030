/* SPDX-License-Identifier: BSD-2-Clause */
#include "fastpath.h"
#include "arch.h"
#include "arch_switch.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "vspace.h"
#include REGIME_HEADER

/* Everything in the message but a label and this many words is the slow path's. */
static inline bool plain(uint64_t info) { return (info & 0x1ff) <= MESSAGE_REGISTERS; }

/* The capability `cptr` of a CSpace of one level; null when it is not one, or has none such. */
static inline const struct cap *flat_lookup(const struct thread *thread, uint64_t cptr)
{
	const struct cap *root = &thread->slot[THREAD_CSPACE].cap;
	return cptr < root->limit ? &((const struct slot *)root->object)[cptr].cap : 0;
}

static inline bool is_endpoint(const struct cap *cap, uint8_t right)
{
	return cap->type == OBJECT_ENDPOINT && (cap->rights & right);
}

/*
 * May the core go from `current` to `next`, which waits, without further ado?
 * Its address space must be fresh on this core, and no core may hold its state.
 */
static inline bool may_switch(const struct cpu *cpu, const struct thread *current, const struct thread *next,
                              const struct vspace *vspace)
{
	return vspace && thread_stays_on(next, cpu->own.index) && next->priority >= current->priority &&
	       !atomic_load_explicit(&next->loaded, memory_order_acquire) && vspace_is_fresh(vspace, cpu->own.index);
}

static inline void copy_words(struct context *to, const struct context *from, uint64_t info)
{
	unsigned words = message_words(info);
	for (unsigned i = 0; i < words; i++) /* at most MESSAGE_REGISTERS */
		context_set_word(to, i, context_word(from, i));
}

/* The message has been received: `next` runs. */
static inline const struct context *switch_to(struct cpu *cpu, struct thread *from, struct thread *next,
                                              struct vspace *vspace, uint64_t info, uint64_t badge)
{
	struct context *context = &next->context;
	if (message_words(info))
		copy_words(context, &from->context, info);
	context_set_badge(context, badge);
	context_set_info(context, info);
	context_set_result(context, SKERRY_OK);
	next->state = THREAD_READY;
	schedule_charge(cpu, from);
	cpu->shared.current = next;
	count_switch(cpu, next);
	kernel_exit(cpu);
	arch_switch(cpu, from, next, vspace);
	return context;
}

const struct context *fastpath_call(uint64_t cptr, uint64_t info, struct cpu *cpu)
{
	kernel_enter(cpu);
	struct thread *caller = current(cpu);
	const struct cap *cap = flat_lookup(caller, cptr);
	if (!plain(info) || !cap || !is_endpoint(cap, RIGHT_WRITE))
		return 0;
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	struct thread *receiver = endpoint->receivers.head;
	if (!receiver || !receiver->reply)
		return 0;
	struct vspace *vspace = thread_vspace(receiver);
	if (!may_switch(cpu, caller, receiver, vspace))
		return 0;

	count_syscall(cpu, SYS_CALL, cptr);
	thread_queue_take(&endpoint->receivers);
	receiver->reply->thread = caller;
	caller->reply = receiver->reply;
	caller->state = THREAD_REPLY;
	return switch_to(cpu, caller, receiver, vspace, info, cap->badge);
}

const struct context *fastpath_reply_receive(uint64_t cptr, uint64_t info, struct cpu *cpu, uint64_t reply_cptr)
{
	kernel_enter(cpu);
	struct thread *server = current(cpu);
	const struct cap *cap = flat_lookup(server, cptr), *reply_cap = flat_lookup(server, reply_cptr);
	if (!plain(info) || !cap || !reply_cap || !is_endpoint(cap, RIGHT_READ) || reply_cap->type != OBJECT_REPLY)
		return 0;
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	struct reply *reply = (struct reply *)reply_cap->object;
	struct thread *caller = reply->thread;
	if (endpoint->senders.head || !caller || caller->state != THREAD_REPLY || caller->faulting)
		return 0;
	if (server->bound && server->bound->word)
		return 0;
	struct vspace *vspace = thread_vspace(caller);
	if (!may_switch(cpu, server, caller, vspace))
		return 0;

	count_syscall(cpu, SYS_REPLY_RECV, cptr);
	context_set_syscall(&server->context, SYS_RECV); /* what it would make again */
	reply->thread = server;
	reply->grant = cap->rights & RIGHT_GRANT;
	server->reply = reply;
	server->endpoint = endpoint;
	server->state = THREAD_RECEIVING;
	thread_queue_append(&endpoint->receivers, server);
	return switch_to(cpu, server, caller, vspace, info, 0);
}
