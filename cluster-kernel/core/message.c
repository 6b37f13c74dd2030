/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"
#include "cnode.h"
#include "derive.h"
#include "kernel.h"

/*@ assigns \nothing; ensures \result == (a < b ? a : b); */
static unsigned min_words(unsigned a, unsigned b) { return a < b ? a : b; }

/*
 * Copies the capabilities that the sender names to the receiver's slots. Returns how many were copied; the first that
 * cannot be copied ends the transfer. Hazard: double fetch. Programs may write to either buffer meanwhile, so each word
 * is read once.
 */
static __attribute__((noinline)) unsigned transfer_caps(const struct thread *from, struct thread *to, unsigned count)
{
	assert_exclusive();
	kernel_assert(count <= MESSAGE_CAPS_MAX);
	const volatile struct ipc_buffer *sent = thread_ipc_buffer(from), *buffer = thread_ipc_buffer(to);
	if (!sent || !buffer)
		return 0;
	const struct slot *node = cspace_lookup(to, buffer->receive_cnode);
	if (!node || node->cap.type != OBJECT_CNODE || !(node->cap.rights & RIGHT_WRITE))
		return 0;
	uint64_t first = buffer->receive_slot;
	for (unsigned i = 0; i < count; i++) {
		struct slot *source = cspace_lookup(from, sent->caps[i]), *slot = cnode_slot(&node->cap, first + i);
		struct cap copy;
		if (!source || slot_empty(source) || !slot || !slot_empty(slot) ||
		    cap_copy(&source->cap, RIGHT_ALL, &copy))
			return i;
		slot_insert(slot, &copy, source);
	}
	return count;
}

/* Copies message words in registers and in memory. Returns how many were copied. */
static unsigned transfer_words(const struct thread *from, struct thread *to, unsigned words)
{
	struct ipc_buffer *buffer = thread_ipc_buffer(to);
	const struct ipc_buffer *source = thread_ipc_buffer(from);
	if (words <= MESSAGE_REGISTERS) {
		context_copy_words(&to->context, &from->context, words);
		return words;
	}
	context_copy_words(&to->context, &from->context, MESSAGE_REGISTERS);
	if (!buffer || !source)
		return MESSAGE_REGISTERS;
	words = min_words(words, MESSAGE_WORDS_MAX);
	for (unsigned i = MESSAGE_REGISTERS; i < words; i++)
		buffer->words[i] = source->words[i];
	return words;
}

static __attribute__((noinline)) unsigned transfer_fault(const struct thread *from, struct thread *to, unsigned words)
{
	kernel_assert(from->faulting && words <= sizeof(from->fault_words) / sizeof(from->fault_words[0]));
	struct ipc_buffer *buffer = thread_ipc_buffer(to);
	words = buffer ? words : min_words(words, MESSAGE_REGISTERS);
	for (unsigned i = 0; i < words; i++)
		if (i < MESSAGE_REGISTERS)
			context_set_word(&to->context, i, from->fault_words[i]);
		else
			buffer->words[i] = from->fault_words[i];
	return words;
}

/* Transfers a message that has capabilities or is a fault's. Returns the message info that the receiver gets. */
static __attribute__((noinline)) uint64_t transfer_rare(const struct thread *from, struct thread *to, uint64_t info,
                                                        bool grant)
{
	unsigned caps = grant ? message_caps(info) : 0, words = message_words(info);
	words = from->faulting ? transfer_fault(from, to, words) : transfer_words(from, to, words);
	if (caps)
		caps = transfer_caps(from, to, caps);
	return message_info(message_label(info), caps, words);
}

void message_transfer(const struct thread *from, struct thread *to, uint64_t info, uint64_t badge, bool grant)
{
	kernel_assert(from != to);
	assert_held(&from->lock);
	assert_held(&to->lock);
	if (from->faulting || message_caps(info))
		info = transfer_rare(from, to, info, grant);
	else if (message_is_short(info))
		context_copy_words(&to->context, &from->context, message_words(info));
	else
		info = message_info(message_label(info), 0, transfer_words(from, to, message_words(info)));
	context_set_info(&to->context, info);
	context_set_badge(&to->context, badge);
	thread_result(to, SKERRY_OK);
}

uint64_t message_word(const struct thread *thread, unsigned index)
{
	kernel_assert(index < MESSAGE_WORDS_MAX);
	if (index < MESSAGE_REGISTERS)
		return context_word(&thread->context, index);
	const struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	return buffer ? buffer->words[index] : 0;
}

void message_set_word(struct thread *thread, unsigned index, uint64_t value)
{
	kernel_assert(index < MESSAGE_WORDS_MAX);
	struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	if (index < MESSAGE_REGISTERS)
		context_set_word(&thread->context, index, value);
	else if (buffer)
		buffer->words[index] = value;
}

struct slot *message_cap(struct cpu *cpu, uint64_t info, unsigned index)
{
	kernel_assert(index < MESSAGE_CAPS_MAX);
	const struct thread *thread = current(cpu);
	const struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	if (index >= message_caps(info) || !buffer)
		return 0;
	return cspace_lookup(thread, buffer->caps[index]);
}

struct slot *message_cap_of(struct cpu *cpu, uint64_t info, unsigned index, unsigned type)
{
	struct slot *slot = message_cap(cpu, info, index);
	return slot && slot->cap.type == type ? slot : 0;
}
