/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a capability that is copied, minted, moved or mutated; guards; rights of CNodes, VSpaces, ports. */
#include "cnode.h"
#include "endpoint.h"
#include "harness.h"
#include "message.h"

enum { NODE = 1000, EP = 1010, FRAME = 1020, TABLES = 1030, LINE = 1040 };
#define AT (1ull << 40)

static uint64_t mint(uint64_t to, uint64_t from, uint64_t rights, uint64_t badge)
{
	return call(CNODE, CNODE_MINT, W(to, from, rights, badge), W(CNODE));
}

static uint64_t mutate(uint64_t to, uint64_t from, uint64_t rights, uint64_t badge)
{
	return call(CNODE, CNODE_MUTATE, W(to, from, rights, badge), W(CNODE));
}

static uint64_t guard(uint64_t label, uint64_t to, uint64_t from, uint64_t value, uint64_t bits)
{
	return call(CNODE, label, W(to, from, RIGHT_ALL, value, bits), W(CNODE));
}

static void guards_are_checked(void)
{
	make(OBJECT_CNODE, 4, NODE, 1);
	EXPECT(slot_of(NODE)->cap.limit, 16);
	EXPECT(call(CNODE, CNODE_MINT, W(NODE + 1, NODE, RIGHT_ALL, 0), W(CNODE)), SKERRY_TRUNCATED);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 0, 61), SKERRY_BAD_ARGUMENT);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 0, ~0ull), SKERRY_BAD_ARGUMENT);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 0, 1ull << 32), SKERRY_BAD_ARGUMENT);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 1, 0), SKERRY_BAD_ARGUMENT);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 4, 2), SKERRY_BAD_ARGUMENT);
	EXPECT(guard(CNODE_MINT, NODE + 1, NODE, 3, 2), 0);
	EXPECT(slot_of(NODE + 1)->cap.guard_bits, 2);
	EXPECT(slot_of(NODE + 1)->cap.limit, 0);
	EXPECT(guard(CNODE_MINT, NODE + 2, NODE + 1, (1ull << 60) - 1, 60), 0); /* each capability has its own */
	EXPECT(guard(CNODE_MINT, NODE + 3, NODE + 1, 0, 60), 0);
	EXPECT(slot_of(NODE + 3)->cap.limit, 16);
	copy(NODE + 4, NODE + 1, RIGHT_ALL, 0); /* keeps it */
	EXPECT(slot_of(NODE + 4)->cap.badge, 3);
	EXPECT(guard(CNODE_MUTATE, NODE + 5, NODE + 1, 1, 1), 0); /* although something derives from it */
	EXPECT(slot_of(NODE + 5)->cap.guard_bits, 1);
	EXPECT(call(CNODE, CNODE_MUTATE, W(NODE + 6, NODE + 5, RIGHT_ALL, 1), W(CNODE)), SKERRY_TRUNCATED);
	EXPECT(call(CNODE, CNODE_MUTATE, W(NODE + 6, NODE + 5, RIGHT_READ, 1, 1), W(CNODE)), SKERRY_BUSY);
}

/* Four levels: 16 slots, guard 5 (3 bits) and 16 slots, 16 slots, guard 0 and the rest. */
static void lookups_go_through_levels(void)
{
	static const unsigned value[] = { 0, 5, 0, 0 }, bits[] = { 0, 3, 0, 64 - 19 };
	struct slot root = { 0 };
	struct thread *thread = running(0);
	make(OBJECT_CNODE, 4, NODE, 4);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	EXPECT(call(NODE + 3, CNODE_COPY, W(7, EP, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(NODE + 3, CNODE_COPY, W(6, NODE, RIGHT_ALL), W(CNODE)), 0);
	for (unsigned i = 3; i; i--)
		EXPECT(call(NODE + i - 1, CNODE_MINT, W(i, NODE + i, RIGHT_ALL, value[i], bits[i]), W(CNODE)), 0);
	EXPECT(guard(CNODE_MINT, NODE + 5, NODE, 0, 0), 0);
	/* what a thread with this root would find */
	root.cap = thread->slot[THREAD_CSPACE].cap;
	thread->slot[THREAD_CSPACE].cap = slot_of(NODE + 5)->cap;
	uint64_t cptr = 1ull << 60 | 5ull << 57 | 2ull << 53 | 3ull << 49;
	const struct slot *leaf = cspace_lookup(thread, cptr | 7);
	const struct slot *self = cspace_lookup(thread, cptr | 6);
	EXPECT(cspace_lookup(thread, cptr | 5) != 0 && slot_empty(cspace_lookup(thread, cptr | 5)), true);
	EXPECT(cspace_lookup(thread, cptr), 0);                          /* slot 0 */
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 57) | 7), 0);       /* a guard that is not so */
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 20) | 7), 0);
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 53) | 7), 0);       /* no CNode there */
	EXPECT(cspace_lookup(thread, 0), 0);
	thread->slot[THREAD_CSPACE].cap = root.cap;
	EXPECT(leaf->cap.object, slot_of(EP)->cap.object);
	EXPECT(self->cap.object, slot_of(NODE)->cap.object);
}

/* Two bits are left where a CNode of 16 slots is found: it is not looked into, whatever would be in it. */
static void a_lookup_ends_with_its_bits(void)
{
	struct slot root = { 0 };
	struct thread *thread = running(0);
	make(OBJECT_CNODE, 4, NODE, 2);
	EXPECT(guard(CNODE_MINT, NODE + 2, NODE, (1ull << 58) - 1, 58), 0);
	EXPECT(guard(CNODE_MUTATE, NODE + 3, NODE + 1, 0, 0), 0);
	for (unsigned i = 1; i < 16; i++) {
		EXPECT(call(NODE, CNODE_COPY, W(i, NODE + 3, RIGHT_ALL), W(CNODE)), 0);
		EXPECT(call(NODE + 3, CNODE_COPY, W(i, NODE + 3, RIGHT_ALL), W(CNODE)), 0);
	}
	root.cap = thread->slot[THREAD_CSPACE].cap;
	thread->slot[THREAD_CSPACE].cap = slot_of(NODE + 2)->cap;
	const struct slot *found = cspace_lookup(thread, ~0ull);
	thread->slot[THREAD_CSPACE].cap = root.cap;
	EXPECT(found, 0);
}

/* What has bits to be looked up, as untyped memory seems to, is not therefore a CNode. */
static void only_cnodes_are_looked_into(void)
{
	enum { THREAD = 1060, BITS = 20 };
	uint64_t cptr = 1ull << 60 | 5ull << (60 - BITS);
	make(OBJECT_CNODE, 4, NODE, 1);
	make(OBJECT_UNTYPED, BITS, NODE + 1, 1);
	EXPECT(guard(CNODE_MINT, NODE + 2, NODE, 0, 0), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(1, NODE + 1), W(CNODE)), 0);
	struct thread *thread = make_thread(THREAD, 100, 0);
	EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(THREAD, TCB_CONFIGURE, W(1024, 0), W(NODE + 2, VSPACE, THREAD + 1)), 0);
	EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
	root_priority(10);
	EXPECT(running(0), thread);
	EXPECT(simple(0, SYS_SIGNAL, cptr), SKERRY_BAD_CAP);
	EXPECT(simple(0, SYS_SIGNAL, cptr | 1), SKERRY_BAD_CAP);
	EXPECT(call(cptr, CNODE_DELETE, W(1), NONE), SKERRY_BAD_CAP);
}

static void mutates(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	EXPECT(call(CNODE, CNODE_MUTATE, W(EP + 1, EP, RIGHT_ALL), W(CNODE)), SKERRY_TRUNCATED);
	EXPECT(call(CNODE, CNODE_MUTATE, W(EP + 1, EP, RIGHT_ALL, 7), NONE), SKERRY_BAD_CAP);
	EXPECT(mutate(EP + 1, EP + 2, RIGHT_ALL, 7), SKERRY_EMPTY_SLOT);
	EXPECT(mutate(EP, EP, RIGHT_ALL, 7), SKERRY_SLOT_FULL);
	EXPECT(mutate(0, EP, RIGHT_ALL, 7), SKERRY_BAD_ARGUMENT);
	EXPECT(mutate(EP + 1, EP, RIGHT_READ | RIGHT_WRITE, 7), 0);
	EXPECT(slot_of(EP)->cap.type, 0);
	EXPECT(slot_of(EP + 1)->cap.badge, 7);
	EXPECT(slot_of(EP + 1)->cap.rights, RIGHT_READ | RIGHT_WRITE);
	EXPECT(((struct endpoint *)slot_of(EP + 1)->cap.object)->references, 1);
	EXPECT(mutate(EP + 2, EP + 1, RIGHT_ALL, 8), SKERRY_BAD_ARGUMENT); /* a badge is for ever */
	EXPECT(mutate(EP + 2, U, RIGHT_ALL, 0), SKERRY_BAD_ARGUMENT);
	EXPECT(mutate(EP + 2, ROOT_SLOT_TCB, RIGHT_ALL, 0), SKERRY_BAD_ARGUMENT);
}

static void mutation_spares_the_children(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	copy(EP + 1, EP, RIGHT_ALL, 0);
	copy(EP + 2, EP + 1, RIGHT_ALL, 5);
	EXPECT(mutate(EP + 3, EP + 1, RIGHT_ALL, 6), SKERRY_BUSY);
	EXPECT(mutate(EP + 3, EP + 1, RIGHT_READ, 0), SKERRY_BUSY);
	EXPECT(mutate(EP + 3, EP + 1, RIGHT_ALL, 0), 0);
	revoke(EP + 3); /* they came along */
	EXPECT(slot_of(EP + 2)->cap.type, 0);
	EXPECT(mutate(EP + 1, EP + 3, RIGHT_READ, 6), 0);
	EXPECT(mint(EP + 4, ROOT_SLOT_IO_PORT, RIGHT_ALL, 0x70 | 0x7f << 16), 0);
	EXPECT(mint(EP + 5, EP + 4, RIGHT_ALL, 0x70 | 0x71 << 16), 0);
	EXPECT(mutate(EP + 6, EP + 4, RIGHT_ALL, 0x72 | 0x73 << 16), SKERRY_BUSY);
	EXPECT(mutate(EP + 6, EP + 5, RIGHT_ALL, 0x70 | 0x72 << 16), SKERRY_NO_RIGHTS);
	EXPECT(mutate(EP + 6, EP + 5, RIGHT_ALL, 0x71 | 0x71 << 16), 0);
}

static void mappings_move_along(void)
{
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	EXPECT(call(FRAME, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(VSPACE)), 0);
	EXPECT(mutate(FRAME + 1, FRAME, RIGHT_READ, 0), SKERRY_MAPPED);
	EXPECT(mutate(FRAME + 1, FRAME, RIGHT_ALL, 0), 0);
	EXPECT(hosted_touch(machine, 0, AT) != 0, true);
	EXPECT(mutate(FRAME + 1, TABLES, RIGHT_ALL, 0), SKERRY_SLOT_FULL);
	EXPECT(mutate(FRAME + 2, TABLES, RIGHT_READ, 0), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_MOVE, W(TABLES + 5, TABLES), W(CNODE)), 0);
	copy(FRAME + 2, FRAME + 1, RIGHT_READ, 0);
	EXPECT(slot_of(FRAME + 2)->cap.flags, 0);
	EXPECT(call(FRAME + 1, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(mutate(FRAME, FRAME + 1, RIGHT_READ, 0), SKERRY_BUSY);
	delete(FRAME + 2);
	EXPECT(mutate(FRAME, FRAME + 1, RIGHT_READ, 0), 0);
	EXPECT(call(FRAME, FRAME_MAP, W(AT, RIGHT_WRITE, 0), W(VSPACE)), SKERRY_NO_RIGHTS);
}

/* Children and grandchildren, of leaves, only children and whole families. */
static void moves_keep_the_family(void)
{
	make(OBJECT_ENDPOINT, 0, LINE, 1);
	copy(LINE + 1, LINE, RIGHT_ALL, 0);
	copy(LINE + 2, LINE + 1, RIGHT_ALL, 0);
	copy(LINE + 3, LINE + 1, RIGHT_ALL, 0);
	copy(LINE + 4, LINE + 3, RIGHT_ALL, 0);
	for (unsigned i = 0; i < 5; i++)
		EXPECT(call(CNODE, CNODE_MOVE, W(LINE + 10 + i, LINE + i), W(CNODE)), 0);
	revoke(LINE + 13);
	EXPECT(slot_of(LINE + 14)->cap.type, 0);
	EXPECT(slot_of(LINE + 12)->cap.type, OBJECT_ENDPOINT);
	revoke(LINE + 11);
	EXPECT(slot_of(LINE + 12)->cap.type || slot_of(LINE + 13)->cap.type, 0);
	EXPECT(((struct endpoint *)slot_of(LINE + 10)->cap.object)->references, 2);
}

static void cnodes_have_rights(void)
{
	make(OBJECT_CNODE, 4, NODE, 1);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	copy(NODE + 1, NODE, RIGHT_READ, 0);
	copy(NODE + 2, NODE, RIGHT_WRITE, 0);
	EXPECT(call(NODE + 2, CNODE_COPY, W(1, EP, RIGHT_ALL), W(CNODE)), 0);
	static const uint64_t labels[] = { CNODE_COPY, CNODE_MINT, CNODE_MOVE, CNODE_DELETE, CNODE_REVOKE, CNODE_MUTATE };
	for (unsigned i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		EXPECT(call(NODE + 1, labels[i], W(1, EP, RIGHT_ALL, 0), W(CNODE)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_COPY, W(EP + 1, 1, RIGHT_ALL), W(NODE + 2)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_MINT, W(EP + 1, 1, RIGHT_ALL, 3), W(NODE + 2)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_MOVE, W(EP + 1, 1), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_MOVE, W(EP + 1, 1), W(NODE + 2)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_MUTATE, W(EP + 1, 1, RIGHT_ALL, 3), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(CNODE, CNODE_COPY, W(EP + 1, 1, RIGHT_ALL), W(NODE + 1)), 0);
	EXPECT(call(U, UNTYPED_RETYPE, W(OBJECT_UNTYPED, 4, 2, 1), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_MSI, W(2, 0), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(2, 0, 5, 0), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_MSI, W(2, 0), W(NODE + 2)), 0);
	EXPECT(call(CNODE, CNODE_MUTATE + 1, W(1), NONE), SKERRY_BAD_LABEL);
	EXPECT(call(CNODE, CNODE_COPY - 1, W(1), NONE), SKERRY_BAD_LABEL);
	EXPECT(call(CNODE, CNODE_DELETE, NONE, NONE), SKERRY_TRUNCATED);
}

static void spaces_and_ports_have_rights(void)
{
	make(OBJECT_VSPACE, 0, NODE, 1);
	copy(NODE + 1, NODE, RIGHT_READ, 0);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 1);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	EXPECT(call(TABLES, PAGE_TABLE_MAP, W(AT), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(FRAME, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(NODE + 1)), SKERRY_NO_RIGHTS);
	EXPECT(call(TABLES, PAGE_TABLE_MAP, W(AT), W(NODE)), 0);
	copy(EP, ROOT_SLOT_IO_PORT, RIGHT_READ, 0);
	copy(EP + 1, ROOT_SLOT_IO_PORT, RIGHT_WRITE, 0);
	EXPECT(call(EP, IO_PORT_OUT, W(0x70, 1, 5), NONE), SKERRY_NO_RIGHTS);
	EXPECT(call(EP + 1, IO_PORT_IN, W(0x70, 1), NONE), SKERRY_NO_RIGHTS);
	EXPECT(call(EP + 1, IO_PORT_OUT, W(0x70, 1, 5), NONE), 0);
	EXPECT(call(EP, IO_PORT_IN, W(0x70, 1), NONE), 0);
	EXPECT(word(running(0), 0), 5);
	EXPECT(call(EP, IO_PORT_IN, W(0x70), NONE), SKERRY_TRUNCATED);
	EXPECT(call(EP, IO_PORT_IN, W(0x70, 3), NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(EP, IO_PORT_IN, W(0xffff, 2), NONE), SKERRY_NO_RIGHTS);
}

const struct test tests[] = {
	{ "guards are checked", guards_are_checked, 1 },
	{ "lookups go through levels", lookups_go_through_levels, 1 },
	{ "a lookup ends with its bits", a_lookup_ends_with_its_bits, 1 },
	{ "only CNodes are looked into", only_cnodes_are_looked_into, 1 },
	{ "mutates", mutates, 1 },
	{ "mutation spares the children", mutation_spares_the_children, 1 },
	{ "mappings move along", mappings_move_along, 1 },
	{ "moves keep the family", moves_keep_the_family, 1 },
	{ "CNodes have rights", cnodes_have_rights, 1 },
	{ "address spaces and ports have rights", spaces_and_ports_have_rights, 1 },
	{ 0 },
};
