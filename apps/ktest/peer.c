/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"
#include <skerry/stubs.h>

#define MEETING_VADDR (LARGE_WINDOW + 0x3fe00000ull) /* the window's last large page */

struct meeting *meeting;
static uint64_t received; /* the notification of doorbells that were asked for */
static uint64_t gained;   /* the slot of memory that the other cluster has given */

bool has_peer(void) { return meeting != 0; }

static uint64_t channel_memory(void)
{
	for (unsigned i = 0; i < ROOT->untyped_count; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_CHANNEL && ROOT->untyped[i].channel == 0)
			return ROOT_SLOT_UNTYPED + i;
	return 0;
}

void peer_init(void)
{
	uint64_t memory = channel_memory(), frame = slot();
	if (!ROOT->channel_count || !memory)
		return;
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame, 1));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, MEETING_VADDR, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	gained = slot();
	received = slot();
	check_ok(untyped_retype(IPC, test_memory(), OBJECT_NOTIFICATION, 0, ROOT_SLOT_CNODE, received, 1));
	meeting = (struct meeting *)MEETING_VADDR;
	if (has_devices()) {
		meeting->asked = meeting->answered = 0;
		meeting->turn = TURN_FIRST;
	}
}

/* Memory that is parked becomes this cluster's, and is written. */
static int gain(uint64_t base, unsigned size_bits, uint64_t frame)
{
	int error = memory_take_parked(IPC, ROOT_SLOT_CLUSTER_CONTROL, base, size_bits, ROOT_SLOT_CNODE, gained);
	if (!error)
		error = untyped_retype(IPC, gained, OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame, 1);
	if (!error)
		error = frame_map(IPC, frame, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ | RIGHT_WRITE,
		                  CACHE_WRITE_BACK);
	if (!error)
		memset((void *)LARGE_WINDOW, 0xa5, 1 << 21);
	return error;
}

/* `argument` is a doorbell's number, but for memory. */
static uint64_t serve(uint32_t request, uint64_t argument, uint64_t argument2)
{
	uint64_t cap = slot(), word = 0;
	int error = 0;
	switch (request) {
	case PEER_RING: /* argument2 times */
		error = cnode_mint(IPC, ROOT_SLOT_CNODE, cap, ROOT_SLOT_CNODE, ROOT_SLOT_CHANNEL, RIGHT_WRITE,
		                   argument);
		for (uint64_t i = 0; !error && i < argument2; i++)
			error = notification_signal(cap);
		break;
	case PEER_LISTEN: /* with badge argument2, on the last core */
		error = cnode_mint(IPC, ROOT_SLOT_CNODE, cap, ROOT_SLOT_CNODE, received, RIGHT_ALL, argument2);
		if (!error)
			error = channel_listen(IPC, ROOT_SLOT_CHANNEL, (unsigned)argument, last_core(), cap);
		break;
	case PEER_RECEIVED: /* waits argument milliseconds at most */
		notification_wait(received, deadline_ms((unsigned)argument), &word);
		break;
	case PEER_TAKE: error = gain(argument, (unsigned)argument2, cap); break; /* an address, log2 of the size */
	/* to that cluster */
	case PEER_GIVE: error = memory_give_to(IPC, ROOT_SLOT_CLUSTER_CONTROL, gained, (uint32_t)argument); break;
	}
	cnode_delete(ROOT_SLOT_CNODE, cap);
	return error ? (uint64_t)(int64_t)error : word;
}

void peer_serve(enum meeting_turn turn)
{
	uint32_t done = meeting->answered;
	while (meeting->turn != (uint32_t)turn + 1) {
		if (meeting->turn != (uint32_t)turn || meeting->asked == done) {
			sleep_ms(1);
			continue;
		}
		meeting->answer = serve(meeting->request, meeting->argument[0], meeting->argument[1]);
		memory_reset();
		meeting->answered = ++done;
	}
}

uint64_t peer_ask(enum peer_request request, uint64_t argument, uint64_t argument2)
{
	meeting->request = request;
	meeting->argument[0] = argument;
	meeting->argument[1] = argument2;
	uint32_t number = ++meeting->asked;
	until(meeting->answered == number);
	return meeting->answer;
}
