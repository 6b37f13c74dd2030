/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

static int raw(uint64_t node, enum skerry_invocation label, unsigned caps, unsigned words, uint64_t to, uint64_t source,
               uint64_t from)
{
	struct message m = { .word = { to, from, RIGHT_ALL, 7 } };
	IPC->caps[0] = source;
	return invoke(node, label, caps, words, &m);
}

TEST(copy_same, 1, 0, "cnode: a copy names the same object")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), copy = copy_of(notification, RIGHT_ALL), word;
	check_ok(notification_signal(copy));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 1);
}

TEST(copy_badge, 1, 0, "cnode: a copy keeps the badge")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(copy_of(badged(notification, 0x30, RIGHT_ALL), RIGHT_ALL)));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0x30);
}

TEST(mint_badge, 1, 0, "cnode: mint sets all 64 bits of a badge")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(badged(notification, 0x8000000000000001, RIGHT_ALL)));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0x8000000000000001);
}

TEST(mint_twice, 1, 0, "cnode: BAD_ARGUMENT for a new badge on a badged capability")
{
	static const enum skerry_object type[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION };
	for (unsigned i = 0; i < 2; i++) {
		uint64_t cap = badged(object(type[i], 0), 5, RIGHT_ALL);
		check_error(cnode_mint(IPC, NODE, slot(), NODE, cap, RIGHT_ALL, 6), BAD_ARGUMENT);
	}
}

TEST(mint_others, 1, 0, "cnode: BAD_ARGUMENT for a badge on what has none")
{
	static const enum skerry_object type[] = { OBJECT_TCB, OBJECT_REPLY, OBJECT_VSPACE };
	for (unsigned i = 0; i < 3; i++)
		check_error(cnode_mint(IPC, NODE, slot(), NODE, object(type[i], 0), RIGHT_ALL, 6), BAD_ARGUMENT);
}

TEST(one_owner, 1, 0, "cnode: BAD_ARGUMENT for a copy of what has one owner")
{
	static const struct { enum skerry_object type; unsigned bits; } owned[] = { { OBJECT_UNTYPED, 12 },
		{ OBJECT_PAGE_TABLE, 0 } };
	for (unsigned i = 0; i < 2; i++) {
		uint64_t cap = object(owned[i].type, owned[i].bits), to = slot();
		check_error(cnode_copy(IPC, NODE, to, NODE, cap, RIGHT_ALL), BAD_ARGUMENT);
		check_error(cnode_mint(IPC, NODE, to, NODE, cap, RIGHT_ALL, 1), BAD_ARGUMENT);
		check_ok(cnode_move(IPC, NODE, to, NODE, cap));
	}
}

TEST(rights_and, 1, 0, "cnode: rights only diminish")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	uint64_t reader = copy_of(notification, RIGHT_READ), again = copy_of(reader, RIGHT_ALL);
	check_error(notification_signal(reader), NO_RIGHTS);
	check_error(notification_signal(again), NO_RIGHTS);
	check_ok(notification_poll(again, &word));
	uint64_t nothing = copy_of(reader, RIGHT_WRITE);
	check_error(notification_signal(nothing), NO_RIGHTS);
	check_error(notification_poll(nothing, &word), NO_RIGHTS);
	uint64_t minted = badged(copy_of(notification, RIGHT_WRITE), 3, RIGHT_ALL);
	check_ok(notification_signal(minted));
	check_error(notification_poll(minted, &word), NO_RIGHTS);
}

TEST(move, 1, 0, "cnode: move empties the source and keeps badge and rights")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), from = badged(notification, 9, RIGHT_WRITE),
	         to = slot(), word;
	check_ok(cnode_move(IPC, NODE, to, NODE, from));
	check(is_empty(from));
	check_ok(notification_signal(to));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 9);
	check_error(notification_poll(to, &word), NO_RIGHTS);
}

TEST(move_back, 1, 0, "cnode: moves between CNodes")
{
	uint64_t node = object(OBJECT_CNODE, 3), endpoint = object(OBJECT_ENDPOINT, 0), home = slot();
	check_ok(cnode_move(IPC, node, 7, NODE, endpoint));
	check_error(cnode_copy(IPC, node, 7, NODE, ROOT_SLOT_TCB, RIGHT_ALL), SLOT_FULL);
	check_ok(cnode_move(IPC, NODE, home, node, 7));
	check(!is_empty(home));
	check_error(cnode_move(IPC, NODE, slot(), node, 7), EMPTY_SLOT);
}

TEST(delete, 1, 0, "cnode: delete empties a slot, and an empty slot stays so")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	check_ok(cnode_delete(NODE, endpoint));
	check(is_empty(endpoint));
	check_ok(cnode_delete(NODE, endpoint));
	check_ok(cnode_revoke(NODE, endpoint));
	struct message m = { 0 };
	check_error(ipc_nb_send(endpoint, &m), BAD_CAP);
}

TEST(empty_source, 1, 0, "cnode: EMPTY_SLOT for an empty source, or one outside the CNode")
{
	uint64_t node = object(OBJECT_CNODE, 2);
	static const uint64_t from[] = { 0, 1, 3, 4, 1ull << 58, ~0ull };
	for (unsigned i = 0; i < 6; i++) {
		check_error(cnode_copy(IPC, NODE, slot(), node, from[i], RIGHT_ALL), EMPTY_SLOT);
		check_error(cnode_mint(IPC, NODE, slot(), node, from[i], RIGHT_ALL, 1), EMPTY_SLOT);
		check_error(cnode_move(IPC, NODE, slot(), node, from[i]), EMPTY_SLOT);
	}
}

TEST(full_destination, 1, 0, "cnode: SLOT_FULL for a full destination")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = object(OBJECT_ENDPOINT, 0);
	check_error(cnode_copy(IPC, NODE, a, NODE, b, RIGHT_ALL), SLOT_FULL);
	check_error(cnode_mint(IPC, NODE, a, NODE, b, RIGHT_ALL, 1), SLOT_FULL);
	check_error(cnode_move(IPC, NODE, a, NODE, b), SLOT_FULL);
	check_error(cnode_move(IPC, NODE, a, NODE, a), SLOT_FULL);
	check(!is_empty(a) && !is_empty(b));
}

TEST(bad_destination, 1, 0, "cnode: BAD_ARGUMENT for a destination outside the CNode, and for slot 0")
{
	uint64_t node = object(OBJECT_CNODE, 2), endpoint = object(OBJECT_ENDPOINT, 0);
	static const uint64_t to[] = { 0, 4, 5, 1ull << 58, ~0ull };
	for (unsigned i = 0; i < 5; i++) {
		check_error(cnode_copy(IPC, node, to[i], NODE, endpoint, RIGHT_ALL), BAD_ARGUMENT);
		check_error(cnode_mint(IPC, node, to[i], NODE, endpoint, RIGHT_ALL, 1), BAD_ARGUMENT);
		check_error(cnode_move(IPC, node, to[i], NODE, endpoint), BAD_ARGUMENT);
		check_error(cnode_delete(node, to[i]), BAD_ARGUMENT);
		check_error(cnode_revoke(node, to[i]), BAD_ARGUMENT);
	}
}

TEST(bad_source, 1, 0, "cnode: BAD_CAP without a source CNode")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), to = slot();
	for (enum skerry_invocation label = CNODE_COPY; label <= CNODE_MOVE; label++) {
		check_error(raw(NODE, label, 1, 4, to, endpoint, endpoint), BAD_CAP);
		check_error(raw(NODE, label, 1, 4, to, 0, endpoint), BAD_CAP);
		check_error(raw(NODE, label, 0, 4, to, NODE, endpoint), BAD_CAP);
	}
	check(is_empty(to));
}

TEST(short_message, 1, 0, "cnode: TRUNCATED for a message that is too short")
{
	static const unsigned need[] = { 3, 4, 2, 1, 1 };
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned words = 0; words < need[i]; words++)
			check_error(raw(NODE, (enum skerry_invocation)(CNODE_COPY + i), 1, words, slot(), NODE,
			                endpoint), TRUNCATED);
	check(!is_empty(endpoint));
}

TEST(label, 1, 0, "cnode: BAD_LABEL for other invocations")
{
	check_error(raw(NODE, (enum skerry_invocation)(CNODE_LOCALITY_OF + 1), 1, 4, slot(), NODE, NODE), BAD_LABEL);
	check_error(raw(NODE, UNTYPED_RETYPE, 1, 4, slot(), NODE, NODE), BAD_LABEL);
	check_error(raw(NODE, TCB_SUSPEND, 1, 4, slot(), NODE, NODE), BAD_LABEL);
}

TEST(pointer, 1, 0, "cnode: a capability pointer counts with all its bits")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(notification_signal(notification));
	for (unsigned bit = ROOT_CNODE_BITS; bit < 64; bit++)
		check_error(notification_signal(notification | 1ull << bit), BAD_CAP);
	check_error(notification_signal(0), BAD_CAP);
	check_error(notification_signal(~0ull), BAD_CAP);
}

static void signal_arg(struct worker *self)
{
	self->out[0] = (uint64_t)(int64_t)notification_signal(self->arg[0]);
	self->out[1] = (uint64_t)(int64_t)notification_signal(self->arg[1]);
}

TEST(own_space, 1, 0, "cnode: a thread sees its own CSpace and no other")
{
	uint64_t node = object(OBJECT_CNODE, 3), notification = object(OBJECT_NOTIFICATION, 0), word;
	struct worker *worker = worker_make(signal_arg, 50, 0);
	check_ok(cnode_mint(IPC, node, 5, NODE, notification, RIGHT_ALL, 0x40));
	check_ok(tcb_configure(IPC, worker->tcb, node, ROOT_SLOT_VSPACE, worker->frame, (uint64_t)worker->ipc, 0));
	worker->arg[0] = 5;
	worker->arg[1] = notification;
	check_ok(tcb_resume(worker->tcb));
	until(worker->out[1]);
	check_ok(tcb_suspend(worker->tcb)); /* its endpoint to rest on is not in that CSpace */
	check_eq(worker->out[0], 0);
	check_eq(worker->out[1], -SKERRY_BAD_CAP);
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0x40);
}

TEST(content, 1, 0, "cnode: the end of a CNode is the end of what it holds")
{
	uint64_t node = object(OBJECT_CNODE, 4), endpoint = object(OBJECT_ENDPOINT, 0), copy = slot();
	check_ok(cnode_move(IPC, node, 3, NODE, endpoint));
	check_ok(cnode_copy(IPC, NODE, copy, node, 3, RIGHT_ALL));
	struct message m = { 0 };
	check_ok(cnode_delete(NODE, node));
	check_ok(ipc_nb_send(copy, &m)); /* a copy outside keeps the object */
}

TEST(alive, 1, 0, "cnode: a CNode lives as long as one capability to it")
{
	uint64_t node = object(OBJECT_CNODE, 4), other = copy_of(node, RIGHT_ALL),
	         notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(cnode_copy(IPC, node, 3, NODE, notification, RIGHT_ALL));
	check_ok(cnode_delete(NODE, node));
	check_ok(cnode_move(IPC, NODE, slot(), other, 3));
}

TEST(cycle, 1, 0, "cnode: a CNode that holds itself can be revoked")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), node = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 4, NODE, node, 1));
	check_ok(cnode_copy(IPC, node, 1, NODE, node, RIGHT_ALL));
	check_ok(cnode_copy(IPC, node, 2, node, 1, RIGHT_ALL));
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, slot(), 1));
}

/* In itself, in another that is in it, and in the slot that is being deleted. */
TEST(cycles, 1, 0, "cnode: CNodes that hold each other's last capabilities end with their memory, not before")
{
	uint64_t memory = object(OBJECT_UNTYPED, 16), node = slots(2), copy = slot(), all = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 4, NODE, node, 2));
	check_ok(cnode_copy(IPC, node, 3, NODE, node, RIGHT_ALL));
	check_ok(cnode_move(IPC, node, 4, NODE, node + 1));
	check_ok(cnode_copy(IPC, NODE, copy, NODE, node, RIGHT_ALL));
	check_ok(cnode_delete(NODE, node));
	check_ok(cnode_delete(copy, 3));
	check_ok(cnode_move(IPC, copy, 3, NODE, copy)); /* its only capability, into itself */
	check_error(untyped_retype(IPC, memory, OBJECT_UNTYPED, 16, NODE, all, 1), NO_MEMORY);
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 16, NODE, all, 1));
}

/* Each CNode holds the only capability to the next: as deep as anybody likes. */
TEST(chain, 1, 0, "cnode: a long chain of CNodes is deleted whole")
{
	enum { LENGTH = 3000 };
	uint64_t memory = object(OBJECT_UNTYPED, 20), first = 0, endpoint = object(OBJECT_ENDPOINT, 0), last = slot();
	check_ok(cnode_copy(IPC, NODE, last, NODE, endpoint, RIGHT_ALL));
	for (unsigned i = 0; i < LENGTH; i++) {
		first = slot();
		check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 1, NODE, first, 1));
		check_ok(cnode_move(IPC, first, 1, NODE, last));
		last = first;
	}
	check_ok(cnode_delete(NODE, first));
	check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, 20, NODE, slot(), 1)); /* all of them are gone */
	check_ok(cnode_revoke(NODE, endpoint));
}
