/* SPDX-License-Identifier: BSD-2-Clause */
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
	check_error(configure(tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, ROOT_SLOT_STAT, WINDOW), NO_RIGHTS);
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
