/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/stubs.h>

#include "ktest.h"

/* Returns whether it gets on within two milliseconds. */
static bool runs(struct worker *worker)
{
	uint64_t before = worker->count;
	sleep_ms(2);
	return worker->count != before;
}

static int configure(uint64_t tcb, uint64_t cnode, uint64_t vspace, uint64_t frame, uint64_t buffer)
{
	return tcb_configure(IPC, tcb, cnode, vspace, frame, buffer, 0);
}

/* No IPC buffer, no fault handler. */
static int configure_by(struct ipc_buffer *ipc, uint64_t tcb, uint64_t cnode, uint64_t vspace)
{
	return tcb_configure(ipc, tcb, cnode, vspace, 0, 0, 0);
}

TEST(resume, 1, 0, "tcb: RESUME starts, SUSPEND stops, RESUME goes on")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_make(spinner, 50, core);
		check(!runs(w));
		for (unsigned i = 0; i < 5; i++) {
			check_ok(tcb_resume(w->tcb));
			until(runs(w));
			check_ok(tcb_suspend(w->tcb));
			check(!runs(w));
		}
	}
}

TEST(idempotent, 1, 0, "tcb: a second RESUME or SUSPEND changes nothing")
{
	struct worker *w = worker_start(spinner, 50, last_core(), 0, 0);
	check_ok(tcb_resume(w->tcb));
	until(runs(w));
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_suspend(w->tcb));
	check(!runs(w));
	check_ok(tcb_resume(w->tcb));
	until(runs(w));
}

TEST(fresh, 1, 0, "tcb: BAD_ARGUMENT for starting what was never configured")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	struct thread_registers registers = { 0 };
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_error(tcb_write_registers(IPC, tcb, 1, &registers), BAD_ARGUMENT);
	check_ok(tcb_write_registers(IPC, tcb, 0, &registers));
	check_ok(tcb_suspend(tcb));
}

TEST(configure_caps, 1, 0, "tcb: CONFIGURE is BAD_CAP without CSpace, VSpace, or the buffer's frame")
{
	uint64_t tcb = object(OBJECT_TCB, 0), endpoint = object(OBJECT_ENDPOINT, 0), frame = object(OBJECT_FRAME_4K, 0);
	check_error(configure(tcb, endpoint, ROOT_SLOT_VSPACE, frame, WINDOW), BAD_CAP);
	check_error(configure(tcb, ROOT_SLOT_CNODE, endpoint, frame, WINDOW), BAD_CAP);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, endpoint, WINDOW), BAD_CAP);
	check_error(configure(tcb, slot(), ROOT_SLOT_VSPACE, frame, WINDOW), BAD_CAP);
	const uint64_t no_frame[] = { slot(), object(OBJECT_PAGE_TABLE, 0), ROOT_SLOT_IO_PORT, ROOT_SLOT_IRQ_CONTROL };
	for (unsigned i = 0; i < sizeof(no_frame) / sizeof(no_frame[0]); i++)
		check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, no_frame[i], WINDOW), BAD_CAP);
	for (unsigned caps = 0; caps < 3; caps++) {
		struct message m = { .word = { WINDOW, 0 } };
		IPC->caps[0] = ROOT_SLOT_CNODE, IPC->caps[1] = ROOT_SLOT_VSPACE, IPC->caps[2] = frame;
		check_error(invoke(tcb, TCB_CONFIGURE, caps, 2, &m), BAD_CAP);
	}
}

TEST(configure_short, 1, 0, "tcb: CONFIGURE is TRUNCATED with fewer than two words")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	for (unsigned words = 0; words < 2; words++) {
		struct message m = { 0 };
		IPC->caps[0] = ROOT_SLOT_CNODE, IPC->caps[1] = ROOT_SLOT_VSPACE;
		check_error(invoke(tcb, TCB_CONFIGURE, 2, words, &m), TRUNCATED);
	}
}

TEST(configure_alignment, 1, 0, "tcb: CONFIGURE is ALIGNMENT for a buffer that is not on 1 KiB")
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = object(OBJECT_FRAME_4K, 0);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, WINDOW + 512), ALIGNMENT);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, WINDOW + 1), ALIGNMENT);
	check_ok(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, WINDOW + 1024));
}

TEST(configure_rights, 1, 0, "tcb: CONFIGURE is NO_RIGHTS for a buffer that may not be written")
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = copy_of(object(OBJECT_FRAME_4K, 0), RIGHT_READ);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, WINDOW), NO_RIGHTS);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, ROOT->stat_slot, WINDOW), NO_RIGHTS);
}

TEST(configure_device, 1, 0, "tcb: CONFIGURE is BAD_ARGUMENT for a buffer in memory that the kernel does not touch")
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = slot(), memory = 0;
	for (unsigned i = 0; i < ROOT->untyped_count; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_MODULES)
			memory = ROOT_SLOT_UNTYPED + i;
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, frame, 1));
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, WINDOW), BAD_ARGUMENT);
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, copy_of(frame, RIGHT_ALL), WINDOW), BAD_ARGUMENT);
}

/* In slots 1 to 3 of the CNode whose last holder it is, named by its CSpace: two levels, the first of one slot's
 * width. */
static void configure_with_what_goes(struct worker *self)
{
	uint64_t at = 1ull << 60;
	self->out[0] = (uint64_t)-(int64_t)configure_by(self->ipc, at | 3, at | 1, at | 2);
	self->out[1] = (uint64_t)-(int64_t)tcb_suspend(at | 3);
	self->count++;
	for (;;)
		pause_turn();
}

TEST(configure_old_space, 1, 0, "tcb: CONFIGURE with a CSpace and a VSpace that end with the thread's old CSpace")
{
	uint64_t old = object(OBJECT_CNODE, 4), inner = object(OBJECT_CNODE, 4), outer = object(OBJECT_CNODE, 4),
	         root = slot();
	uint64_t tcb = object(OBJECT_TCB, 0), node = ROOT_SLOT_CNODE;
	check_ok(configure_by(IPC, tcb, old, ROOT_SLOT_VSPACE));
	check_ok(cnode_move(IPC, old, 1, node, inner));
	check_ok(cnode_copy(IPC, old, 2, node, ROOT_SLOT_VSPACE, RIGHT_ALL));
	check_ok(cnode_move(IPC, old, 3, node, tcb));
	check_ok(cnode_mint_guard(IPC, outer, 1, node, old, RIGHT_ALL, 0, 56));
	check_ok(cnode_mint_guard(IPC, node, root, node, outer, RIGHT_ALL, 0, 0));
	struct worker *w = worker_make(configure_with_what_goes, 50, 0);
	check_ok(tcb_configure(IPC, w->tcb, root, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
	check_ok(cnode_delete(node, old));
	check_ok(tcb_resume(w->tcb));
	until(w->count);
	check_eq(w->out[0], 0);
	check_eq(w->out[1], 0);
}

TEST(configure_busy, 1, 0, "tcb: CONFIGURE is BUSY unless the thread is suspended")
{
	struct worker *w = worker_start(spinner, 50, last_core(), 0, 0);
	check_error(configure(w->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0), BUSY);
	check_error(configure(ROOT_SLOT_TCB, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0), BUSY);
	check_ok(tcb_suspend(w->tcb));
	check_ok(configure(w->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0));
}

TEST(schedule_arguments, 1, 0, "tcb: SCHEDULE is BAD_ARGUMENT for priorities and cores that do not exist")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_error(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 256, 0), BAD_ARGUMENT);
	check_error(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, ~0u, 0), BAD_ARGUMENT);
	check_error(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 1, cores()), BAD_ARGUMENT);
	check_error(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 1, ~0u), BAD_ARGUMENT);
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 255, last_core()));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 0, 0));
	for (unsigned words = 0; words < 2; words++) {
		struct message m = { 0 };
		check_error(invoke(tcb, TCB_SCHEDULE, 0, words, &m), TRUNCATED);
	}
}

TEST(label, 1, 0, "tcb: BAD_LABEL for other invocations")
{
	struct message m = { 0 };
	check_error(invoke(ROOT_SLOT_TCB, TCB_SET_CORES + 1, 0, 4, &m), BAD_LABEL);
	check_error(invoke(ROOT_SLOT_TCB, TCB_CONFIGURE - 1, 0, 4, &m), BAD_LABEL);
}

TEST(time_runs, 1, 0, "tcb: TIME grows while the thread runs and only then")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_start(spinner, 50, core, 0, 0);
		uint64_t before, after, later;
		until(w->count);
		check_ok(tcb_time(w->tcb, &before));
		uint64_t count = w->count;
		until(w->count > count + 1); /* once at least from the beginning to the end */
		check_ok(tcb_suspend(w->tcb));
		check_ok(tcb_time(w->tcb, &after));
		sleep_ms(4);
		check_ok(tcb_time(w->tcb, &later));
		check(after > before);
		check_eq(later, after);
	}
}

TEST(time_suspended, 2, 0, "tcb: TIME counts the turn that SUSPEND from another core ended")
{
	uint64_t made = read_tsc(), time;
	struct worker *w = worker_start(spinner, 50, last_core(), 0, 0);
	until(w->count); /* nobody else is on that core: its one turn has begun, and SUSPEND is to end it */
	uint64_t begin = read_tsc();
	spin_ms(20);
	uint64_t elapsed = read_tsc() - begin;
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_time(w->tcb, &time));
	check(time >= elapsed && time <= read_tsc() - made);
}

TEST(time_self, 1, 0, "tcb: TIME of the caller goes on")
{
	uint64_t before, after, begin = read_tsc();
	check_ok(tcb_time(ROOT_SLOT_TCB, &before));
	spin_ms(2);
	check_ok(tcb_time(ROOT_SLOT_TCB, &after));
	check(after > before && after - before <= read_tsc() - begin);
}

static void suspend_itself(struct worker *self)
{
	self->count++;
	check_ok(tcb_suspend(self->tcb));
	self->count++;
}

TEST(suspend_self, 1, 0, "tcb: a thread can suspend itself and be resumed behind it")
{
	struct worker *w = worker_start(suspend_itself, 200, 0, 0, 0);
	until(waits(w));
	check_eq(w->count, 1);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->count, 2);
}

/* The maximum controlled priority: which priorities a thread may give. */

static int schedule_by(uint64_t tcb, uint64_t authority, unsigned priority)
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

TEST(fresh_maximum, 1, 0, "mcp: a new TCB's is 0")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	check_ok(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0));
	check_ok(schedule_by(other, tcb, 0));
	check_error(schedule_by(other, tcb, 1), NO_RIGHTS);
	check_ok(set_mcp(other, tcb, 0));
	check_error(set_mcp(other, tcb, 1), NO_RIGHTS);
}

TEST(limit, 1, 0, "mcp: priorities up to it are given, above it NO_RIGHTS")
{
	static const unsigned mcp[] = { 0, 1, 63, 64, 127, 254 };
	uint64_t tcb = object(OBJECT_TCB, 0);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t by = authority(mcp[i]);
		check_ok(schedule_by(tcb, by, mcp[i]));
		check_ok(schedule_by(tcb, by, 0));
		check_error(schedule_by(tcb, by, mcp[i] + 1), NO_RIGHTS);
		check_error(schedule_by(tcb, by, 255), NO_RIGHTS);
		check_ok(set_mcp(tcb, by, mcp[i]));
		check_error(set_mcp(tcb, by, mcp[i] + 1), NO_RIGHTS);
		check_error(set_mcp(tcb, by, 255), NO_RIGHTS);
	}
	check_ok(schedule_by(tcb, authority(255), 255));
}

TEST(refused, 1, 0, "mcp: what is refused changes nothing")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0), by = authority(10);
	check_ok(set_mcp(tcb, ROOT_SLOT_TCB, 20));
	check_ok(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0));
	check_error(set_mcp(tcb, by, 30), NO_RIGHTS);
	check_error(set_mcp(tcb, by, 256), BAD_ARGUMENT);
	check_ok(schedule_by(other, tcb, 20));
	check_error(schedule_by(other, tcb, 21), NO_RIGHTS);
}

TEST(lowered, 1, 0, "mcp: a thread lowers its own, and never raises it again")
{
	uint64_t tcb = authority(100), other = object(OBJECT_TCB, 0);
	check_ok(set_mcp(tcb, tcb, 100));
	check_ok(set_mcp(tcb, tcb, 50));
	check_error(set_mcp(tcb, tcb, 51), NO_RIGHTS);
	check_error(schedule_by(other, tcb, 51), NO_RIGHTS);
	check_ok(schedule_by(tcb, tcb, 50));
	check_error(schedule_by(tcb, tcb, 51), NO_RIGHTS);
	check_ok(set_mcp(tcb, tcb, 0));
	check_error(set_mcp(tcb, tcb, 1), NO_RIGHTS);
	check_ok(set_mcp(tcb, ROOT_SLOT_TCB, 255)); /* a thread that may, still may */
	check_ok(schedule_by(other, tcb, 255));
}

TEST(priority_above, 1, 0, "mcp: it may be below the thread's own priority")
{
	uint64_t tcb = authority(10);
	check_ok(schedule_by(tcb, ROOT_SLOT_TCB, 200));
	check_error(schedule_by(tcb, tcb, 11), NO_RIGHTS);
	check_ok(schedule_by(tcb, tcb, 10));
}

TEST(not_tcb, 1, 0, "mcp: BAD_CAP for an authority that is no TCB")
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	uint64_t bad[] = { object(OBJECT_ENDPOINT, 0), ROOT_SLOT_CNODE, slot(), 0, ~0ull };
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_error(schedule_by(tcb, bad[i], 0), BAD_CAP);
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

/* Sets of cores: where a thread may put threads, itself included. */

static int place_by(uint64_t tcb, uint64_t authority, unsigned core)
{
	return tcb_schedule(IPC, tcb, authority, 0, core);
}
static int set_cores(uint64_t tcb, uint64_t authority, uint64_t set)
{
	return tcb_set_cores(IPC, tcb, authority, &set, 1);
}

TEST(fresh_cores, 1, 0, "core sets: a new TCB puts no thread on any core, and gives none")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	for (unsigned core = 0; core < ROOT->cpu_count; core++) {
		check_error(place_by(other, tcb, core), NO_RIGHTS);
		check_error(place_by(tcb, tcb, core), NO_RIGHTS);
		check_error(set_cores(other, tcb, 1ull << core), NO_RIGHTS);
		check_error(set_cores(tcb, tcb, 1ull << core), NO_RIGHTS);
	}
	check_ok(set_cores(tcb, tcb, 0));
}

TEST(within, 2, 0, "core sets: a thread puts threads on the cores of its set and no others, and gives no others")
{
	uint64_t tcb = object(OBJECT_TCB, 0), other = object(OBJECT_TCB, 0);
	check_ok(set_cores(tcb, ROOT_SLOT_TCB, 2));
	check_ok(place_by(other, tcb, 1));
	check_error(place_by(other, tcb, 0), NO_RIGHTS);
	check_ok(set_cores(other, tcb, 2));
	check_error(set_cores(other, tcb, 1), NO_RIGHTS);
	check_error(set_cores(other, tcb, 3), NO_RIGHTS);
	check_ok(place_by(tcb, other, 1)); /* what was refused changed nothing */
	check_error(place_by(tcb, other, 0), NO_RIGHTS);
	check_ok(set_cores(tcb, tcb, 0));
	check_error(set_cores(tcb, tcb, 2), NO_RIGHTS);
	check_error(place_by(other, tcb, 1), NO_RIGHTS);
}

TEST(words, 1, 0, "core sets: words that are not there are 0, and nobody has cores beyond the kernel's")
{
	static uint64_t set[MESSAGE_WORDS_MAX] = { 1 };
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, 1));
	check_ok(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, MESSAGE_WORDS_MAX));
	for (unsigned i = 1; i < MESSAGE_WORDS_MAX; i++) {
		set[i] = 1;
		check_error(tcb_set_cores(IPC, tcb, ROOT_SLOT_TCB, set, i + 1), NO_RIGHTS);
		check_error(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 64 * i), NO_RIGHTS);
		set[i] = 0;
	}
	check_error(tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 63), NO_RIGHTS);
	check_ok(place_by(tcb, tcb, 0));
	struct message m = { .word = { 1 } };
	check_error(invoke(tcb, TCB_SET_CORES, 0, 1, &m), BAD_CAP);
	IPC->caps[0] = object(OBJECT_ENDPOINT, 0);
	check_error(invoke(tcb, TCB_SET_CORES, 1, 1, &m), BAD_CAP);
	IPC->caps[0] = ROOT_SLOT_TCB;
	check_error(invoke(tcb, TCB_SET_CORES, 1, 0, &m), TRUNCATED);
}

static void nothing(struct worker *self) { self->count++; }

TEST(no_core, 1, 0, "core sets: a thread that nobody has scheduled does not run")
{
	struct worker *w = worker_make(nothing, 50, 0);
	struct thread_registers registers;
	uint64_t tcb = object(OBJECT_TCB, 0);
	check_ok(tcb_read_registers(IPC, w->tcb, &registers));
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_error(tcb_write_registers(IPC, tcb, 1, &registers), BAD_ARGUMENT);
	check_ok(tcb_write_registers(IPC, tcb, 0, &registers));
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_error(place_by(tcb, tcb, 0), NO_RIGHTS);
	check_error(tcb_resume(tcb), BAD_ARGUMENT);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->count, 1);
}

static void spread(struct worker *self)
{
	for (unsigned core = 0; core < ROOT->cpu_count; core++) {
		self->out[core == self->arg[0]] += !tcb_schedule(self->ipc, self->tcb, self->tcb, 0, core);
		self->out[2] += !tcb_schedule(self->ipc, self->arg[1], self->tcb, 0, core);
	}
	self->count++;
}

TEST(own_cores, 2, 0, "core sets: a thread moves itself and what it makes within its set, and nowhere else")
{
	struct worker *w = worker_make(spread, 50, last_core());
	check_ok(tcb_set_core(IPC, w->tcb, ROOT_SLOT_TCB, last_core()));
	w->arg[0] = last_core();
	w->arg[1] = object(OBJECT_TCB, 0);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
	check_eq(w->out[0], 0);
	check_eq(w->out[1], 1);
	check_eq(w->out[2], 1);
}
