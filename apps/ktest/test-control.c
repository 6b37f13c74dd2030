/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own settings: which locks it takes, changed while it is used. */
#include <skerry/cluster_mask.h>
#include <skerry/stubs.h>

#include "ktest.h"

enum { CHANGES = 40, AT_EACH = 20, CLIENTS = 4 };

static int order(enum granularity target)
{
	bool under_way;
	return control_granularity(ROOT_SLOT_CONTROL, target, &under_way);
}

static bool is_so(enum granularity target)
{
	bool under_way;
	check_ok(control_granularity(ROOT_SLOT_CONTROL, target, &under_way));
	return !under_way;
}

TEST(granularities, 1, 0, "control: a kernel has the granularities of its regime")
{
	int missing = -SKERRY_BAD_ARGUMENT;
	check_eq(order(GRANULARITY_COARSE), kernel_is("fine") ? missing : 0);
	check_eq(order(GRANULARITY_FINE), kernel_is("fine") || kernel_is("dynamic") ? 0 : missing);
	if (kernel_is("dynamic"))
		until(is_so(GRANULARITY_COARSE));
}

TEST(refused, 1, 0, "control: TRUNCATED, BAD_LABEL and BAD_ARGUMENT")
{
	struct message m = { .word = { GRANULARITY_FINE + 1 }, .info = message_info(CONTROL_GRANULARITY, 0, 1) };
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_ARGUMENT);
	m.info = message_info(CONTROL_GRANULARITY, 0, 0);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), TRUNCATED);
	m.info = message_info(CONTROL_GRANULARITY + 1, 0, 1);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_LABEL);
}

TEST(changed, 1, 0, "control: no message is lost while the granularity changes to and fro")
{
	struct traffic load;
	traffic_begin(&load);
	for (unsigned i = 0; i < CHANGES; i++) {
		enum granularity target = i % 2 ? GRANULARITY_COARSE : GRANULARITY_FINE;
		uint64_t before = traffic_least(&load);
		if (kernel_is("dynamic"))
			until(is_so(target));
		until(traffic_least(&load) >= before + AT_EACH);
	}
	traffic_end(&load);
}

/* Waits, each time for a moment only. */
static void sleeper(struct worker *self)
{
	while (!self->out[0]) {
		int ended = notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 5000, 0);
		if (ended != -SKERRY_TIMED_OUT)
			check_ok(ended);
		self->out[ended ? 2 : 1]++;
	}
}

TEST(woken, 2, 0, "control: no wake-up of another core is lost in a deadline, whatever the granularity")
{
	bool changes = kernel_is("dynamic");
	struct worker *s[CLIENTS];
	for (unsigned i = 0; i < CLIENTS; i++)
		s[i] = worker_start(sleeper, 50, 1 + i % last_core(), object(OBJECT_NOTIFICATION, 0), 0);
	for (unsigned round = 0; round < CHANGES; round++) {
		if (changes)
			until(is_so(round % 8 < 6 ? GRANULARITY_FINE : GRANULARITY_COARSE));
		for (unsigned i = 0; i < CLIENTS; i++)
			check_ok(notification_signal(s[i]->arg[0]));
		for (unsigned i = 0; i < CLIENTS; i++)
			until(s[i]->out[1] > round);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		s[i]->out[0] = 1;
		until(s[i]->done);
		check_eq(s[i]->out[1], CHANGES);
	}
	if (changes)
		until(is_so(GRANULARITY_COARSE));
}

/* CNODE_LOCALITY and CNODE_LOCALITY_OF: what they set, tell and refuse. */

#define NODE ROOT_SLOT_CNODE

static const enum skerry_object types[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY };
enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* Where the kernel has localities: `mask` and its first core. */
static void check_is(uint64_t slot, uint32_t mask)
{
	bool has = kernel_is("dynamic");
	uint32_t told;
	unsigned home;
	check_ok(cnode_locality(NODE, slot, &told, &home));
	check_eq(told, has ? mask : MASK_ALL);
	check_eq(home, has ? mask_least(mask) : 0);
}

TEST(told, 1, 0, "locality: all cores at first, then what is set, by the kernel's regime")
{
	for (unsigned i = 0; i < TYPES; i++) {
		uint64_t slot = object(types[i], 0);
		check_is(slot, MASK_ALL);
		for (unsigned core = 0; core < cores(); core++) {
			check_ok(cnode_set_locality(NODE, slot, mask_of(core)));
			check_is(slot, mask_of(core));
		}
		check_ok(cnode_set_locality(NODE, slot, MASK_ALL));
		check_is(slot, cores() == 1 ? mask_of(0) : MASK_ALL); /* of one core it is told that it is one */
	}
}

TEST(several, 3, 0, "locality: several cores; a mask of all is that of all; cores that the kernel has not do not count")
{
	uint32_t all = (1u << cores()) - 1;
	uint64_t slot = object(OBJECT_NOTIFICATION, 0);
	check_ok(cnode_set_locality(NODE, slot, mask_make(0, 0, all & ~1u)));
	check_is(slot, mask_make(0, 0, all & ~1u));
	check_ok(cnode_set_locality(NODE, slot, mask_make(0, 0, all)));
	check_is(slot, MASK_ALL);
	check_ok(cnode_set_locality(NODE, slot, mask_make(3, last_core(), 1))); /* eight cores from the last on */
	check_is(slot, mask_of(last_core()));
}

TEST(object, 1, 0, "locality: the object's, not the capability's; the next object in its memory has none")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), slot = slots(2);
	for (unsigned i = 0; i < 2 * TYPES; i++) {
		check_ok(untyped_retype(IPC, memory, types[i % TYPES], 0, NODE, slot, 1));
		check_is(slot, MASK_ALL);
		check_ok(cnode_set_locality(NODE, slot, mask_of(last_core())));
		check_ok(cnode_copy(IPC, NODE, slot + 1, NODE, slot, RIGHT_READ));
		check_is(slot + 1, mask_of(last_core()));
		check_ok(cnode_revoke(NODE, memory));
	}
}

/* Either operation, with so many words. */
static int raw(uint64_t node, enum skerry_invocation label, unsigned words, uint64_t slot, uint64_t mask)
{
	struct message m = { .word = { slot, mask } };
	return invoke(node, label, 0, words, &m);
}

TEST(wrong_slot, 1, 0, "locality: EMPTY_SLOT, BAD_CAP and BAD_ARGUMENT for slots without such an object")
{
	static const enum skerry_object others[] = { OBJECT_UNTYPED, OBJECT_TCB, OBJECT_CNODE, OBJECT_VSPACE,
	                                             OBJECT_PAGE_TABLE, OBJECT_FRAME_4K };
	static const uint8_t bits[] = { 12, 0, 4, 0, 0, 0 };
	uint64_t node = object(OBJECT_CNODE, 4), empty = slot();
	for (enum skerry_invocation label = CNODE_LOCALITY; label <= CNODE_LOCALITY_OF; label++) {
		check_error(raw(NODE, label, 2, empty, 0), EMPTY_SLOT);
		check_error(raw(node, label, 2, 15, 0), EMPTY_SLOT);
		check_error(raw(node, label, 2, 16, 0), BAD_ARGUMENT);
		check_error(raw(node, label, 2, ~0ull, 0), BAD_ARGUMENT);
		check_error(raw(NODE, label, 2, ROOT_SLOT_CONTROL, 0), BAD_CAP);
		for (unsigned i = 0; i < sizeof(bits); i++)
			check_error(raw(NODE, label, 2, object(others[i], bits[i]), 0), BAD_CAP);
	}
}

TEST(rights, 1, 0,
     "locality: NO_RIGHTS for an endpoint or a notification that may not be read; a reply object needs none")
{
	for (unsigned i = 0; i < TYPES; i++) {
		uint64_t made = object(types[i], 0), writer = copy_of(made, RIGHT_ALL & ~RIGHT_READ),
		         reader = copy_of(made, RIGHT_READ);
		int expected = types[i] == OBJECT_REPLY ? 0 : -SKERRY_NO_RIGHTS;
		for (enum skerry_invocation label = CNODE_LOCALITY; label <= CNODE_LOCALITY_OF; label++) {
			check_eq(raw(NODE, label, 2, writer, 0), expected);
			check_ok(raw(NODE, label, 2, reader, 0));
		}
	}
}

TEST(node_rights, 1, 0, "locality: NO_RIGHTS by a CNode that may not be read; one that may only be read does")
{
	uint64_t node = object(OBJECT_CNODE, 4), notification = object(OBJECT_NOTIFICATION, 0);
	check_ok(cnode_copy(IPC, node, 3, NODE, notification, RIGHT_ALL));
	uint64_t writer = copy_of(node, RIGHT_WRITE), reader = copy_of(node, RIGHT_READ);
	for (enum skerry_invocation label = CNODE_LOCALITY; label <= CNODE_LOCALITY_OF; label++) {
		check_error(raw(writer, label, 2, 3, mask_of(0)), NO_RIGHTS);
		check_ok(raw(reader, label, 2, 3, mask_of(0)));
	}
	check_is(notification, mask_of(0));
}

TEST(short_message, 1, 0, "locality: TRUNCATED for a message that is too short")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned words = 0; words < 2; words++)
		check_error(raw(NODE, CNODE_LOCALITY, words, notification, mask_of(0)), TRUNCATED);
	check_error(raw(NODE, CNODE_LOCALITY_OF, 0, notification, 0), TRUNCATED);
	check_is(notification, MASK_ALL);
}

TEST(no_cores, 1, 0, "locality: BAD_ARGUMENT for a mask without a core of this kernel, which changes nothing")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	const uint64_t bad[] = { MASK_NONE, mask_of(cores()), mask_make(0, 200, 0xffff), mask_make(63, 1023, 1),
	                         1ull << 32,
		                 1ull << 32 | mask_of(0), ~0ull };
	check_ok(cnode_set_locality(NODE, notification, mask_of(last_core())));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_error(raw(NODE, CNODE_LOCALITY, 2, notification, bad[i]), BAD_ARGUMENT);
		check_is(notification, mask_of(last_core()));
	}
}
