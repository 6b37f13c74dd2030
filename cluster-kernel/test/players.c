/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/root_info.h>
#include "check.h"
#include "message.h"

/* By the root task. */
static void call(struct hosted *machine, uint64_t cptr, uint64_t label, unsigned words, const uint64_t *word,
                 uint64_t cap0, uint64_t cap1, uint64_t cap2)
{
	struct hosted_call c = { .number = SYS_CALL, .cptr = cptr, .info = message_info(label, 3, words) };
	struct ipc_buffer *buffer = thread_ipc_buffer(machine->root);
	for (unsigned i = 0; i < words; i++)
		*(i < MESSAGE_REGISTERS ? &c.word[i] : &buffer->words[i]) = word[i];
	buffer->caps[0] = cap0, buffer->caps[1] = cap1, buffer->caps[2] = cap2;
	hosted_post_call(machine, 0, &c);
	hosted_run(machine);
	uint64_t result = machine->root->context.registers.rax;
	CHECK(result == 0, "a call of the preparation failed", result, label);
}
#define CALL(cptr, label, cap0, cap1, cap2, ...) \
	call(machine, cptr, label, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ }, cap0, cap1, \
	     cap2)

static uint64_t buffer_of(unsigned player) { return PLAY_BUFFERS + player * 4096ull; }

static void make_thread(struct hosted *machine, unsigned player, uint64_t slot)
{
	CALL(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_TCB, 0, slot, 1);
	CALL(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_FRAME_4K, 0, slot + 1, 1);
	CALL(slot + 1, FRAME_MAP, ROOT_SLOT_VSPACE, 0, 0, buffer_of(player), RIGHT_ALL, 0);
	CALL(slot, TCB_CONFIGURE, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, slot + 1, buffer_of(player), 0);
	/* a core without threads */
	const unsigned cores = machine->config.cores, spare = machine->config.seed % 2 && cores > 1;
	CALL(slot, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100 + player % 2, player % (cores - spare));
	CALL(slot, TCB_RESUME, 0, 0, 0, 0);
}

void players_make(struct hosted *machine)
{
	static const uint8_t objects[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY, OBJECT_REPLY,
	                                   OBJECT_CNODE,
		                           OBJECT_VSPACE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE,
		                           OBJECT_DOMAIN };
	uint64_t untyped = ROOT_SLOT_UNTYPED, slot = PLAY_FIRST;
	while (machine->root_cnode[untyped].cap.size_bits < 22)
		untyped++;
	CALL(untyped, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_UNTYPED, 18, slot++, 1);
	for (unsigned i = 0; i < PLAY_THREADS; i++, slot += 2)
		make_thread(machine, i, slot);
	for (unsigned i = 0; i < sizeof(objects); i++)
		CALL(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, objects[i], objects[i] == OBJECT_CNODE ? 4 : 0,
		     slot++, 1);
	CALL(ROOT_SLOT_TCB, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, 0);
}

uint64_t players_buffer(const struct hosted *machine, const struct thread *thread)
{
	if (thread == machine->root)
		return ROOT_IPC_BUFFER_VADDR;
	return buffer_of((uint64_t)thread >> (TCB_BITS + 2) & (PLAY_THREADS - 1)); /* each with its page, 8 KiB apart */
}
