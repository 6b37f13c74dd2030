/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"
#include "root.h"
#include "waiters.h"

enum { WAITERS_MAX = 512 };

struct waiter {
	enum wait_kind kind;
	uint32_t key;
	uint32_t application;
	int reply;
};

static struct waiter waiter[WAITERS_MAX];
static int spare[WAITERS_MAX];
static uint32_t spare_count;

int reply_take(void)
{
	if (spare_count)
		return spare[--spare_count];
	int reply = memory_object(OBJECT_REPLY, 0);
	if (reply < 0)
		manager_panic("no memory for a reply object (error %d)", -reply);
	return reply;
}

/* No more reply objects than waiters and the one in use exist. */
void reply_put(int reply)
{
	if (spare_count < WAITERS_MAX)
		spare[spare_count++] = reply;
}

int waiter_add(enum wait_kind kind, uint32_t key, uint32_t application, int reply)
{
	for (uint32_t i = 0; i < WAITERS_MAX; i++)
		if (waiter[i].kind == WAIT_NOTHING) {
			waiter[i] = (struct waiter){ kind, key, application, reply };
			return 0;
		}
	return -SKERRY_NO_RESOURCE;
}

void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error)
{
	for (uint32_t i = 0; i < WAITERS_MAX; i++)
		if (waiter[i].kind == kind && waiter[i].key == key) {
			struct message answer = { .info = message_info(error, 0, 0) };
			ipc_reply((uint64_t)waiter[i].reply, &answer);
			reply_put(waiter[i].reply);
			waiter[i].kind = WAIT_NOTHING;
		}
}

void waiters_forget(uint32_t application)
{
	for (uint32_t i = 0; i < WAITERS_MAX; i++)
		if (waiter[i].kind != WAIT_NOTHING && waiter[i].application == application) {
			reply_put(waiter[i].reply);
			waiter[i].kind = WAIT_NOTHING;
		}
}
