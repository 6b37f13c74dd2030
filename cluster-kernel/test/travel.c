/* SPDX-License-Identifier: BSD-2-Clause */
#include "travel.h"
#include <string.h>
#include "message.h"
#include "thread.h"

void travel_post(unsigned core, const struct travel_call *m)
{
	static const uint64_t words[] = { 0x40100000, RIGHT_READ, 0, 44, 55 };
	struct hosted_call posted = { .number = m->number, .cptr = m->cptr, .reply = m->reply,
	                              .info = message_info(m->label, 0, 5) };
	struct ipc_buffer *buffer = thread_ipc_buffer(running(core));
	const bool waits = m->number == SYS_WAIT || m->number == SYS_SIGNAL_WAIT;
	for (unsigned i = 0; i < 4; i++)
		posted.word[i] = waits ? 0 : m->label == FRAME_PROTECT && i == 0 ? RIGHT_READ : words[i];
	buffer->words[4] = words[4];
	buffer->caps[0] = VSPACE;
	hosted_post_call(machine, core, &posted);
}

static struct travel *order;

static bool all_away(void)
{
	for (unsigned i = 0; i < TRAVELLERS; i++)
		if (order->traveller[i] && order->traveller[i]->state != THREAD_AWAY)
			return false;
	return true;
}

static bool root_is_done(void) { return order->done == order->steps && !machine->core[0].inside; }

/* The candidate that is this core; `count` if it has nothing to do. */
static unsigned place_of(unsigned core, unsigned count)
{
	unsigned place = 0;
	for (unsigned i = 0; i < core; i++)
		place += hosted_core_busy(&machine->core[i]);
	return hosted_core_busy(&machine->core[core]) ? place : count;
}

static unsigned choose(void *argument, unsigned count)
{
	enum { PATIENCE = 400 };
	(void)argument;
	order->turns++;
	const bool away = order->done || (all_away() && !machine->core[TRAVEL_AT].inside);
	unsigned first = place_of(away && order->turns % 2 ? 0 : TRAVEL_AT, count),
	         second = place_of(away && order->turns % 2 ? TRAVEL_AT : 0, count);
	order->released |= (away && root_is_done()) || order->turns > PATIENCE || (first == count && second == count);
	if (order->released)
		return order->turns % count;
	return first < count ? first : second; /* a writer may wait for the thread's core */
}

static bool next_step(void *argument, struct hosted *of, unsigned core)
{
	(void)argument;
	for (unsigned i = 0; core == TRAVEL_AT && i < TRAVELLERS; i++)
		if (order->call[i].number && running(TRAVEL_AT) == order->traveller[i]) {
			travel_post(TRAVEL_AT, &order->call[i]);
			order->call[i].number = 0;
			return true;
		}
	if (core != 0 || (!order->done && !all_away()))
		return false;
	if (order->done)
		order->result[order->done - 1] = result(of->root);
	if (order->done == order->steps)
		return false;
	const struct travel_step *step = &order->step[order->done++];
	struct hosted_call call = { .number = SYS_CALL, .cptr = step->cptr ? step->cptr : CNODE,
	                            .info = message_info(step->label, 2, 21) };
	memcpy(call.word, step->word, sizeof(call.word));
	memset(thread_ipc_buffer(of->root)->words, 0, sizeof(uint64_t) * 24);
	thread_ipc_buffer(of->root)->caps[0] = step->label == TCB_SCHEDULE ? ROOT_SLOT_TCB : CNODE;
	thread_ipc_buffer(of->root)->caps[1] = VSPACE;
	hosted_post_call(of, 0, &call);
	return true;
}

bool travel_run(struct travel *wanted)
{
	order = wanted;
	machine->config.choose = choose;
	machine->config.program = next_step;
	for (unsigned i = 0; i < TRAVEL_CORES; i++)
		machine->core[i].quiet = false;
	settle();
	machine->config.choose = 0;
	machine->config.program = 0;
	return order->done == order->steps && order->steps > 0;
}
