/* SPDX-License-Identifier: BSD-2-Clause */
/* Long operations: others get their turn in between, and what is begun is finished, by whomever. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE
enum { MANY = 6000, VERY_MANY = 40000 };

/* So many copies of a new endpoint, which is the result; they are in a CNode of their own. */
static uint64_t tree(unsigned count)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), node = object(OBJECT_CNODE, count < 1 << 13 ? 13 : 16);
	for (unsigned i = 1; i <= count; i++)
		check_ok(cnode_copy(IPC, node, i, NODE, endpoint, RIGHT_ALL));
	return endpoint;
}

/* Nothing was derived from it any more. */
static void check_bare(uint64_t cap)
{
	uint64_t to = slot();
	check_ok(cnode_mutate(IPC, NODE, to, NODE, cap, RIGHT_READ, 0)); /* BUSY if it had children */
}

static void revoker(struct worker *self)
{
	self->count++;
	self->out[0] = (uint64_t)-(int64_t)cnode_revoke(NODE, self->arg[0]);
	self->out[1] = 1;
}

/* Counts, in out[0], how often it comes between the beginning and the end of what a lower priority does. */
static void ticker(struct worker *self)
{
	for (;;) {
		notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 20000, 0);
		const struct worker *low = (const struct worker *)self->arg[1];
		if (low && low->count && !low->out[1])
			self->out[0]++;
		self->count++;
	}
}

enum { TICKS = 5, ATTEMPTS_COUNTED = 3, ATTEMPTS = 20, TIMEOUT = 25000 };

/*
 * Without a preemption point it would come in once, when the call is over, or
 * twice. Where the clock counts instructions (test_ktest.py boots such a machine),
 * the first attempt decides, or the third. Elsewhere the host decides how often
 * the clock strikes within a few milliseconds of its time: attempts go on for
 * TIMEOUT milliseconds, and there are ATTEMPTS. `make` prepares what `run` is to do.
 */
static void check_preempted(unsigned core, void (*run)(struct worker *), void (*make)(struct worker *))
{
	bool counts = clock_counts_instructions();
	uint64_t timeout = deadline_ms(TIMEOUT);
	for (unsigned attempt = 1;; attempt++) {
		struct worker *high = worker_start(ticker, 60, core, object(OBJECT_NOTIFICATION, 0), 0);
		struct worker *low = worker_make(run, 50, core);
		make(low);
		until(high->count > 3);
		high->arg[1] = (uint64_t)low;
		check_ok(tcb_resume(low->tcb));
		until(low->done);
		check_eq(low->out[0], 0);
		bool enough = high->out[0] >= TICKS;
		workers_drop();
		check_ok(cnode_revoke(NODE, test_memory()));
		if (enough)
			return;
		test_progress();
		check(attempt < (counts ? ATTEMPTS_COUNTED : ATTEMPTS) || (!counts && !passed(timeout)));
	}
}

static void make_tree(struct worker *w) { w->arg[0] = tree(VERY_MANY); }

TEST(timer, 1, NEEDS_PROCESSOR, "preempt: a higher priority's deadlines are met while a lower one revokes")
{
	check_preempted(0, revoker, make_tree);
	if (last_core())
		check_preempted(last_core(), revoker, make_tree);
}

TEST(equals, 1, 0, "preempt: equals get their time slices while one of them revokes")
{
	uint64_t endpoint = tree(MANY);
	struct worker *a = worker_start(spinner, 50, 0, 0, 0), *b = worker_start(revoker, 50, 0, endpoint, 0);
	until(b->done && a->count);
	check_eq(b->out[0], 0);
	check_bare(endpoint);
}

static void signaller(struct worker *self)
{
	for (;;) {
		check_ok(notification_signal(self->arg[0]));
		self->count++;
	}
}

/* How much of the host the other core has just then is not known: there are several attempts. */
TEST(other_cores, 2, 0, "preempt: other cores make system calls while one revokes")
{
	for (unsigned attempt = 0;; attempt++) {
		uint64_t endpoint = tree(MANY);
		struct worker *other = worker_start(signaller, 50, last_core(), object(OBJECT_NOTIFICATION, 0), 0);
		until(other->count);
		uint64_t before = other->count;
		check_ok(cnode_revoke(NODE, endpoint));
		bool enough = other->count - before > 2;
		check_bare(endpoint);
		workers_drop();
		check_ok(cnode_revoke(NODE, test_memory()));
		if (enough)
			break;
		check(attempt < 50);
	}
}

TEST(many_revokers, 1, 0, "preempt: several threads on all cores revoke the same, and all return")
{
	uint64_t endpoint = tree(MANY);
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = worker_start(revoker, 50, i % cores(), endpoint, 0);
	for (unsigned i = 0; i < 4; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], 0);
	}
	check_bare(endpoint);
}

TEST(revoker_deleted, 1, 0, "preempt: a thread that is deleted while it revokes leaves what another finishes")
{
	for (unsigned core = 0; core < cores(); core += last_core() ? last_core() : 1) {
		for (unsigned turn = 0; turn < 3; turn++) {
			uint64_t memory = object(OBJECT_UNTYPED, 20), node = slot(),
			         endpoint = object(OBJECT_ENDPOINT, 0);
			check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 12, NODE, node, 1));
			for (unsigned i = 1; i < 4096; i++)
				check_ok(cnode_copy(IPC, node, i, NODE, endpoint, RIGHT_ALL));
			struct worker *w = worker_start(revoker, 50, core, turn == 1 ? endpoint : memory, 0);
			until(w->count);
			pause_main();
			check_ok(cnode_delete(NODE, w->tcb)); /* it is somewhere in there, or done */
			check_ok(cnode_revoke(NODE, memory));
			check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 20, NODE, slot(), 1));
			check_ok(cnode_revoke(NODE, endpoint));
			check_bare(endpoint);
			workers_drop();
		}
	}
}

TEST(revoker_suspended, 1, 0, "preempt: a thread that is suspended while it revokes goes on when it is resumed")
{
	for (unsigned core = 0; core < cores(); core += last_core() ? last_core() : 1) {
		uint64_t endpoint = tree(MANY);
		struct worker *w = worker_start(revoker, 50, core, endpoint, 0);
		for (unsigned i = 0; i < 200 && !w->done; i++) {
			check_ok(tcb_suspend(w->tcb));
			check_ok(tcb_resume(w->tcb));
			pause_main();
		}
		until(w->done);
		check_eq(w->out[0], 0);
		check_bare(endpoint);
		workers_drop();
	}
}

static void revoke_all(struct worker *self)
{
	self->count++;
	cnode_revoke(NODE, self->arg[0]);
	self->out[0] = 1; /* it does not come to this */
}

TEST(own_thread, 1, 0, "preempt: a thread that revokes the memory it is made of ends, and all of it is free")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t memory = object(OBJECT_UNTYPED, 20), tcb = slot(), node = slot(),
		         endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *stand_in = worker_make(revoke_all, 50, core);
		struct thread_registers r;
		check_ok(tcb_read_registers(IPC, stand_in->tcb, &r));
		stand_in->arg[0] = memory;
		check_ok(untyped_retype(IPC, memory, OBJECT_TCB, 0, NODE, tcb, 1));
		check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 11, NODE, node, 1));
		for (unsigned i = 1; i < 2048; i++)
			check_ok(cnode_copy(IPC, node, i, NODE, endpoint, RIGHT_ALL));
		check_ok(tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, 0, 0, 0));
		check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 50, core));
		check_ok(tcb_write_registers(IPC, tcb, 1, &r));
		until(is_empty(tcb));
		check_ok(cnode_revoke(NODE, memory));
		check_eq(stand_in->out[0], 0);
		check_eq(stand_in->count, 1);
		check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 20, NODE, slot(), 1));
		check_bare(endpoint);
	}
}

/* Its CSpace is a CNode of its own that holds, in slot 1, itself: REVOKE there takes all capabilities to it. */
static void revoke_itself(struct worker *self)
{
	struct message m = { .word = { 1 } };
	self->out[0] = (uint64_t)-(int64_t)invoke(1, CNODE_DELETE, 0, 1, &m);
	m.word[0] = 1;
	self->out[1] = (uint64_t)-(int64_t)invoke(1, CNODE_DELETE, 0, 1, &m);
	self->count++;
	for (;;)
		pause_turn();
}

TEST(own_cspace, 1, 0, "preempt: a thread that deletes the last capabilities to its own CSpace has none after that")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t node = object(OBJECT_CNODE, 12), endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *w = worker_make(revoke_itself, 50, core);
		for (unsigned i = 2; i < 4096; i++)
			check_ok(cnode_copy(IPC, node, i, NODE, endpoint, RIGHT_ALL));
		check_ok(tcb_configure(IPC, w->tcb, node, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
		check_ok(cnode_move(IPC, node, 1, NODE, node));
		check_ok(tcb_resume(w->tcb));
		until(w->count);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], SKERRY_BAD_CAP);
		check_ok(cnode_revoke(NODE, endpoint));
		check_bare(endpoint);
		workers_drop();
	}
}

static void zeroer(struct worker *self)
{
	self->count++;
	self->out[0] = (uint64_t)-(int64_t)untyped_retype(self->ipc, self->arg[0], OBJECT_FRAME_2M, 0, NODE,
	                                                  self->arg[1], self->arg[2]);
	self->out[1] = 1;
}

static void make_room(struct worker *w)
{
	w->arg[0] = test_memory();
	w->arg[1] = slots(12);
	w->arg[2] = 12; /* 24 MiB */
}

TEST(zeroing, 1, NEEDS_PROCESSOR, "preempt: a higher priority's deadlines are met while large frames are zeroed")
{
	check_preempted(last_core(), zeroer, make_room);
}

TEST(zeroing_stopped, 1, 0, "preempt: a retype that is stopped half-way is finished by whoever makes the next")
{
	uint64_t memory = object(OBJECT_UNTYPED, 23), first = slots(8), sum = 0;
	for (unsigned turn = 0; turn < 3; turn++) {
		struct worker *w = worker_make(zeroer, 50, last_core());
		w->arg[0] = memory, w->arg[1] = first, w->arg[2] = 4;
		check_ok(tcb_resume(w->tcb));
		until(w->count);
		check_ok(cnode_delete(NODE, w->tcb));
		check_ok(cnode_revoke(NODE, memory));
		check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_2M, 0, NODE, first + 4, 4));
		for (unsigned i = 0; i < 4; i++) {
			check_ok(frame_map(IPC, first + 4 + i, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ | RIGHT_WRITE,
			                   0));
			for (uint64_t *word = place(LARGE_WINDOW), *end = word + (2 << 20) / 8; word < end;
			     word += 64) {
				sum |= *word;
				*word = ~0ull;
			}
			check_ok(frame_unmap(first + 4 + i));
		}
		check_eq(sum, 0);
		check_ok(cnode_revoke(NODE, memory));
		workers_drop();
	}
}

static void waiter(struct worker *self)
{
	self->out[0] = (uint64_t)-(int64_t)notification_wait(self->arg[0], 0, 0);
}

TEST(waiters, 1, 0, "preempt: the end of a notification with many waiters wakes each of them once")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w[20];
	for (unsigned i = 0; i < 20; i++)
		w[i] = worker_start(waiter, 50 + i, i % cores(), notification, 0);
	for (unsigned i = 0; i < 20; i++)
		until(waits(w[i]));
	check_ok(cnode_delete(NODE, notification));
	for (unsigned i = 0; i < 20; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], SKERRY_DELETED);
	}
}

/* Everybody makes and revokes in the same memory, and takes what errors come. */
static void fight(struct worker *self)
{
	uint64_t seed = self->arg[1];
	static const enum skerry_object kind[] = { OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_FRAME_4K, OBJECT_VSPACE,
	                                           OBJECT_PAGE_TABLE };
	for (unsigned i = 0; i < 150; i++) {
		uint64_t at = self->arg[2] + random_next(&seed) % 16;
		switch (random_next(&seed) % 4) {
		case 0: cnode_revoke(NODE, self->arg[0]); break;
		case 1: cnode_copy(self->ipc, NODE, at, NODE, self->arg[2] + random_next(&seed) % 16, RIGHT_ALL); break;
		case 2: cnode_delete(NODE, at); break;
		default: untyped_retype(self->ipc, self->arg[0], kind[random_next(&seed) % 5], 0, NODE, at,
		                        1 + random_next(&seed) % 3);
		}
		self->count++;
	}
}

TEST(same_memory, 1, 0, "preempt: all cores retype and revoke the same memory, and it is whole afterwards")
{
	uint64_t memory = object(OBJECT_UNTYPED, 17), first = slots(20), vspaces = slots(300);
	struct worker *w[8];
	for (unsigned i = 0; i < 8; i++) {
		w[i] = worker_make(fight, 50, i % cores());
		w[i]->arg[0] = memory, w[i]->arg[1] = 0xabcdef + i * 77, w[i]->arg[2] = first;
		check_ok(tcb_resume(w[i]->tcb));
	}
	for (unsigned i = 0; i < 8; i++)
		until(w[i]->done);
	check_ok(cnode_revoke(NODE, memory));
	for (unsigned i = 0; i < 20; i++)
		check(is_empty(first + i));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, vspaces, 32));
	check_error(untyped_retype(IPC, memory, OBJECT_ENDPOINT, 0, NODE, vspaces + 32, 1), NO_MEMORY);
}
