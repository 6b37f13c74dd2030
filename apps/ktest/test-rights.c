/* SPDX-License-Identifier: BSD-2-Clause */
/* Each right of a capability: every operation with it and without it. */
#include <skerry/stubs.h>

#include "ktest.h"

#define NODE ROOT_SLOT_CNODE
enum { ALL_BUT_READ = RIGHT_ALL & ~RIGHT_READ, ALL_BUT_WRITE = RIGHT_ALL & ~RIGHT_WRITE };

static void idle(struct worker *self) { self->count++; }

/* The invocations of a TCB that ask for WRITE, one after the other; true when there is no more. */
static bool change_tcb(unsigned which, uint64_t tcb, const struct worker *w, uint64_t notification, int *result)
{
	static struct thread_registers r;
	switch (which) {
	case 0: *result = tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 0); return false;
	case 1: *result = tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 40, 0); return false;
	case 2: *result = tcb_set_mcp(IPC, tcb, ROOT_SLOT_TCB, 3); return false;
	case 3: r.rip = r.rsp = WINDOW; *result = tcb_write_registers(IPC, tcb, 0, &r); return false;
	case 4: *result = tcb_set_tls(tcb, 0x1000); return false;
	case 5: *result = tcb_bind(IPC, tcb, notification); return false;
	case 6: *result = tcb_unbind(tcb); return false;
	case 7: *result = tcb_suspend(tcb); return false;
	case 8: *result = tcb_resume(tcb); return false;
	case 9: *result = tcb_set_core(IPC, tcb, ROOT_SLOT_TCB, 0); return false;
	default: return true;
	}
}

TEST(tcb_write, 1, 0, "rights: a TCB without WRITE is changed by no invocation, and nothing happens")
{
	struct worker *w = worker_make(idle, 50, last_core());
	uint64_t weak = copy_of(w->tcb, ALL_BUT_WRITE), notification = object(OBJECT_NOTIFICATION, 0);
	struct thread_registers before, after;
	check_ok(tcb_read_registers(IPC, w->tcb, &before));
	int result;
	for (unsigned i = 0; !change_tcb(i, weak, w, notification, &result); i++)
		check_error(result, NO_RIGHTS);
	check_ok(tcb_read_registers(IPC, weak, &after)); /* READ is there */
	check_eq(after.rip, before.rip);
	check_eq(after.rsp, before.rsp);
	check_eq(after.fs_base, before.fs_base);
	sleep_ms(1);
	check_eq(w->count, 0); /* it was not resumed */
	check_error(tcb_unbind(w->tcb), EMPTY_SLOT);
	check_ok(tcb_resume(w->tcb));
	until(w->done);
}

TEST(tcb_with_write, 1, 0, "rights: a TCB with WRITE alone is changed by every invocation")
{
	struct worker *w = worker_make(idle, 50, 0);
	uint64_t writer = copy_of(w->tcb, RIGHT_WRITE), notification = object(OBJECT_NOTIFICATION, 0);
	int result;
	for (unsigned i = 0; !change_tcb(i, writer, w, notification, &result); i++)
		check_ok(result);
	check_ok(tcb_suspend(w->tcb));
}

TEST(tcb_read, 1, 0, "rights: registers and time of a TCB are for those with READ")
{
	struct worker *w = worker_make(idle, 50, 0);
	uint64_t weak = copy_of(w->tcb, ALL_BUT_READ), reader = copy_of(w->tcb, RIGHT_READ), time;
	struct thread_registers r = { 0 };
	check_error(tcb_read_registers(IPC, weak, &r), NO_RIGHTS);
	check_error(tcb_time(weak, &time), NO_RIGHTS);
	check_eq(time, 0);
	check_ok(tcb_read_registers(IPC, reader, &r));
	check_ok(tcb_time(reader, &time));
}

TEST(tcb_label, 1, 0, "rights: a TCB without any right still says BAD_LABEL for what is no invocation")
{
	uint64_t nothing = copy_of(object(OBJECT_TCB, 0), 0);
	struct message m = { 0 };
	check_error(invoke(nothing, TCB_SET_CORES + 1, 0, 4, &m), BAD_LABEL);
	check_error(invoke(nothing, TCB_CONFIGURE - 1, 0, 4, &m), BAD_LABEL);
	for (enum skerry_invocation label = TCB_CONFIGURE; label <= TCB_SET_CORES; label++)
		check_error(invoke(nothing, label, 0, 4, &m), NO_RIGHTS);
}

TEST(cnode_write, 1, 0, "rights: a CNode without WRITE keeps its slots as they are")
{
	uint64_t node = object(OBJECT_CNODE, 4), weak = copy_of(node, ALL_BUT_WRITE),
	         endpoint = object(OBJECT_ENDPOINT, 0);
	uint64_t child = slot(), back = slot();
	check_ok(cnode_copy(IPC, node, 1, NODE, endpoint, RIGHT_ALL));
	check_ok(cnode_copy(IPC, NODE, child, node, 1, RIGHT_ALL));
	check_error(cnode_copy(IPC, weak, 2, NODE, endpoint, RIGHT_ALL), NO_RIGHTS);
	check_error(cnode_mint(IPC, weak, 2, NODE, endpoint, RIGHT_ALL, 1), NO_RIGHTS);
	check_error(cnode_move(IPC, weak, 2, NODE, endpoint), NO_RIGHTS);
	check_error(cnode_mutate(IPC, weak, 2, NODE, endpoint, RIGHT_ALL, 0), NO_RIGHTS);
	check_error(cnode_delete(weak, 1), NO_RIGHTS);
	check_error(cnode_revoke(weak, 1), NO_RIGHTS);
	check_error(untyped_retype(IPC, test_memory(), OBJECT_ENDPOINT, 0, weak, 2, 1), NO_RIGHTS);
	check_error(cnode_move(IPC, NODE, back, weak, 1), NO_RIGHTS); /* the source's slot would change */
	check_error(cnode_mutate(IPC, NODE, back, weak, 1, RIGHT_ALL, 0), NO_RIGHTS);
	check(!is_empty(child) && !is_empty(endpoint) && is_empty(back));
	check_ok(cnode_copy(IPC, NODE, back, weak, 1, RIGHT_ALL)); /* READ is there */
	check_error(cnode_copy(IPC, NODE, slot(), node, 2, RIGHT_ALL), EMPTY_SLOT);
}

TEST(cnode_read, 1, 0, "rights: from a CNode without READ nothing is copied")
{
	uint64_t node = object(OBJECT_CNODE, 4), weak = copy_of(node, ALL_BUT_READ), to = slot();
	check_ok(untyped_retype(IPC, test_memory(), OBJECT_ENDPOINT, 0, weak, 1, 1)); /* WRITE is there */
	check_error(cnode_copy(IPC, NODE, to, weak, 1, RIGHT_ALL), NO_RIGHTS);
	check_error(cnode_mint(IPC, NODE, to, weak, 1, RIGHT_ALL, 1), NO_RIGHTS);
	check_error(cnode_move(IPC, NODE, to, weak, 1), NO_RIGHTS);
	check_error(cnode_mutate(IPC, NODE, to, weak, 1, RIGHT_ALL, 0), NO_RIGHTS);
	check(is_empty(to));
	check_ok(cnode_revoke(weak, 1));
	check_ok(cnode_delete(weak, 1));
	check_error(cnode_copy(IPC, NODE, to, node, 1, RIGHT_ALL), EMPTY_SLOT);
}

TEST(cnode_irq, 1, NEEDS_DEVICES, "rights: no interrupt handler goes into a CNode without WRITE")
{
	uint64_t node = object(OBJECT_CNODE, 4), weak = copy_of(node, ALL_BUT_WRITE), address;
	uint32_t data;
	check_error(irq_get_msi(IPC, ROOT_SLOT_IRQ_CONTROL, weak, 1, 0, &address, &data), NO_RIGHTS);
	check_error(irq_get_ioapic(IPC, ROOT_SLOT_IRQ_CONTROL, weak, 1, 0, ROOT->isa_gsi[3], 0), NO_RIGHTS);
	check_ok(irq_get_msi(IPC, ROOT_SLOT_IRQ_CONTROL, copy_of(node, RIGHT_WRITE), 1, 0, &address, &data));
}

TEST(cnode_cspace, 1, 0, "rights: a CSpace needs no right of its CNode")
{
	uint64_t node = object(OBJECT_CNODE, 8), notification = object(OBJECT_NOTIFICATION, 0), word;
	struct worker *w = worker_make(idle, 50, 0);
	check_ok(cnode_copy(IPC, node, 1, NODE, notification, RIGHT_ALL));
	check_ok(tcb_configure(IPC, w->tcb, copy_of(node, 0), ROOT_SLOT_VSPACE, w->frame, (uint64_t)w->ipc, 1));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0);
}

TEST(vspace, 1, 0, "rights: into a VSpace without WRITE nothing is mapped")
{
	uint64_t vspace = object(OBJECT_VSPACE, 0), weak = copy_of(vspace, ALL_BUT_WRITE),
	         writer = copy_of(vspace, RIGHT_WRITE);
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 3), frame = object(OBJECT_FRAME_4K, 0);
	check_error(page_table_map(IPC, table, weak, FOREIGN_CODE), NO_RIGHTS);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, table + i, writer, FOREIGN_CODE));
	check_error(frame_map(IPC, frame, weak, FOREIGN_CODE, RIGHT_READ, 0), NO_RIGHTS);
	check_error(frame_unmap(frame), NOT_MAPPED);
	check_ok(frame_map(IPC, frame, writer, FOREIGN_CODE, RIGHT_READ, 0));
	check_ok(frame_unmap(frame)); /* which asks the frame alone */
}

TEST(io_port, 1, NEEDS_DEVICES, "rights: I/O ports are read with READ, written with WRITE")
{
	enum { SCRATCH = 0x2ff };
	uint64_t reader = copy_of(ROOT_SLOT_IO_PORT, ALL_BUT_WRITE), writer = copy_of(ROOT_SLOT_IO_PORT, ALL_BUT_READ);
	uint64_t narrow = badged(reader, SCRATCH | SCRATCH << 16, RIGHT_ALL), nothing = copy_of(reader, RIGHT_WRITE);
	uint32_t value;
	check_ok(io_port_out(writer, SCRATCH, 1, 0x5a));
	check_error(io_port_in(writer, SCRATCH, 1, &value), NO_RIGHTS);
	check_error(io_port_out(reader, SCRATCH, 1, 0xff), NO_RIGHTS);
	check_error(io_port_out(narrow, SCRATCH, 1, 0xff), NO_RIGHTS);
	check_error(io_port_out(nothing, SCRATCH, 1, 0xff), NO_RIGHTS);
	check_error(io_port_in(nothing, SCRATCH, 1, &value), NO_RIGHTS);
	check_ok(io_port_in(narrow, SCRATCH, 1, &value));
	check_eq(value, 0x5a);
}

/* Any copy of a copy has the rights that both masks leave. */
TEST(every_mask, 1, 0, "rights: all pairs of masks, each right checked by what it is for")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	for (unsigned first = 0; first <= RIGHT_ALL; first++) {
		uint64_t a = copy_of(notification, first);
		for (unsigned second = 0; second <= RIGHT_ALL; second++) {
			uint64_t b = copy_of(a, second);
			unsigned both = first & second;
			int signal = notification_signal(b), poll = notification_poll(b, &word);
			check_eq(-signal, both & RIGHT_WRITE ? 0 : SKERRY_NO_RIGHTS);
			check_eq(-poll, both & RIGHT_READ ? 0 : SKERRY_NO_RIGHTS);
			check_ok(cnode_delete(NODE, b));
			check_ok(notification_poll(notification, &word));
		}
	}
}

TEST(wide_mask, 1, 0, "rights: bits of a mask that are no rights give none")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), to = slot(), word;
	struct message m = { .word = { to, notification, 0xfffffffffffffff0 | RIGHT_READ } };
	IPC->caps[0] = NODE;
	check_ok(invoke(NODE, CNODE_COPY, 1, 3, &m));
	check_error(notification_signal(to), NO_RIGHTS);
	check_ok(notification_poll(to, &word));
}

static void caller(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-(int64_t)ipc_call(self->arg[0], &m);
}

TEST(reply, 1, 0, "rights: a reply object asks for none")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), nothing = copy_of(object(OBJECT_REPLY, 0), 0);
	struct worker *w = worker_start(caller, 50, 0, copy_of(endpoint, RIGHT_WRITE), 0);
	struct message m = { 0 };
	until(waits(w));
	check_ok(ipc_nb_receive(copy_of(endpoint, RIGHT_READ), nothing, &m));
	check_ok(ipc_reply(nothing, &m));
	until(w->done);
	check_eq(w->out[0], 0);
}

TEST(frame_table, 1, 0, "rights: a frame's mapping has the rights that its capability and the call have in common")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	for (unsigned cap = 0; cap <= RIGHT_ALL; cap++) {
		uint64_t copy = copy_of(frame, cap);
		for (unsigned asked = 0; asked <= RIGHT_ALL; asked++) {
			int error = frame_map(IPC, copy, ROOT_SLOT_VSPACE, WINDOW, asked, CACHE_WRITE_BACK);
			check_eq(-error, cap & asked & RIGHT_READ ? 0 : SKERRY_NO_RIGHTS);
			if (error)
				continue;
			if (cap & asked & RIGHT_WRITE)
				program_store(WINDOW, asked);
			program_load(WINDOW);
			check_ok(frame_unmap(copy));
		}
	}
}

/* The derivation tree: what revoke and delete reach, and what they leave. */

static void copy_to(uint64_t to, uint64_t from) { check_ok(cnode_copy(IPC, NODE, to, NODE, from, RIGHT_ALL)); }

TEST(descendants, 1, 0, "derivation: revoke takes all descendants and leaves the capability itself")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL),
	         d = copy_of(c, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, a));
	check(!is_empty(a));
	check(is_empty(b) && is_empty(c) && is_empty(d));
}

TEST(siblings, 1, 0, "derivation: revoke leaves siblings and ancestors")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(a, RIGHT_ALL),
	         d = copy_of(c, RIGHT_ALL);
	uint64_t e = copy_of(b, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, c));
	check(!is_empty(a) && !is_empty(b) && !is_empty(c) && !is_empty(e));
	check(is_empty(d));
}

TEST(orphans, 1, 0, "derivation: children of a deleted capability belong to its parent")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL),
	         d = copy_of(a, RIGHT_ALL);
	check_ok(cnode_delete(NODE, b));
	check(!is_empty(c));
	check_ok(cnode_revoke(NODE, d));
	check(!is_empty(c));
	check_ok(cnode_revoke(NODE, a));
	check(is_empty(c) && is_empty(d));
}

TEST(moved, 1, 0, "derivation: a moved capability keeps its place")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL), to = slot();
	check_ok(cnode_move(IPC, NODE, to, NODE, b));
	check_ok(cnode_revoke(NODE, to));
	check(is_empty(c) && !is_empty(a));
	check_ok(cnode_revoke(NODE, a));
	check(is_empty(to));
}

TEST(objects_apart, 1, 0, "derivation: revoke of one object leaves others of the same memory")
{
	uint64_t two = objects(OBJECT_ENDPOINT, 0, 2), a = copy_of(two, RIGHT_ALL), b = copy_of(two + 1, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, two));
	check(is_empty(a) && !is_empty(b) && !is_empty(two + 1));
}

TEST(across_nodes, 1, 0, "derivation: revoke reaches into other CNodes")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), node = object(OBJECT_CNODE, 3);
	check_ok(cnode_copy(IPC, node, 2, NODE, a, RIGHT_ALL));
	check_ok(cnode_revoke(NODE, a));
	check_error(cnode_move(IPC, NODE, slot(), node, 2), EMPTY_SLOT);
}

TEST(within_node, 1, 0, "derivation: revoke of what a dying CNode holds")
{
	uint64_t memory = object(OBJECT_UNTYPED, 14), node = slot(), endpoint = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 4, NODE, node, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_ENDPOINT, 0, NODE, endpoint, 1));
	for (unsigned i = 1; i < 16; i++)
		check_ok(cnode_copy(IPC, node, i, i == 1 ? NODE : node, i == 1 ? endpoint : i - 1, RIGHT_ALL));
	check_ok(cnode_revoke(NODE, memory));
	check(is_empty(node) && is_empty(endpoint));
}

/* A random history beside a model of it: after each step exactly the right slots are full. */
TEST(model, 1, 0, "derivation: a thousand random steps agree with a model")
{
	enum { SLOTS = 40, STEPS = 1000, NONE = -1 };
	int parent[SLOTS];
	bool full[SLOTS] = { true };
	uint64_t base = objects(OBJECT_ENDPOINT, 0, 1), seed = 12345;
	slots(SLOTS - 1);
	parent[0] = NONE;
	for (unsigned step = 0; step < STEPS; step++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		unsigned from = (seed >> 33) % SLOTS, to = (seed >> 43) % SLOTS, what = (seed >> 53) % 8;
		if (!full[from])
			continue;
		if (what < 5 && !full[to]) {
			copy_to(base + to, base + from);
			full[to] = true;
			parent[to] = (int)from;
		} else if (what == 5 && !full[to] && from) {
			check_ok(cnode_move(IPC, NODE, base + to, NODE, base + from));
			full[to] = true, full[from] = false;
			parent[to] = parent[from];
			for (unsigned i = 0; i < SLOTS; i++)
				if (full[i] && parent[i] == (int)from)
					parent[i] = (int)to;
		} else if (what == 6 && from) {
			check_ok(cnode_delete(NODE, base + from));
			full[from] = false;
			for (unsigned i = 0; i < SLOTS; i++)
				if (full[i] && parent[i] == (int)from)
					parent[i] = parent[from];
		} else if (what == 7 && (from || step % 50 == 0)) {
			check_ok(cnode_revoke(NODE, base + from));
			for (bool again = true; again;) {
				again = false;
				for (unsigned i = 1; i < SLOTS; i++) {
					if (full[i] && (parent[i] == (int)from || !full[parent[i]])) {
						full[i] = false;
						again = true;
					}
				}
			}
		}
		for (unsigned i = 0; i < SLOTS; i++)
			check_eq(is_empty(base + i), !full[i]);
	}
}
