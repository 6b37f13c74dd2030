/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"
#include "cnode.h"
#include "kernel.h"

static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

/* How many words of this message exist on the sender's side. */
static unsigned sendable(const struct thread *thread, uint64_t info)
{
	unsigned words = min(message_words(info), MESSAGE_WORDS_MAX);
	return thread_ipc_buffer(thread) ? words : min(words, MESSAGE_REGISTERS);
}

void message_transfer(struct thread *from, struct thread *to, uint64_t info, uint64_t badge)
{
	struct ipc_buffer *buffer = thread_ipc_buffer(to);
	unsigned words;
	if (from->faulting) {
		for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
			context_set_word(&to->context, i, from->fault_words[i]);
		words = message_words(info);
		if (buffer && words > MESSAGE_REGISTERS)
			buffer->words[4] = from->fault_words[4];
	} else {
		words = sendable(from, info);
		for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
			context_set_word(&to->context, i, context_word(&from->context, i));
		if (buffer)
			for (unsigned i = MESSAGE_REGISTERS; i < words; i++)
				buffer->words[i] = from->ipc_buffer_address->words[i];
	}
	if (!buffer)
		words = min(words, MESSAGE_REGISTERS);
	context_set_info(&to->context, message_info(message_label(info), 0, words));
	context_set_badge(&to->context, badge);
	thread_result(to, SKERRY_OK);
}

uint64_t message_word(const struct thread *thread, unsigned index)
{
	if (index < MESSAGE_REGISTERS)
		return context_word(&thread->context, index);
	const struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	return buffer ? buffer->words[index] : 0;
}

void message_set_word(struct thread *thread, unsigned index, uint64_t value)
{
	struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	if (index < MESSAGE_REGISTERS)
		context_set_word(&thread->context, index, value);
	else if (buffer)
		buffer->words[index] = value;
}

struct slot *message_cap(struct cpu *cpu, uint64_t info, unsigned index)
{
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
