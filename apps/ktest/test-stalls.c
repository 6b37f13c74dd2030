/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that make system calls without pause while another core stops them, reads and writes their registers and lets
 * them go on; that go with their CSpaces and address spaces while another core runs them; that move themselves.
 */
#include "ktest.h"

enum { ROUNDS = 300, MOVES = 300, LIVES = 30, NODE_BITS = 4, IN_NODE = 3 };
#define NODE   ROOT_SLOT_CNODE
#define VSPACE ROOT_SLOT_VSPACE

static _Atomic bool stop;

/* arg: endpoint, frame, address. Sends its numbers, and maps and unmaps a page, which fails if one call is lost or made
 * twice. */
static void busy(struct worker *self)
{
	for (uint64_t n = 0; !stop; n++) {
		struct message m = { .info = message_info(0, 0, 1), .word = { n } };
		check_ok(ipc_send(self->arg[0], &m));
		check_ok(frame_map(self->ipc, self->arg[1], VSPACE, self->arg[2], RIGHT_READ, 0));
		thread_yield();
		check_ok(frame_unmap(self->arg[1]));
		self->count = n + 1;
	}
}

static void taker(struct worker *self)
{
	for (uint64_t n = 0;; n++) {
		struct message m = { 0 };
		check_ok(ipc_receive(self->arg[0], 0, &m));
		check_eq(m.word[0], n);
		self->count = n + 1;
	}
}

static void stalled_on(unsigned core, unsigned takers_core)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct thread_registers registers;
	struct worker *receives = worker_start(taker, 60, takers_core, endpoint, 0), *w = worker_make(busy, 50, core);
	w->arg[0] = endpoint;
	w->arg[1] = object(OBJECT_FRAME_4K, 0);
	w->arg[2] = WINDOW + 200 * 4096ull;
	stop = false;
	check_ok(tcb_resume(w->tcb));
	for (unsigned i = 0; i < ROUNDS; i++) {
		check_ok(tcb_suspend(w->tcb));
		check_ok(tcb_read_registers(IPC, w->tcb, &registers));
		check_ok(tcb_write_registers(IPC, w->tcb, i % 2, &registers));
		check_ok(tcb_resume(w->tcb));
		if (i % 16 == 0) {
			uint64_t before = w->count;
			until(w->count > before);
		}
	}
	stop = true;
	until(w->done);
	until(receives->count == w->count);
}

TEST(stalled, 1, 0, "stalls: no call of a thread is lost or made twice while it is stopped and let go on")
{
	stalled_on(last_core(), 0);
}
TEST(stalled_apart, 3, 0, "stalls: the same with all three on cores of their own") { stalled_on(1, 2); }

static uint64_t node_of(uint64_t inner)
{
	uint64_t node = slot();
	check_ok(cnode_mint_guard(IPC, NODE, node, NODE, inner, RIGHT_ALL, 0, 64 - NODE_BITS));
	return node;
}

/* A life: the thread calls, or counts; then all it has goes, in that order, revoked from above. */
static void live_and_die(unsigned life, uint64_t endpoint)
{
	static const uint8_t order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
	                                     { 2, 1, 0 } };
	const bool calls = life % 2;
	uint64_t inner = object(OBJECT_CNODE, NODE_BITS);
	struct space s = space_make(calls ? foreign_call : foreign_count, 50, life % cores(), IN_NODE, 0);
	check_ok(cnode_copy(IPC, inner, IN_NODE, NODE, endpoint, RIGHT_ALL));
	check_ok(tcb_configure(IPC, s.tcb, node_of(inner), s.vspace, 0, 0, 0));
	s.data[0] = 0;
	check_ok(tcb_resume(s.tcb));
	until(s.data[0] > life % 5 * 20);
	const uint64_t slots[] = { s.tcb, inner, s.vspace };
	for (unsigned i = 0; i < 3; i++) {
		check_ok(cnode_revoke(NODE, slots[order[life % 6][i]]));
		check_ok(cnode_delete(NODE, slots[order[life % 6][i]]));
	}
	uint64_t last = s.data[0];
	spin_ms(1);
	check_eq(s.data[0], last);
}

static void answers(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		m.word[0]++;
		m.info = message_info(0, 0, 1);
		int error = ipc_reply_receive(self->arg[0], self->arg[1], &m);
		if (error == -SKERRY_NO_REPLY) /* the caller has gone */
			error = ipc_receive(self->arg[0], self->arg[1], &m);
		check_ok(error);
	}
}

TEST(deaths, 1, NEEDS_PROCESSOR, "stalls: a thread, its CSpace and its address space go in every order while it runs")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	worker_start(answers, 60, last_core(), endpoint, object(OBJECT_REPLY, 0));
	for (unsigned life = 0; life < LIVES; life++)
		live_and_die(life, endpoint);
}

/* arg[0]: nobody else moves it, so that it is where it went. */
static void nomad(struct worker *self)
{
	static _Atomic uint64_t id[BOOT_MAX_CPUS]; /* of each core, as the first that comes there finds it */
	for (uint64_t i = 0; i < MOVES; i++) {
		const unsigned core = (unsigned)((i + self->index) % cores());
		check_ok(tcb_schedule(self->ipc, self->tcb, ROOT_SLOT_TCB, (unsigned)(50 + i % 2), core));
		uint64_t known = 0, here = program_core() + 1;
		if (self->arg[0] && !atomic_compare_exchange_strong(&id[core], &known, here))
			check_eq(known, here);
		self->count = i + 1;
	}
}

TEST(nomads, 1, 0, "stalls: threads move themselves from core to core")
{
	struct worker *w[3];
	for (unsigned i = 0; i < 3; i++)
		w[i] = worker_start(nomad, 50, i % cores(), true, 0);
	for (unsigned i = 0; i < 3; i++)
		until(w[i]->done);
	for (unsigned i = 0; i < 3; i++)
		check_eq(w[i]->count, MOVES);
}

TEST(nomad_moved, 2, 0, "stalls: a thread that moves itself is moved by another")
{
	struct worker *w = worker_start(nomad, 50, last_core(), false, 0);
	for (unsigned i = 0; !w->done && i < MOVES; i++) {
		check_ok(tcb_schedule(IPC, w->tcb, ROOT_SLOT_TCB, 50, i % cores()));
		if (i % 8 == 0)
			pause_main();
	}
	until(w->done);
	check_eq(w->count, MOVES);
}
