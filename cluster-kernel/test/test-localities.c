/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Localities of objects (CNODE_LOCALITY): setting and reading them; each call to an object that is away against the
 * same call to one that is not; threads that are on their way while they, or what they go to, are changed. In regimes
 * without localities the same holds: nothing is away.
 */
#include <stdio.h>
#include <skerry/cluster_mask.h>
#include "harness.h"
#include "lock.h"
#include "thread.h"

enum { NOTE = 1000, ENDPOINT = 1001, REPLY = 1002, READ_ONLY = 1010, NO_READ, SMALL_NODE = 1020, OTHER = 1030, A = 1100,
       B = 1120, C = 1140 };
enum { CORES = 3, HOME = 2, VALUES = 80 };

static void be_fine(void)
{
	if (objects_have_homes())
		while (order_granularity(GRANULARITY_FINE))
			settle();
}

static uint64_t set(uint64_t slot, uint64_t mask) { return call(CNODE, CNODE_LOCALITY, W(slot, mask), NONE); }
static void go_home(uint64_t slot, unsigned core) { EXPECT(set(slot, mask_of(core)), 0); }

static void expect_locality(uint64_t slot, uint64_t mask, unsigned home)
{
	EXPECT(call(CNODE, CNODE_LOCALITY_OF, W(slot), NONE), 0);
	EXPECT(word(machine->root, 0), objects_have_homes() ? mask : MASK_ALL);
	EXPECT(word(machine->root, 1), objects_have_homes() ? home : 0);
}

static void set_and_told(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	for (unsigned slot = NOTE; slot <= REPLY; slot++) {
		expect_locality(slot, MASK_ALL, 0);
		for (unsigned core = 0; core < CORES; core++) {
			go_home(slot, core);
			expect_locality(slot, mask_of(core), core);
		}
		EXPECT(set(slot, mask_make(0, 0, 6)), 0);
		expect_locality(slot, mask_make(0, 0, 6), 1);
		EXPECT(set(slot, mask_make(0, 0, 7)), 0); /* every core */
		expect_locality(slot, MASK_ALL, 0);
		EXPECT(set(slot, mask_make(2, 2, 1)), 0); /* cores 2 to 5 */
		expect_locality(slot, mask_of(2), 2);
		EXPECT(set(slot, MASK_ALL), 0);
		expect_locality(slot, MASK_ALL, 0);
	}
}

/* Another object in the same memory has none. */
static void not_inherited(void)
{
	make(OBJECT_UNTYPED, 12, OTHER, 1);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(call(OTHER, UNTYPED_RETYPE, W(OBJECT_NOTIFICATION, 0, NOTE, 1), W(CNODE)), 0);
		expect_locality(NOTE, MASK_ALL, 0);
		go_home(NOTE, HOME);
		copy(READ_ONLY, NOTE, RIGHT_READ, 0);
		expect_locality(READ_ONLY, mask_of(HOME), HOME); /* the object's, not the capability's */
		revoke(OTHER);
	}
}

static void refused(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_CNODE, 4, SMALL_NODE, 1);
	copy(NO_READ, NOTE, RIGHT_WRITE, 0);
	copy(NO_READ + 1, ENDPOINT, RIGHT_WRITE | RIGHT_GRANT, 0);
	copy(SMALL_NODE + 1, SMALL_NODE, RIGHT_WRITE, 0);
	for (unsigned label = CNODE_LOCALITY; label <= CNODE_LOCALITY_OF; label++) {
		EXPECT(call(CNODE, label, W(NO_READ, 0), NONE), SKERRY_NO_RIGHTS);
		EXPECT(call(CNODE, label, W(NO_READ + 1, 0), NONE), SKERRY_NO_RIGHTS);
		EXPECT(call(SMALL_NODE + 1, label, W(1, 0), NONE), SKERRY_NO_RIGHTS);
		EXPECT(call(SMALL_NODE, label, W(1, 0), NONE), SKERRY_EMPTY_SLOT);
		EXPECT(call(SMALL_NODE, label, W(16, 0), NONE), SKERRY_BAD_ARGUMENT);
		EXPECT(call(CNODE, label, W(ROOT_SLOT_TCB, 0), NONE), SKERRY_BAD_CAP);
		EXPECT(call(CNODE, label, W(SMALL_NODE, 0), NONE), SKERRY_BAD_CAP);
		EXPECT(call(CNODE, label, NONE, NONE), SKERRY_TRUNCATED);
	}
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE), NONE), SKERRY_TRUNCATED);
	EXPECT(set(NOTE, MASK_NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(set(NOTE, mask_of(CORES)), SKERRY_BAD_ARGUMENT);
	EXPECT(set(NOTE, mask_make(0, 250, 0xffff)), SKERRY_BAD_ARGUMENT);
	EXPECT(set(NOTE, 1ull << 32), SKERRY_BAD_ARGUMENT);
	EXPECT(set(NOTE, ~0ull), SKERRY_BAD_ARGUMENT);
	expect_locality(NOTE, MASK_ALL, 0);
}

/* Everything that a test's threads can see, after it. */
struct outcome {
	uint64_t value[VALUES];
	unsigned count;
};

static void note(struct outcome *outcome, uint64_t value)
{
	EXPECT(outcome->count < VALUES, true);
	outcome->value[outcome->count++] = value;
}

/* Of a wait with a deadline; that is another each time, and stays in its register. */
static void note_wait(struct outcome *outcome, const struct thread *thread)
{
	note(outcome, thread->state);
	note(outcome, result(thread));
	note(outcome, badge(thread));
}

static void note_thread(struct outcome *outcome, const struct thread *thread)
{
	note_wait(outcome, thread);
	note(outcome, thread->context.registers.rsi);
	for (unsigned i = 0; i < 5; i++)
		note(outcome, word(thread, i));
}

/* A and, below it, B on core 1; C on core HOME. */
static struct thread *a, *b, *c;

static void fresh(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	make(OBJECT_NOTIFICATION, 0, OTHER, 1);
	a = make_thread(A, 120, 1);
	b = make_thread(B, 100, 1);
	c = make_thread(C, 100, HOME);
	copy(READ_ONLY, NOTE, RIGHT_READ, 0);
	copy(NO_READ, NOTE, RIGHT_WRITE, 6);
	copy(READ_ONLY + 2, ENDPOINT, RIGHT_READ, 0);
	copy(READ_ONLY + 3, ENDPOINT, RIGHT_WRITE, 9);
}

/* What is left of one run goes before the next. */
static void unmake(void)
{
	for (unsigned slot = NOTE; slot <= REPLY; slot++) {
		revoke(slot);
		delete(slot);
	}
	revoke(OTHER);
	delete(OTHER);
	for (unsigned slot = A; slot <= C; slot += B - A) {
		delete(slot);
		delete(slot + 1);
	}
}

static uint64_t on_1(unsigned number, uint64_t cptr, uint64_t reply)
{
	return syscall_on(1, number, cptr, 3, W(11, 22, 33, 44, 55), NONE, reply);
}
static uint64_t on_home(unsigned number, uint64_t cptr, uint64_t reply)
{
	return syscall_on(HOME, number, cptr, 5, W(66, 77, 88, 99, 111), NONE, reply);
}
static uint64_t wait_on(unsigned core, uint64_t cptr, uint64_t deadline)
{
	return syscall_on(core, SYS_WAIT, cptr, 0, W(deadline), NONE, 0);
}

static void signals(struct outcome *o)
{
	note(o, on_1(SYS_SIGNAL, NO_READ, 0));
	note(o, on_1(SYS_SIGNAL, NOTE, 0));
	note(o, on_1(SYS_SIGNAL, READ_ONLY, 0)); /* NO_RIGHTS */
	note(o, on_1(SYS_POLL, NO_READ, 0));     /* NO_RIGHTS */
	note(o, on_1(SYS_POLL, ENDPOINT, 0));    /* BAD_CAP */
	note(o, on_1(SYS_POLL, NOTE, 0));
	note(o, badge(a));
	note(o, on_1(SYS_POLL, NOTE, 0));
	note(o, badge(a));
	on_1(SYS_SIGNAL, NO_READ, 0);
	note(o, wait_on(1, NOTE, 0));
	note(o, badge(a));
}

static void waits(struct outcome *o)
{
	wait_on(1, NOTE, 0); /* A waits, B runs */
	EXPECT(running(1), b);
	wait_on(1, NOTE, 0);
	EXPECT(running(1), 0);
	note(o, on_home(SYS_SIGNAL, NO_READ, 0));
	EXPECT(running(1), a);
	note_thread(o, a);
	note(o, on_1(SYS_SIGNAL, NOTE, 0));
	note_thread(o, b);
}

static void deadlines(struct outcome *o)
{
	note(o, wait_on(1, NOTE, 1)); /* over */
	wait_on(1, NOTE, machine->time + 10000);
	EXPECT(running(1), b);
	wait_on(1, NOTE, machine->time + 20000);
	EXPECT(running(1), 0);
	hosted_advance(machine, 15000);
	settle();
	EXPECT(running(1), a);
	note_wait(o, a);
	note(o, on_home(SYS_SIGNAL, NOTE, 0));
	hosted_advance(machine, 15000);
	settle();
	note_wait(o, b);
}

static void signal_and_wait(struct outcome *o)
{
	syscall_on(1, SYS_SIGNAL_WAIT, OTHER, 0, W(0), NONE, NOTE); /* A signals the one and waits for the other */
	note_wait(o, a);
	note(o, on_home(SYS_POLL, NOTE, 0));
	note(o, badge(c));
	note(o, on_home(SYS_SIGNAL, OTHER, 0));
	note_wait(o, a);
	note(o, syscall_on(1, SYS_SIGNAL_WAIT, OTHER, 0, W(0), NONE, READ_ONLY));
	note(o, syscall_on(1, SYS_SIGNAL_WAIT, NO_READ, 0, W(0), NONE, NOTE));
	note(o, on_home(SYS_POLL, NOTE, 0));
	note(o, badge(c));
	syscall_on(1, SYS_SIGNAL_WAIT, NOTE, 0, W(machine->time + 10000), NONE, OTHER);
	hosted_advance(machine, 15000);
	settle();
	note_wait(o, a);
}

/* B signals A and the other object in one call; what is refused is reached last. */
static void sets(struct outcome *o)
{
	const uint64_t other = 1ull << (OTHER - NOTE), bad = 1ull << 63;
	wait_on(1, NOTE, 0);
	EXPECT(running(1), b);
	note(o, syscall_on(1, SYS_SIGNAL_SET, NOTE, 0, W(1 | other), NONE, 0));
	EXPECT(running(1), a);
	note_wait(o, a);
	note(o, word(b, 0));
	note(o, on_home(SYS_POLL, OTHER, 0));
	note(o, badge(c));
	note(o, syscall_on(1, SYS_SIGNAL_SET, NOTE, 0, W(1 | other | bad), NONE, 0)); /* BAD_CAP */
	note(o, word(a, 0));
	note(o, on_home(SYS_POLL, NOTE, 0));
	note(o, badge(c));
	note(o, syscall_on(1, SYS_SIGNAL_SET, NOTE, 0, W(other | 1 << (READ_ONLY - NOTE)), NONE, 0)); /* NO_RIGHTS */
	note(o, word(a, 0));
	note(o, on_home(SYS_POLL, OTHER, 0));
	note(o, badge(c));
}

static void calls(struct outcome *o)
{
	on_home(SYS_RECV, ENDPOINT, REPLY);
	on_1(SYS_CALL, READ_ONLY + 3, 0);
	EXPECT(running(HOME), c);
	note_thread(o, c);
	EXPECT(running(1), b);
	note_thread(o, a);
	on_home(SYS_REPLY_RECV, ENDPOINT, REPLY);
	note_thread(o, a);
	note(o, on_1(SYS_SEND, READ_ONLY + 3, 0));
	note_thread(o, c);
	note(o, on_home(SYS_REPLY, 0, REPLY)); /* NO_REPLY */
	note(o, on_home(SYS_NB_RECV, ENDPOINT, REPLY)); /* WOULD_BLOCK */
}

static void sends(struct outcome *o)
{
	note(o, on_1(SYS_NB_SEND, ENDPOINT, 0));
	note(o, on_1(SYS_CALL, READ_ONLY + 2, 0)); /* NO_RIGHTS */
	note(o, on_1(SYS_RECV, READ_ONLY + 3, 0)); /* NO_RIGHTS */
	note(o, on_1(SYS_RECV, ENDPOINT, NOTE));   /* BAD_CAP */
	note(o, on_1(SYS_NB_RECV, ENDPOINT, REPLY));
	note(o, on_1(SYS_REPLY, 0, REPLY)); /* NO_REPLY */
	note(o, on_1(SYS_REPLY_RECV, ENDPOINT, REPLY));
	on_1(SYS_SEND, READ_ONLY + 3, 0);
	EXPECT(running(1), b);
	note(o, on_1(SYS_NB_RECV, ENDPOINT, REPLY));
	note_thread(o, b);
	note(o, result(a));
}

static void receives_from_away(struct outcome *o)
{
	on_1(SYS_RECV, ENDPOINT, REPLY); /* A serves */
	EXPECT(running(1), b);
	note(o, on_1(SYS_RECV, ENDPOINT, REPLY)); /* BUSY: B */
	on_home(SYS_CALL, READ_ONLY + 3, 0);
	note_thread(o, a);
	note_thread(o, c);
	delete(REPLY);
	note_thread(o, c);
}

static void bound(struct outcome *o)
{
	EXPECT(call(A, TCB_BIND, NONE, W(NOTE)), 0);
	on_1(SYS_RECV, ENDPOINT, REPLY);
	note(o, on_home(SYS_SIGNAL, NO_READ, 0));
	note_thread(o, a);
	note(o, on_home(SYS_SIGNAL, NOTE, 0));
	note(o, on_1(SYS_NB_RECV, ENDPOINT, REPLY));
	note_thread(o, a);
	note(o, on_1(SYS_NB_RECV, ENDPOINT, REPLY));
	note(o, call(A, TCB_UNBIND, NONE, NONE));
}

static void deleted(struct outcome *o)
{
	wait_on(1, NOTE, 0);
	on_1(SYS_SEND, ENDPOINT, 0);
	on_home(SYS_RECV, OTHER, 0);
	revoke(NOTE);
	delete(NOTE);
	note_thread(o, a);
	revoke(ENDPOINT);
	delete(ENDPOINT);
	note_thread(o, b);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
}

static void suspended(struct outcome *o)
{
	wait_on(1, NOTE, 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	note(o, on_home(SYS_SIGNAL, NOTE, 0));
	note_thread(o, b);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	note_thread(o, a);
	wait_on(1, NOTE, 0);
	EXPECT(call(A, TCB_SCHEDULE, W(100, HOME), W(ROOT_SLOT_TCB)), 0);
	note(o, on_home(SYS_SIGNAL, NOTE, 0));
	note_thread(o, a);
}

/*
 * The homes of notification, endpoint and reply object in one run; CORES: no locality. The first run is the measure.
 * Where objects have no homes, one more shows that they are without effect.
 */
static const unsigned homes[][3] = {
	{ CORES, CORES, CORES }, { HOME, HOME, HOME }, { HOME, CORES, CORES }, { CORES, HOME, CORES },
	{ CORES, CORES, HOME },
	{ 1, 1, 1 }, { 0, 0, 0 }, { 0, 1, 2 }, { 2, 0, 1 }, { 1, 2, 0 }, { 1, 2, 2 }, { 2, 1, 2 },
};

static void compare(void (*scenario)(struct outcome *))
{
	struct outcome first = { .count = 0 };
	const unsigned runs = objects_have_homes() ? sizeof(homes) / sizeof(homes[0]) : 2;
	for (unsigned i = 0; i < runs; i++) {
		struct outcome o = { .count = 0 };
		fresh();
		be_fine();
		for (unsigned j = 0; j < 3; j++)
			if (homes[i][j] < CORES)
				go_home(NOTE + j, homes[i][j]);
		scenario(&o);
		unmake();
		if (!i)
			first = o;
		EXPECT(o.count, first.count);
		for (unsigned j = 0; j < o.count; j++)
			if (o.value[j] != first.value[j]) {
				fprintf(stderr, "homes %u %u %u, value %u\n", homes[i][0], homes[i][1], homes[i][2], j);
				EXPECT(o.value[j], first.value[j]);
			}
	}
}

static void same_signals(void) { compare(signals); }
static void same_waits(void) { compare(waits); }
static void same_deadlines(void) { compare(deadlines); }
static void same_signal_and_wait(void) { compare(signal_and_wait); }
static void same_sets(void) { compare(sets); }
static void same_calls(void) { compare(calls); }
static void same_sends(void) { compare(sends); }
static void same_receives(void) { compare(receives_from_away); }
static void same_bound(void) { compare(bound); }
static void same_deleted(void) { compare(deleted); }
static void same_suspended(void) { compare(suspended); }

TESTS(localities) = {
	{ "set and told", set_and_told, CORES },
	{ "not inherited", not_inherited, CORES },
	{ "refused", refused, CORES },
	{ "signals", same_signals, CORES },
	{ "waits", same_waits, CORES },
	{ "deadlines", same_deadlines, CORES },
	{ "signal and wait", same_signal_and_wait, CORES },
	{ "signals to a set", same_sets, CORES },
	{ "calls", same_calls, CORES },
	{ "sends", same_sends, CORES },
	{ "receives", same_receives, CORES },
	{ "bound", same_bound, CORES },
	{ "deleted", same_deleted, CORES },
	{ "suspended", same_suspended, CORES },
	{ 0 },
};
