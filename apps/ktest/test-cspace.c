/* SPDX-License-Identifier: BSD-2-Clause */
/* Capability pointers: guards, and CSpaces of several levels. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

/* The n lowest bits. */
static uint64_t low(uint64_t value, unsigned n) { return n < 64 ? value & ((1ull << n) - 1) : value; }

/* A new CNode of 1 << bits slots, and a copy of its capability with a guard, in `to` of `node`. */
static uint64_t guarded(uint64_t node, uint64_t to, unsigned bits, uint64_t guard, unsigned guard_bits)
{
	uint64_t inner = object(OBJECT_CNODE, bits);
	check_ok(cnode_mint_guard(IPC, node, to, NODE, inner, RIGHT_ALL, guard, guard_bits));
	return inner;
}

/* Signals arg[0] each time that out[1] is ahead of count. */
static void signaller(struct worker *self)
{
	for (;;) {
		while (self->count == self->out[1])
			pause_turn();
		self->out[0] = (uint64_t)-(int64_t)notification_signal(self->arg[0]);
		self->count++;
	}
}

/* A thread with this CSpace; it is suspended by the test's end. */
static struct worker *in_space(uint64_t root)
{
	struct worker *w = worker_make(signaller, 50, 0);
	check_ok(tcb_configure(IPC, w->tcb, root, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0));
	check_ok(tcb_resume(w->tcb));
	return w;
}

static int signal_as(struct worker *w, uint64_t cptr)
{
	w->arg[0] = cptr;
	w->out[1]++;
	until(w->count == w->out[1]);
	return -(int)w->out[0];
}

/* The pointer reaches the notification: exactly it, and no other neighbour by one flipped bit. */
static void check_only(struct worker *w, uint64_t cptr, uint64_t notification)
{
	uint64_t word;
	check_ok(signal_as(w, cptr));
	check_ok(notification_poll(notification, &word));
	check(word);
	for (unsigned bit = 0; bit < 64; bit++)
		check_error(signal_as(w, cptr ^ 1ull << bit), BAD_CAP);
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0);
}

TEST(root_guard, 1, 0, "cspace: a root's guard counts with all its bits")
{
	uint64_t root = slot(), notification = object(OBJECT_NOTIFICATION, 0), guard = 0xa5c3f0e1d2b4a6;
	uint64_t node = guarded(NODE, root, 8, guard, 56);
	check_ok(cnode_copy(IPC, node, 0x42, NODE, notification, RIGHT_ALL));
	check_only(in_space(root), guard << 8 | 0x42, notification);
}

TEST(guard_widths, 1, 0, "cspace: two levels find the slot with guards of every width")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), pattern = 0x9e3779b97f4a7c15;
	for (unsigned outer = 0; outer <= 53; outer += outer % 8 == 0 ? 1 : 7) { /* 64 = outer + 5 + inner + 6 */
		unsigned inner = 53 - outer;
		uint64_t root = slot(), node = guarded(NODE, root, 5, low(pattern, outer), outer);
		uint64_t leaf = guarded(node, 19, 6, low(~pattern, inner), inner);
		check_ok(cnode_copy(IPC, leaf, 33, NODE, notification, RIGHT_ALL));
		uint64_t cptr = (low(pattern, outer) << 5 | 19) << inner << 6 | low(~pattern, inner) << 6 | 33, word;
		struct worker *w = in_space(root);
		check_ok(signal_as(w, cptr));
		check_error(signal_as(w, cptr ^ 1), BAD_CAP);
		check_error(signal_as(w, cptr ^ 1ull << 63), BAD_CAP);
		check_ok(notification_poll(notification, &word));
		check_eq(word, 1);
		check_ok(tcb_suspend(w->tcb));
	}
}

TEST(two_levels, 1, 0, "cspace: two levels with guards find one slot and no other")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), root = slot();
	uint64_t node = guarded(NODE, root, 7, 0x2aa, 10);
	uint64_t leaf = guarded(node, 100, 8, 0x123456789, 39);
	check_ok(cnode_copy(IPC, leaf, 200, NODE, notification, RIGHT_ALL));
	check_only(in_space(root), 0x2aaull << 54 | 100ull << 47 | 0x123456789ull << 8 | 200, notification);
}

TEST(three_levels, 1, 0, "cspace: three levels, the middle one without a guard")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), root = slot();
	uint64_t node = guarded(NODE, root, 4, 0x1ff, 13);
	uint64_t middle = guarded(node, 9, 12, 0, 0);
	uint64_t leaf = guarded(middle, 0xabc, 3, 0x55555555, 32); /* 13 + 4 + 12 + 32 + 3 = 64 */
	check_ok(cnode_copy(IPC, leaf, 5, NODE, notification, RIGHT_ALL));
	check_only(in_space(root), 0x1ffull << 51 | 9ull << 47 | 0xabcull << 35 | 0x55555555ull << 3 | 5, notification);
}

TEST(sixteen_levels, 1, 0, "cspace: a CNode that holds itself is as many levels as a pointer has room for")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), root = slot(), node = guarded(NODE, root, 4, 0, 0);
	check_ok(cnode_copy(IPC, node, 1, NODE, root, RIGHT_ALL));
	check_ok(cnode_copy(IPC, node, 2, NODE, notification, RIGHT_ALL));
	struct worker *w = in_space(root);
	uint64_t word;
	check_ok(signal_as(w, 0x1111111111111112));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 1);
	check_error(signal_as(w, 0x1111111111111111), BAD_CAP); /* the CNode itself */
	check_error(signal_as(w, 0x1111111111111121), BAD_CAP); /* a notification has no levels */
	check_error(signal_as(w, 0x2111111111111112), BAD_CAP);
	check_error(signal_as(w, 0x1111111011111112), BAD_CAP);
}

TEST(left_over, 1, 0, "cspace: BAD_CAP for a pointer with bits left over")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), root = slot();
	for (unsigned left = 1; left <= 48; left += 47) {
		uint64_t node = guarded(NODE, root, 8, 0, 56 - left);
		check_ok(cnode_copy(IPC, node, 3, NODE, notification, RIGHT_ALL));
		struct worker *w = in_space(root);
		check_error(signal_as(w, 3ull << left), BAD_CAP);
		check_error(signal_as(w, 3), BAD_CAP);
		check_ok(tcb_suspend(w->tcb));
		check_ok(cnode_delete(NODE, root));
	}
}

TEST(too_few, 1, 0, "cspace: BAD_CAP where fewer bits are left than the next CNode takes")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	static const struct { unsigned bits, guard_bits; } next[] = { { 8, 0 }, { 1, 6 }, { 5, 58 }, { 6, 58 } };
	for (unsigned i = 0; i < 4; i++) { /* 6 bits are left */
		uint64_t root = slot(), node = guarded(NODE, root, 8, 0, 50);
		uint64_t leaf = guarded(node, 1, next[i].bits, 0, next[i].guard_bits);
		check_ok(cnode_copy(IPC, leaf, 1, NODE, notification, RIGHT_ALL));
		struct worker *w = in_space(root);
		check_error(signal_as(w, 1ull << 6 | 1), BAD_CAP);
		check_error(signal_as(w, 1ull << 6), BAD_CAP);
		check_ok(tcb_suspend(w->tcb));
	}
}

/* Two bits are left where a CNode of 16 slots, full of capabilities to itself, is found. */
TEST(bits_end, 1, 0, "cspace: BAD_CAP where the bits end in a CNode, whatever its slots hold")
{
	uint64_t root = slot(), node = guarded(NODE, root, 4, low(~0ull, 58), 58), bare = slot();
	check_ok(cnode_mint_guard(IPC, NODE, bare, NODE, node, RIGHT_ALL, 0, 0));
	for (unsigned i = 1; i < 16; i++)
		check_ok(cnode_copy(IPC, node, i, NODE, bare, RIGHT_ALL));
	check_error(signal_as(in_space(root), ~0ull), BAD_CAP);
}

/* Untyped memory has a size, too. */
TEST(only_cnodes, 1, 0, "cspace: BAD_CAP for a pointer that leads through what is no CNode")
{
	enum { BITS = 20 };
	uint64_t root = slot(), node = guarded(NODE, root, 4, 0, 0), memory = object(OBJECT_UNTYPED, BITS);
	check_ok(cnode_move(IPC, node, 1, NODE, memory));
	struct worker *w = in_space(root);
	uint64_t cptr = 1ull << 60 | 5ull << (60 - BITS);
	check_error(signal_as(w, cptr), BAD_CAP);
	check_error(signal_as(w, cptr | 1), BAD_CAP);
}

static void undefined(struct worker *self) { program_undefined(); }

TEST(fault_handler, 1, 0, "cspace: a fault handler is found through levels and guards")
{
	struct trial t = trial_make(undefined, 50, last_core());
	uint64_t root = slot(), node = guarded(NODE, root, 4, 0x77, 7), leaf = guarded(node, 7, 8, 0x5a, 45);
	check_ok(cnode_mint(IPC, leaf, 99, NODE, t.endpoint, RIGHT_WRITE, TRIAL_BADGE));
	uint64_t cptr = 0x77ull << 57 | 7ull << 53 | 0x5aull << 8 | 99;
	check_ok(tcb_configure(IPC, t.worker->tcb, root, ROOT_SLOT_VSPACE, 0, 0, cptr));
	check_ok(tcb_resume(t.worker->tcb));
	check_eq(message_label(trial_fault(&t).info), FAULT_EXCEPTION);
}

static void call_down(struct worker *self)
{
	for (unsigned i = 0; i < 100; i++) {
		struct message m = { .info = message_info(0, 0, 1), .word = { i } };
		check_ok(ipc_call(self->arg[0], &m));
		check_eq(m.word[0], i + 1000);
		self->count++;
	}
	self->out[0] = 1;
	for (;;)
		pause_turn();
}

static void answer_down(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		m.word[0] += 1000;
		m.info = message_info(0, 0, 1);
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

static void converse(unsigned priority)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	uint64_t root = slot(), node = guarded(NODE, root, 4, 0, 0), leaf = guarded(node, 7, 8, 0, 52);
	check_ok(cnode_copy(IPC, leaf, 1, NODE, endpoint, RIGHT_ALL));
	check_ok(cnode_copy(IPC, leaf, 2, NODE, reply, RIGHT_ALL));
	struct worker *server = worker_make(answer_down, priority, 0), *client = worker_make(call_down, 50, 0);
	server->arg[0] = client->arg[0] = 7ull << 60 | 1;
	server->arg[1] = 7ull << 60 | 2;
	check_ok(tcb_configure(IPC, server->tcb, root, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_configure(IPC, client->tcb, root, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_resume(server->tcb));
	check_ok(tcb_resume(client->tcb));
	until(client->out[0]);
	check_eq(client->count, 100);
}

TEST(calls, 1, 0, "cspace: calls through two levels, to a higher priority") { converse(60); }
TEST(calls_lower, 1, 0, "cspace: calls through two levels, to a lower priority") { converse(40); }

TEST(guard_errors, 1, 0, "cspace: BAD_ARGUMENT for guards that are too wide or do not fit their bits")
{
	uint64_t node = object(OBJECT_CNODE, 8), to = slot();
	static const struct { uint64_t guard, bits; } bad[] = {
		{ 0, 57 }, { 0, 64 }, { 0, 65 }, { 0, ~0u }, { 1, 0 }, { 2, 1 }, { 0x100, 8 }, { 1ull << 56, 56 },
		{ ~0ull, 56 },
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_error(cnode_mint_guard(IPC, NODE, to, NODE, node, RIGHT_ALL, bad[i].guard, (unsigned)bad[i].bits),
		            BAD_ARGUMENT);
	struct message m = { .word = { to, node, RIGHT_ALL, 0 } };
	IPC->caps[0] = NODE;
	IPC->words[4] = 1ull << 32; /* more than an unsigned's bits */
	check_error(invoke(NODE, CNODE_MINT, 1, 5, &m), BAD_ARGUMENT);
	check(is_empty(to));
	check_ok(cnode_mint_guard(IPC, NODE, to, NODE, node, RIGHT_ALL, (1ull << 56) - 1, 56));
	check_ok(cnode_mint_guard(IPC, NODE, slot(), NODE, node, RIGHT_ALL, 0, 0));
}

TEST(guard_short, 1, 0, "cspace: TRUNCATED for a guard without its bits")
{
	uint64_t node = object(OBJECT_CNODE, 8), to = slot();
	check_error(cnode_mint(IPC, NODE, to, NODE, node, RIGHT_ALL, 0), TRUNCATED);
	check_error(cnode_mutate(IPC, NODE, to, NODE, node, RIGHT_ALL, 0), TRUNCATED);
	check(is_empty(to));
	check(!is_empty(node));
}

TEST(guard_kept, 1, 0, "cspace: COPY and MOVE keep the guard, MINT sets it anew")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), root = slot(), copy = slot(), again = slot();
	uint64_t node = guarded(NODE, root, 8, 0x1234, 56);
	check_ok(cnode_copy(IPC, node, 3, NODE, notification, RIGHT_ALL));
	check_ok(cnode_copy(IPC, NODE, copy, NODE, root, RIGHT_ALL));
	struct worker *w = in_space(copy);
	check_ok(signal_as(w, 0x123403));
	check_error(signal_as(w, 3), BAD_CAP);
	check_ok(tcb_suspend(w->tcb));
	check_ok(cnode_move(IPC, NODE, again, NODE, root));
	w = in_space(again);
	check_ok(signal_as(w, 0x123403));
	check_ok(tcb_suspend(w->tcb));
	check_ok(cnode_mint_guard(IPC, NODE, root, NODE, again, RIGHT_ALL, 0, 56));
	w = in_space(root);
	check_ok(signal_as(w, 3));
	check_error(signal_as(w, 0x123403), BAD_CAP);
}

TEST(guard_mutated, 1, 0, "cspace: MUTATE changes the guard of the capability itself, and of no copy")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), node = object(OBJECT_CNODE, 8),
	         copy = copy_of(node, RIGHT_ALL);
	uint64_t to = slot();
	check_ok(cnode_copy(IPC, node, 3, NODE, notification, RIGHT_ALL));
	struct message m = { .word = { to, node, RIGHT_READ, 0xbeef } };
	IPC->caps[0] = NODE;
	IPC->words[4] = 56;
	check_error(invoke(NODE, CNODE_MUTATE, 1, 5, &m), BUSY); /* its copy would have more rights */
	m = (struct message){ .word = { to, node, RIGHT_ALL, 0xbeef } };
	check_ok(invoke(NODE, CNODE_MUTATE, 1, 5, &m));
	check(is_empty(node));
	struct worker *w = in_space(to);
	check_ok(signal_as(w, 0xbeef03));
	check_error(signal_as(w, 3), BAD_CAP);
	check_ok(tcb_suspend(w->tcb));
	w = in_space(copy);
	check_ok(signal_as(w, 3));
	check_error(signal_as(w, 0xbeef03), BAD_CAP);
	check_ok(cnode_revoke(NODE, to)); /* the copy is still its child */
	check(is_empty(copy));
}
