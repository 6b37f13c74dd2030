/* SPDX-License-Identifier: BSD-2-Clause */
/* FRAME_PROTECT: what a program may do with memory afterwards. */
#include "ktest.h"

#define VSPACE ROOT_SLOT_VSPACE
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };

static int map(uint64_t frame, uint64_t address) { return frame_map(IPC, frame, VSPACE, address, READ_WRITE, 0); }
static volatile uint64_t *at(uint64_t address) { return place(address); }

static void store(struct worker *self)
{
	program_store(self->arg[0], 5);
	self->count++;
}

static void load(struct worker *self)
{
	self->out[0] = program_load(self->arg[0]);
	self->count++;
}

/* A program of that core faults when it does so, with this error code, and goes on once the frame may be used again. */
static void check_denied(void (*run)(struct worker *), unsigned core, uint64_t address, unsigned error, uint64_t frame)
{
	struct trial t = trial_make(run, 50, core);
	t.worker->arg[0] = address;
	check_ok(tcb_resume(t.worker->tcb));
	struct message m = trial_fault(&t);
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[2], address);
	check_eq(m.word[3], error);
	check_eq(t.worker->count, 0);
	if (frame_protect_in(IPC, frame, VSPACE, READ_WRITE))
		check_ok(map(frame, address));
	trial_answer(&t, 0);
	until(t.worker->done);
}

static void own(unsigned core)
{
	uint64_t frame = map_page(0, READ_WRITE);
	at(WINDOW)[0] = 3;
	check_ok(frame_protect(frame, RIGHT_READ));
	check_eq(at(WINDOW)[0], 3);
	check_denied(store, core, WINDOW, 7, frame); /* a write, by user mode, of what is there */
	check_eq(at(WINDOW)[0], 5);
}

TEST(own_mapping, 1, 0, "protect: a page that may only be read is not written, until it may") { own(0); }
TEST(own_remote, 2, 0, "protect: the same on another core") { own(last_core()); }

static void derived(unsigned core)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), copy = copy_of(frame, RIGHT_ALL), last = copy_of(copy, RIGHT_ALL);
	check_ok(map(frame, WINDOW));
	check_ok(map(last, WINDOW + 4096));
	check_ok(frame_protect(copy, RIGHT_READ));
	at(WINDOW)[0] = 4;
	check_eq(at(WINDOW + 4096)[0], 4);
	struct trial t = trial_make(store, 50, core);
	t.worker->arg[0] = WINDOW + 4096;
	check_ok(tcb_resume(t.worker->tcb));
	check_eq(trial_fault(&t).word[2], WINDOW + 4096);
	check_ok(frame_protect_in(IPC, last, VSPACE, READ_WRITE)); /* of what it has left */
	trial_answer(&t, 0);
	check_eq(trial_fault(&t).word[2], WINDOW + 4096);
	trial_answer(&t, 1);
	check_ok(map(copy, WINDOW + 8192)); /* the invoked one has kept its rights */
	at(WINDOW + 8192)[0] = 6;
	check_eq(at(WINDOW)[0], 6);
}

TEST(descendant, 1, 0, "protect: what derives from a frame loses WRITE for good") { derived(0); }
TEST(descendant_remote, 2, 0, "protect: the same on another core") { derived(last_core()); }

TEST(none, 1, 0, "protect: without READ a frame is unmapped, and may be mapped again")
{
	uint64_t frame = map_page(0, READ_WRITE);
	check_ok(frame_protect(frame, 0));
	check_error(frame_unmap(frame), NOT_MAPPED);
	check_denied(load, 0, WINDOW, 4, frame);
	check_eq(at(WINDOW)[0], 0);
}

TEST(large, 1, 0, "protect: a page of 2 MiB")
{
	uint64_t frame = object(OBJECT_FRAME_2M, 0);
	check_ok(map(frame, LARGE_WINDOW));
	check_ok(frame_protect(frame, RIGHT_READ));
	check_denied(store, last_core(), LARGE_WINDOW + 8 * 4096, 7, frame);
	check_eq(at(LARGE_WINDOW + 8 * 4096)[0], 5);
}

TEST(many, 1, 0, "protect: a thousand copies, in a line and beside each other")
{
	enum { COUNT = 1000 };
	uint64_t frame = object(OBJECT_FRAME_4K, 0), first = 0, copy = frame;
	for (unsigned i = 0; i < COUNT; i++) {
		copy = copy_of(i % 2 ? copy : frame, RIGHT_ALL);
		first = first ? first : copy;
	}
	check_ok(frame_protect(frame, RIGHT_WRITE));
	check_error(map(first, WINDOW), NO_RIGHTS);
	check_error(map(copy, WINDOW), NO_RIGHTS);
	check_ok(map(frame, WINDOW));
}

TEST(buffer, 1, 0, "protect: a thread loses an IPC buffer that it could not write")
{
	struct trial t = trial_make(load, 50, 0);
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_ok(tcb_configure(IPC, t.worker->tcb, ROOT_SLOT_CNODE, VSPACE, frame, WINDOW, 0));
	check_ok(frame_protect(frame, READ_WRITE));
	check_ok(frame_protect(frame, RIGHT_READ));
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, frame));
	check_error(tcb_configure(IPC, t.worker->tcb, ROOT_SLOT_CNODE, VSPACE, copy_of(frame, RIGHT_READ), WINDOW, 0),
	            NO_RIGHTS);
}

TEST(refused, 1, 0, "protect: TRUNCATED, BAD_CAP, NO_RIGHTS, NOT_MAPPED, BAD_ARGUMENT, and nothing happens")
{
	uint64_t frame = map_page(0, READ_WRITE), unmapped = object(OBJECT_FRAME_4K, 0),
	         other = object(OBJECT_VSPACE, 0);
	check_error(invoke_only(frame, FRAME_PROTECT), TRUNCATED);
	check_error(frame_protect_in(IPC, frame, unmapped, 0), BAD_CAP);
	check_error(frame_protect_in(IPC, frame, copy_of(VSPACE, RIGHT_READ), 0), NO_RIGHTS);
	check_error(frame_protect_in(IPC, unmapped, VSPACE, 0), NOT_MAPPED);
	check_error(frame_protect_in(IPC, frame, other, 0), BAD_ARGUMENT);
	at(WINDOW)[0] = 9;
	check_eq(at(WINDOW)[0], 9);
}
