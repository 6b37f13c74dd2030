/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "map.h"
#include "memory.h"
#include "request.h"
#include "root.h"
#include "waiters.h"

enum { WAITERS_ALL = MAP_MAX_APPLICATIONS * WAITERS_EACH };

struct waiter {
	enum wait_kind kind;
	uint32_t key;
	int reply;
};

static struct waiter waiter[MAP_MAX_APPLICATIONS][WAITERS_EACH];
static int spare[WAITERS_ALL];
static uint32_t spare_count;
static int nowhere;          /* an endpoint to which only this manager has a capability */
static uint64_t woken;       /* notification bits that a look at a reply object took */

void waiters_init(void)
{
	nowhere = memory_object(OBJECT_ENDPOINT, 0);
	if (nowhere < 0)
		manager_panic("no endpoint (error %d)", -nowhere);
}

int reply_take(void)
{
	return spare_count ? spare[--spare_count] : memory_object(OBJECT_REPLY, 0);
}

/* No more reply objects than waiters and the one in use exist. */
void reply_put(int reply)
{
	require(reply > 0);
	if (spare_count < WAITERS_ALL)
		spare[spare_count++] = reply;
}

/* A receive with a reply object that is in use is refused before it looks at anything else. */
bool reply_holds(int reply)
{
	struct message m = { 0 };
	int error = ipc_nb_receive((uint64_t)nowhere, (uint64_t)reply, &m);
	if (!error)
		woken |= m.badge; /* the bound notification's: it is kept for the service loop */
	return error == -SKERRY_BUSY;
}

uint64_t waiters_woken(void)
{
	uint64_t taken = woken;
	woken = 0;
	return taken;
}

/* A caller that another thread of its program stopped is gone from its reply object. */
static bool is_gone(const struct waiter *w) { return w->kind != WAIT_NOTHING && !reply_holds(w->reply); }

static void waiter_forget(struct waiter *w)
{
	require(w->kind != WAIT_NOTHING);
	reply_put(w->reply);
	w->kind = WAIT_NOTHING;
}

static struct waiter *find_free(uint32_t application)
{
	struct waiter *each = waiter[application];
	for (uint32_t i = 0; i < WAITERS_EACH; i++)
		if (each[i].kind == WAIT_NOTHING)
			return &each[i];
	for (uint32_t i = 0; i < WAITERS_EACH; i++)
		if (is_gone(&each[i])) {
			waiter_forget(&each[i]);
			return &each[i];
		}
	return NULL;
}

int waiter_add(enum wait_kind kind, uint32_t key, uint32_t application, int reply)
{
	require(kind != WAIT_NOTHING && application < MAP_MAX_APPLICATIONS && reply > 0);
	struct waiter *w = find_free(application);
	if (!w)
		return -SKERRY_NO_RESOURCE;
	*w = (struct waiter){ kind, key, reply };
	return 0;
}

int request_keep(struct request *r, enum wait_kind kind, uint32_t key)
{
	int next = reply_take();
	int error = next < 0 ? next : waiter_add(kind, key, r->application, r->reply);
	if (error) {
		if (next >= 0)
			reply_put(next);
		return error;
	}
	require(next > 0 && next != r->reply && !r->answered);
	r->reply = next;
	r->answered = true;
	return 0;
}

void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error)
{
	require(kind != WAIT_NOTHING);
	for (uint32_t a = 0; a < map->application_count; a++)
		for (uint32_t i = 0; i < WAITERS_EACH; i++)
			if (waiter[a][i].kind == kind && waiter[a][i].key == key) {
				struct message answer = { .info = message_info(error, 0, 0) };
				ipc_reply((uint64_t)waiter[a][i].reply, &answer);
				waiter_forget(&waiter[a][i]);
			}
}

void waiters_forget(uint32_t application)
{
	for (uint32_t i = 0; i < WAITERS_EACH; i++)
		if (waiter[application][i].kind != WAIT_NOTHING)
			waiter_forget(&waiter[application][i]);
}
