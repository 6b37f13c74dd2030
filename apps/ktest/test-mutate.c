/* SPDX-License-Identifier: BSD-2-Clause */
/* MUTATE and MOVE: the capability itself goes, with what was derived from it. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

static int mutate(uint64_t to, uint64_t from, unsigned rights, uint64_t badge)
{
	return cnode_mutate(IPC, NODE, to, NODE, from, rights, badge);
}

/* As raw as it gets: what a stub would not send. */
static int raw(uint64_t node, enum skerry_invocation label, unsigned caps, unsigned words, uint64_t to, uint64_t source,
               uint64_t from)
{
	struct message m = { .word = { to, from, RIGHT_ALL, 0 } };
	IPC->caps[0] = source;
	IPC->words[4] = 0;
	return invoke(node, label, caps, words, &m);
}

static const enum skerry_invocation moves[] = { CNODE_MOVE, CNODE_MUTATE };

TEST(badge, 1, 0, "mutate: gives an unbadged capability its badge and empties the source")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), copy = copy_of(notification, RIGHT_ALL), to = slot(),
	         word;
	check_ok(mutate(to, copy, RIGHT_ALL, 0x1234567890abcdef));
	check(is_empty(copy));
	check_ok(notification_signal(to));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0x1234567890abcdef);
}

TEST(rights, 1, 0, "mutate: takes rights away, and adds none")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), a = slot(), b = slot(), word;
	check_ok(mutate(a, copy_of(notification, RIGHT_READ | RIGHT_WRITE), RIGHT_READ | RIGHT_GRANT, 0));
	check_error(notification_signal(a), NO_RIGHTS);
	check_ok(notification_poll(a, &word));
	check_ok(mutate(b, a, RIGHT_ALL, 0));
	check_error(notification_signal(b), NO_RIGHTS);
}

TEST(children, 1, 0, "mutate: what was derived goes along")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), child = copy_of(endpoint, RIGHT_ALL);
	uint64_t grandchild = badged(child, 7, RIGHT_ALL), to = slot(), again = slot();
	check_ok(mutate(to, child, RIGHT_ALL, 0));
	check_ok(cnode_move(IPC, NODE, again, NODE, to));
	check(!is_empty(grandchild));
	check_ok(cnode_revoke(NODE, again));
	check(is_empty(grandchild));
	check(!is_empty(again));
	grandchild = badged(again, 8, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, endpoint)); /* it is still the child that it was */
	check(is_empty(again) && is_empty(grandchild) && !is_empty(endpoint));
}

TEST(parent, 1, 0, "mutate: BUSY where children would have more than their parent")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), child = copy_of(notification, RIGHT_ALL);
	uint64_t grandchild = copy_of(child, RIGHT_ALL), to = slot();
	check_error(mutate(to, child, RIGHT_READ, 0), BUSY);
	check_error(mutate(to, child, RIGHT_ALL, 5), BUSY);
	check(!is_empty(child) && is_empty(to));
	check_ok(cnode_delete(NODE, grandchild));
	check_ok(mutate(to, child, RIGHT_READ, 5));
}

TEST(badge_twice, 1, 0, "mutate: BAD_ARGUMENT for a second badge")
{
	static const enum skerry_object type[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION };
	for (unsigned i = 0; i < 2; i++) {
		uint64_t cap = badged(object(type[i], 0), 5, RIGHT_ALL), to = slot();
		check_error(mutate(to, cap, RIGHT_ALL, 6), BAD_ARGUMENT);
		check(!is_empty(cap) && is_empty(to));
	}
}

TEST(no_badge, 1, 0, "mutate: BAD_ARGUMENT for what has no badge")
{
	static const struct { enum skerry_object type; unsigned bits; } kind[] = {
		{ OBJECT_TCB, 0 }, { OBJECT_REPLY, 0 }, { OBJECT_VSPACE, 0 }, { OBJECT_UNTYPED, 12 },
		{ OBJECT_PAGE_TABLE, 0 },
	};
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		uint64_t cap = object(kind[i].type, kind[i].bits);
		check_error(mutate(slot(), cap, RIGHT_ALL, 6), BAD_ARGUMENT);
		check(!is_empty(cap));
	}
}

TEST(frame, 1, 0, "mutate: a mapped frame keeps its mapping, and MAPPED when rights would go")
{
	uint64_t frame = map_page(0, RIGHT_READ | RIGHT_WRITE), to = slot();
	check_error(mutate(to, frame, RIGHT_READ, 0), MAPPED);
	check_ok(mutate(to, frame, RIGHT_ALL, 0));
	*(volatile uint64_t *)place(WINDOW) = 1;
	check_ok(frame_unmap(to));
	check_error(frame_unmap(to), NOT_MAPPED);
	check_ok(mutate(frame, to, RIGHT_READ, 0));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
}

TEST(io_ports, 1, NEEDS_DEVICES, "mutate: narrows I/O ports; NO_RIGHTS to widen them, BAD_ARGUMENT for no range")
{
	uint64_t ports = badged(ROOT_SLOT_IO_PORT, 0x100 | 0x1ff << 16, RIGHT_ALL), to = slot(), again = slot();
	uint32_t value;
	check_error(mutate(to, ports, RIGHT_ALL, 0xff | 0x1ff << 16), NO_RIGHTS);
	check_error(mutate(to, ports, RIGHT_ALL, 0x180 | 0x17f << 16), BAD_ARGUMENT);
	check_ok(mutate(to, ports, RIGHT_ALL, 0x170 | 0x177 << 16));
	check_error(io_port_in(to, 0x16f, 1, &value), NO_RIGHTS);
	check_ok(mutate(again, to, RIGHT_READ, 0x177 | 0x177 << 16));
	check_ok(io_port_in(again, 0x177, 1, &value));
	check_error(io_port_out(again, 0x177, 1, 0), NO_RIGHTS);
}

TEST(empty, 1, 0, "move, mutate: EMPTY_SLOT for an empty source, slot 0, or one outside the CNode")
{
	uint64_t node = object(OBJECT_CNODE, 2);
	static const uint64_t from[] = { 0, 1, 3, 4, 1ull << 58, ~0ull };
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = 0; j < 2; j++)
			check_error(raw(NODE, moves[j], 1, 5, slot(), node, from[i]), EMPTY_SLOT);
}

TEST(full, 1, 0, "move, mutate: SLOT_FULL for a full destination, the source itself too")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = object(OBJECT_ENDPOINT, 0);
	for (unsigned j = 0; j < 2; j++) {
		check_error(raw(NODE, moves[j], 1, 5, a, NODE, b), SLOT_FULL);
		check_error(raw(NODE, moves[j], 1, 5, a, NODE, a), SLOT_FULL);
	}
	check(!is_empty(a) && !is_empty(b));
}

TEST(outside, 1, 0, "move, mutate: BAD_ARGUMENT for a destination outside the CNode, and for slot 0")
{
	uint64_t node = object(OBJECT_CNODE, 2), endpoint = object(OBJECT_ENDPOINT, 0);
	static const uint64_t to[] = { 0, 4, 5, 1ull << 58, ~0ull };
	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = 0; j < 2; j++)
			check_error(raw(node, moves[j], 1, 5, to[i], NODE, endpoint), BAD_ARGUMENT);
	check(!is_empty(endpoint));
}

TEST(no_source, 1, 0, "move, mutate: BAD_CAP without a source CNode")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), to = slot();
	for (unsigned j = 0; j < 2; j++) {
		check_error(raw(NODE, moves[j], 1, 5, to, endpoint, endpoint), BAD_CAP);
		check_error(raw(NODE, moves[j], 1, 5, to, slot(), endpoint), BAD_CAP);
		check_error(raw(NODE, moves[j], 1, 5, to, 0, endpoint), BAD_CAP);
		check_error(raw(NODE, moves[j], 0, 5, to, NODE, endpoint), BAD_CAP);
	}
	check(is_empty(to) && !is_empty(endpoint));
}

TEST(truncated, 1, 0, "move, mutate: TRUNCATED for a message that is too short")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), node = object(OBJECT_CNODE, 4);
	for (unsigned words = 0; words < 2; words++)
		check_error(raw(NODE, CNODE_MOVE, 1, words, slot(), NODE, endpoint), TRUNCATED);
	for (unsigned words = 0; words < 4; words++)
		check_error(raw(NODE, CNODE_MUTATE, 1, words, slot(), NODE, endpoint), TRUNCATED);
	for (unsigned words = 0; words < 5; words++)
		check_error(raw(NODE, CNODE_MUTATE, 1, words, slot(), NODE, node), TRUNCATED);
	check(!is_empty(endpoint) && !is_empty(node));
}

TEST(owned, 1, 0, "move: what cannot be copied is moved with its children")
{
	uint64_t memory = object(OBJECT_UNTYPED, 14), to = slot(), frame = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, frame, 1));
	check_ok(cnode_move(IPC, NODE, to, NODE, memory));
	check_error(untyped_retype(IPC, to, OBJECT_FRAME_4K, 0, NODE, slots(4), 4), NO_MEMORY);
	check_ok(cnode_revoke(NODE, to));
	check(is_empty(frame));
	check_ok(untyped_retype(IPC, to, OBJECT_FRAME_4K, 0, NODE, slots(4), 4));
}
