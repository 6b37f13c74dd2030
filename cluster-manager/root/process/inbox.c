/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "inbox.h"
#include "root.h"

enum { FIRST_QUEUED = 32 /* those below are there once at most */ };

int inbox_put(struct inbox *b, const struct sent_signal *signal)
{
	require(signal->number && b->count <= PROCESS_SIGNALS);
	for (uint32_t i = 0; i < b->count && signal->number < FIRST_QUEUED; i++)
		if (b->signal[i].number == signal->number)
			return 0;
	/* those that are there once always have room */
	uint32_t queued = 0;
	for (uint32_t i = 0; i < b->count; i++)
		queued += b->signal[i].number >= FIRST_QUEUED;
	if (signal->number >= FIRST_QUEUED && queued > PROCESS_SIGNALS - FIRST_QUEUED)
		return -SKERRY_BUSY;
	require(b->count < PROCESS_SIGNALS);
	b->signal[b->count++] = *signal;
	return 0;
}

bool inbox_take(struct inbox *b, struct sent_signal *signal)
{
	if (!b->count) {
		b->told = false;
		return false;
	}
	*signal = b->signal[0];
	b->count--;
	memmove(&b->signal[0], &b->signal[1], b->count * sizeof(b->signal[0]));
	return true;
}

bool inbox_drop(struct inbox *b, uint64_t set)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < b->count; i++)
		if (!(set >> (b->signal[i].number - 1) & 1))
			b->signal[left++] = b->signal[i];
	const bool any = left != b->count;
	b->count = left;
	return any;
}

bool inbox_is_due(const struct inbox *b) { return b->entry && b->count && !b->told && !b->stopped; }

int inbox_interrupt(struct inbox *b, const struct process *p)
{
	struct thread_registers registers;
	require(inbox_is_due(b) && p->tcb > 0);
	tcb_suspend((uint64_t)p->tcb);
	int error = tcb_read_registers(IPC, (uint64_t)p->tcb, &registers);
	if (!error && registers.rip - b->entry >= b->size) { /* else it is about to ask anyway */
		error = promise_note_word(&p->touched, PROCESS_TOUCHED_RESUME / 64, registers.rip);
		registers.rip = b->entry;
		if (!error)
			error = tcb_write_registers(IPC, (uint64_t)p->tcb, 0, &registers);
	}
	tcb_resume((uint64_t)p->tcb);
	b->told = !error;
	return error;
}
