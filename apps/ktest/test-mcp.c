/* SPDX-License-Identifier: BSD-2-Clause */
/* The maximum controlled priority: which priorities a thread may give. */
#include <skerry/stubs.h>
#include "ktest.h"

static int schedule(uint64_t tcb, uint64_t authority, unsigned priority)
{
	return tcb_schedule(IPC, tcb, authority, priority, 0);
}
static int set_mcp(uint64_t tcb, uint64_t authority, unsigned mcp) { return tcb_set_mcp(IPC, tcb, authority, mcp); }

/* A TCB with this maximum. */
static uint64_t authority(unsigned mcp)
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(set_mcp(tcb, ROOT_SLOT_TCB, mcp));
	check_ok(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0));
	return tcb;
}

TEST(fresh, 1, 0, "mcp: a new TCB's is 0")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	check_ok(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0));
	check_ok(schedule(other, tcb, 0));
	check_error(schedule(other, tcb, 1), NO_RIGHTS);
	check_ok(set_mcp(other, tcb, 0));
	check_error(set_mcp(other, tcb, 1), NO_RIGHTS);
}

TEST(limit, 1, 0, "mcp: priorities up to it are given, above it NO_RIGHTS")
{
	static const unsigned mcp[] = { 0, 1, 63, 64, 127, 254 };
	uint64_t tcb = object(OBJECT_TCB, 0);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t by = authority(mcp[i]);
		check_ok(schedule(tcb, by, mcp[i]));
		check_ok(schedule(tcb, by, 0));
		check_error(schedule(tcb, by, mcp[i] + 1), NO_RIGHTS);
		check_error(schedule(tcb, by, 255), NO_RIGHTS);
		check_ok(set_mcp(tcb, by, mcp[i]));
		check_error(set_mcp(tcb, by, mcp[i] + 1), NO_RIGHTS);
		check_error(set_mcp(tcb, by, 255), NO_RIGHTS);
	}
	check_ok(schedule(tcb, authority(255), 255));
}

TEST(refused, 1, 0, "mcp: what is refused changes nothing")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0), by = authority(10);
	check_ok(set_mcp(tcb, ROOT_SLOT_TCB, 20));
	check_ok(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0));
	check_error(set_mcp(tcb, by, 30), NO_RIGHTS);
	check_error(set_mcp(tcb, by, 256), BAD_ARGUMENT);
	check_ok(schedule(other, tcb, 20));
	check_error(schedule(other, tcb, 21), NO_RIGHTS);
}

TEST(lowered, 1, 0, "mcp: a thread lowers its own, and never raises it again")
{
	uint64_t tcb = authority(100), other = object(OBJECT_TCB, 0);
	check_ok(set_mcp(tcb, tcb, 100));
	check_ok(set_mcp(tcb, tcb, 50));
	check_error(set_mcp(tcb, tcb, 51), NO_RIGHTS);
	check_error(schedule(other, tcb, 51), NO_RIGHTS);
	check_ok(schedule(tcb, tcb, 50));
	check_error(schedule(tcb, tcb, 51), NO_RIGHTS);
	check_ok(set_mcp(tcb, tcb, 0));
	check_error(set_mcp(tcb, tcb, 1), NO_RIGHTS);
	check_ok(set_mcp(tcb, ROOT_SLOT_TCB, 255)); /* a thread that may, still may */
	check_ok(schedule(other, tcb, 255));
}

TEST(priority_above, 1, 0, "mcp: it may be below the thread's own priority")
{
	uint64_t tcb = authority(10);
	check_ok(schedule(tcb, ROOT_SLOT_TCB, 200));
	check_error(schedule(tcb, tcb, 11), NO_RIGHTS);
	check_ok(schedule(tcb, tcb, 10));
}

TEST(not_tcb, 1, 0, "mcp: BAD_CAP for an authority that is no TCB")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	uint64_t bad[] = { object(OBJECT_ENDPOINT, 0), ROOT_SLOT_CNODE, slot(), 0, ~0ull };
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_error(schedule(tcb, bad[i], 0), BAD_CAP);
		check_error(set_mcp(tcb, bad[i], 0), BAD_CAP);
	}
	struct message m = { .word = { 0, 0 } };
	IPC->caps[0] = ROOT_SLOT_TCB;
	check_error(invoke(tcb, TCB_SCHEDULE, 0, 2, &m), BAD_CAP);
	m = (struct message){ 0 };
	check_error(invoke(tcb, TCB_SET_MCP, 0, 1, &m), BAD_CAP);
}

TEST(arguments, 1, 0, "mcp: BAD_ARGUMENT above 255, TRUNCATED without a word")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	static const uint64_t bad[] = { 256, 257, 1ull << 32, 1ull << 63, ~0ull };
	for (unsigned i = 0; i < 5; i++) {
		struct message m = { .word = { bad[i] } };
		IPC->caps[0] = ROOT_SLOT_TCB;
		check_error(invoke(tcb, TCB_SET_MCP, 1, 1, &m), BAD_ARGUMENT);
		m = (struct message){ .word = { bad[i], 0 } };
		check_error(invoke(tcb, TCB_SCHEDULE, 1, 2, &m), BAD_ARGUMENT);
		m = (struct message){ .word = { 0, bad[i] } };
		check_error(invoke(tcb, TCB_SCHEDULE, 1, 2, &m), BAD_ARGUMENT);
	}
	struct message m = { 0 };
	check_error(invoke(tcb, TCB_SET_MCP, 1, 0, &m), TRUNCATED);
}

static void raise_itself(struct worker *self)
{
	self->out[0] = (uint64_t)-(int64_t)tcb_schedule(self->ipc, self->tcb, self->tcb, 60, 0);
	self->out[1] = (uint64_t)-(int64_t)tcb_schedule(self->ipc, self->tcb, self->tcb, 61, 0);
	self->out[2] = (uint64_t)-(int64_t)tcb_set_mcp(self->ipc, self->tcb, self->tcb, 61);
	self->count++;
}

TEST(own, 1, 0, "mcp: a thread raises its own priority as far as that and no further")
{
	struct worker *w = worker_make(raise_itself, 50, 0);
	check_ok(set_mcp(w->tcb, ROOT_SLOT_TCB, 60));
	check_ok(tcb_set_core(IPC, w->tcb, ROOT_SLOT_TCB, 0));
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->out[0], 0);
	check_eq(w->out[1], SKERRY_NO_RIGHTS);
	check_eq(w->out[2], SKERRY_NO_RIGHTS);
}
