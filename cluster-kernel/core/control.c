/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include "kernel.h"
#include "message.h"
#include LOCKING_HEADER

uint64_t invoke_control(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_CONTROL);
	struct thread *thread = current(cpu);
	if (message_label(info) != CONTROL_GRANULARITY)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	uint64_t wanted = message_word(thread, 0);
	bool under_way;
	if (wanted > GRANULARITY_FINE || !kernel_granularity(cpu, (enum granularity)wanted, &under_way))
		return SKERRY_BAD_ARGUMENT;
	message_set_word(thread, 0, under_way);
	return SKERRY_OK;
}
