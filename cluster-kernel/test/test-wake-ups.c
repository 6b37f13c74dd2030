/* SPDX-License-Identifier: BSD-2-Clause */
/* Which thread runs after an entry that has made threads ready: the first of them may never have been in a queue. */
#include "harness.h"
#include "work.h"

enum { NOTE = 1000, NEVER = 1001, EP = 1002, REPLY = 1003, POOL = 1004, A = 1010, ROOT = 50 };

static void objects(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
}

static struct thread *thread_of(unsigned i, unsigned priority) { return make_thread(A + 10 * i, priority, 0); }

/* The current thread waits for ever; this one runs then. */
static void expect_then(const struct thread *next)
{
	simple(0, SYS_WAIT, NEVER);
	EXPECT(running(0), next);
}

/* The current thread makes a call and is displaced before or after it is over. */
static void post_delete(uint64_t slot)
{
	struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
		                     .word = { slot } };
	hosted_post_call(machine, 0, &order);
	settle();
}

static void equals_run_in_the_order_of_waking(void)
{
	enum { COUNT = 5 };
	struct thread *t[COUNT];
	objects();
	for (unsigned i = 0; i < COUNT; i++)
		t[i] = thread_of(i, 100);
	root_priority(ROOT);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(running(0), t[i]);
		simple(0, SYS_RECV, EP);
	}
	post_delete(EP);
	EXPECT(running(0), t[0]);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(result(t[i]), SKERRY_DELETED);
		expect_then(i + 1 < COUNT ? t[i + 1] : machine->root);
	}
}

static void the_best_of_several_runs(void)
{
	static const unsigned priority[] = { 60, 100, 30, 80, 100 }, order[] = { 1, 4, 3, 0 };
	enum { COUNT = sizeof(priority) / sizeof(priority[0]) };
	struct thread *t[COUNT];
	objects();
	machine->kernel.work_budget = WORK_BUDGET; /* all in one entry */
	for (unsigned i = 0; i < COUNT; i++) {
		t[i] = thread_of(i, 200);
		root_priority(ROOT);
		EXPECT(running(0), t[i]);
		simple(0, SYS_RECV, EP);
		EXPECT(call(A + 10 * i, TCB_SCHEDULE, W(priority[i], 0), W(ROOT_SLOT_TCB)), 0);
	}
	post_delete(EP);
	EXPECT(running(0), t[order[0]]);
	for (unsigned i = 1; i < sizeof(order) / sizeof(order[0]); i++)
		expect_then(t[order[i]]);
	expect_then(machine->root);
	expect_then(t[2]);
}

/* A thread that a higher priority interrupted goes on before its equals. */
static void a_higher_one_runs_at_once(void)
{
	objects();
	struct thread *high = thread_of(0, 200), *x = thread_of(1, 100), *y = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), high);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), x);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(running(0), high);
	expect_then(x);
	expect_then(y);
}

/* One that is woken by its equal waits behind those that are ready already. */
static void an_equal_waits_its_turn(void)
{
	objects();
	struct thread *woken = thread_of(0, 100), *x = thread_of(1, 100), *y = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), woken);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), x);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(running(0), x);
	expect_then(y);
	expect_then(woken);
}

/* Also when its waker goes to sleep in the same entry. */
static void an_equal_waits_its_turn_when_its_waker_waits(void)
{
	objects();
	struct thread *client = thread_of(0, 100), *server = thread_of(1, 100), *ready = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), client);
	syscall_on(0, SYS_CALL, EP, 0, NONE, NONE, 0);
	EXPECT(running(0), server);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	EXPECT(running(0), server);
	syscall_on(0, SYS_REPLY_RECV, EP, 0, W(0, 1, 2, 3, 4), NONE, REPLY); /* five words: not the fast path */
	EXPECT(running(0), ready);
	expect_then(client);
}

/*
 * The fast path hands the core over to an equal, past those that are ready: they
 * wait for the end of the slice, which goes on over all of it.
 */
static void a_conversation_has_one_slice(void)
{
	objects();
	struct thread *server = thread_of(0, 100), *client = thread_of(1, 100), *ready = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), server);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT(running(0), client);
		syscall_on(0, SYS_CALL, EP, 0, W(i), NONE, 0);
		EXPECT(running(0), server);
		syscall_on(0, SYS_REPLY_RECV, EP, 0, W(i), NONE, REPLY);
		hosted_advance(machine, machine->kernel.slice / 4);
		settle();
	}
	EXPECT(running(0), client);
	hosted_advance(machine, machine->kernel.slice / 2);
	settle();
	EXPECT(running(0), ready);
	expect_then(client);
}

/*
 * Each call comes well before the slice that began with the last one would be over: the slice goes on all the same,
 * and ends while an equal waits for it.
 */
static void quick_calls_end_their_slice(void)
{
	enum { PARTS = 4, CALLS_MAX = 3 * PARTS };
	unsigned calls = 0;
	objects();
	struct thread *server = thread_of(0, 100), *client = thread_of(1, 100), *ready = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), server);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	for (; calls < CALLS_MAX && running(0) != ready; calls++) {
		EXPECT(running(0) == client || running(0) == server, true);
		if (running(0) == client)
			syscall_on(0, SYS_CALL, EP, 0, W(calls), NONE, 0);
		else
			syscall_on(0, SYS_REPLY_RECV, EP, 0, W(calls), NONE, REPLY);
		EXPECT(machine->core[0].fast, true);
		hosted_advance(machine, machine->kernel.slice / PARTS);
		settle();
	}
	EXPECT(running(0), ready);
	EXPECT(calls, PARTS);
}

/* What a thread had left of its slice when a higher one ran is used once: when it has slept it gets a whole one. */
static void a_rest_of_a_slice_is_used_once(void)
{
	objects();
	const struct thread *high = thread_of(0, 150), *a = thread_of(1, 100), *b = thread_of(2, 100);
	const struct cpu *cpu = machine->kernel.cpu[0];
	uint64_t slice = machine->kernel.slice;
	root_priority(ROOT);
	EXPECT(running(0), high);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), a);
	hosted_advance(machine, slice / 2);
	simple(0, SYS_SIGNAL, NOTE);
	EXPECT(running(0), high);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), a);
	EXPECT(cpu->own.slice_end - hosted_now(machine) <= slice / 2, true);
	simple(0, SYS_WAIT, NEVER);
	EXPECT(running(0), b);
	simple(0, SYS_SIGNAL, NEVER);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), a);
	EXPECT(cpu->own.slice_end - hosted_now(machine) > slice * 3 / 4, true);
}

/* What passes before a call is the caller's, what passes before the answer the server's. */
static void the_fast_path_charges_who_ran(void)
{
	enum { PART = 100000 };
	objects();
	const struct thread *server = thread_of(0, 100), *client = thread_of(1, 100);
	root_priority(ROOT);
	EXPECT(running(0), server);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	uint64_t server_before = server->time;
	EXPECT(running(0), client);
	hosted_advance(machine, PART);
	syscall_on(0, SYS_CALL, EP, 0, W(1), NONE, 0);
	EXPECT(machine->core[0].fast, true);
	EXPECT(running(0), server);
	EXPECT(client->time >= PART && client->time < 2 * PART, true);
	hosted_advance(machine, PART);
	syscall_on(0, SYS_REPLY_RECV, EP, 0, W(1), NONE, REPLY);
	EXPECT(machine->core[0].fast, true);
	EXPECT(running(0), client);
	EXPECT(server->time - server_before >= PART && server->time - server_before < 2 * PART, true);
}

/* Its deadline passes in the entry in which its equals' slice ends: it is behind the thread that waits, before the one
 * that has run. */
static void woken_at_the_end_of_a_slice(void)
{
	objects();
	struct thread *woken = thread_of(0, 100), *x = thread_of(1, 100), *y = thread_of(2, 100);
	root_priority(ROOT);
	EXPECT(running(0), woken);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(machine->time + 2 * machine->kernel.slice), NONE, 0);
	EXPECT(running(0), x);
	hosted_advance(machine, 3 * machine->kernel.slice);
	enter_once();
	EXPECT(woken->state, THREAD_READY);
	EXPECT(running(0), y);
	expect_then(woken);
	expect_then(x);
}

/* The endpoint and the thread that waits for it go in one entry: it is woken, then there is no such thread. */
static void woken_and_destroyed(void)
{
	objects();
	uint64_t start[21] = { 1, 0x1000, 0x2000 };
	make(OBJECT_UNTYPED, 12, POOL, 1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, A, 1), W(CNODE)), 0);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, A + 1, 1), W(CNODE)), 0); /* the youngest goes first */
	EXPECT(call(A, TCB_CONFIGURE, W(0, 0), W(CNODE, VSPACE)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	root_priority(ROOT);
	simple(0, SYS_RECV, A + 1);
	EXPECT(running(0), machine->root);
	machine->kernel.work_budget = WORK_BUDGET; /* all in one entry */
	revoke(POOL);
	EXPECT(running(0), machine->root);
	EXPECT(slot_of(A)->cap.type, 0);
	expect_then(0);
}

/*
 * The same of a thread that has waited on core 1, which idles. That core is not interrupted for it, but is for another
 * thread that waits for the endpoint and stays.
 */
static void woken_on_another_core(struct thread *stays)
{
	uint64_t start[21] = { 1, 0x1000, 0x2000 };
	make(OBJECT_UNTYPED, 12, POOL, 1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, A, 1), W(CNODE)), 0);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, A + 1, 1), W(CNODE)), 0); /* the youngest goes first */
	EXPECT(call(A, TCB_CONFIGURE, W(0, 0), W(CNODE, VSPACE)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	simple(1, SYS_RECV, A + 1);
	if (stays)
		simple(1, SYS_RECV, A + 1);
	EXPECT(running(1), 0);
	const uint32_t before = machine->core[1].entries;
	machine->kernel.work_budget = WORK_BUDGET; /* all in one entry */
	revoke(POOL);
	EXPECT(slot_of(A)->cap.type, 0);
	EXPECT(is_changing() || machine->core[1].entries - before == (stays != 0), true);
	EXPECT(running(1), stays);
}

static void woken_and_destroyed_on_another_core(void)
{
	objects();
	woken_on_another_core(0);
}

static void woken_beside_one_that_is_destroyed(void)
{
	objects();
	woken_on_another_core(make_thread(A + 10, 90, 1));
}

/* Its core runs an equal that never enters the kernel: only an interrupt makes that core count the equal's slice. */
static void an_equal_of_another_core_gets_its_slice(void)
{
	objects();
	struct thread *woken = make_thread(A, 100, 1);
	simple(1, SYS_WAIT, NOTE);
	const struct thread *runs = make_thread(A + 10, 100, 1);
	hosted_advance(machine, 2 * machine->kernel.slice);
	settle();
	EXPECT(running(1), runs);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(running(1), runs);
	hosted_advance(machine, 2 * machine->kernel.slice);
	settle();
	EXPECT(running(1), woken);
}

/* A thread signals and sleeps: the woken one runs behind equals that were ready; where there are none, at once. */
static void signalled_by_a_thread_that_waits(void)
{
	objects();
	struct thread *woken = thread_of(0, 100), *x = thread_of(1, 100), *y = thread_of(2, 100);
	root_priority(ROOT);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), x);
	syscall_on(0, SYS_SIGNAL_WAIT, NEVER, 0, W(0), NONE, NOTE);
	EXPECT(x->state, THREAD_WAITING);
	EXPECT(running(0), y);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), woken);
	syscall_on(0, SYS_SIGNAL_WAIT, NEVER, 0, W(0), NONE, NOTE);
	EXPECT(running(0), y);
	EXPECT(woken->state, THREAD_WAITING);
}

/* One of a higher priority runs before the caller has slept at all; the caller's word was there already. */
static void signalled_above_a_thread_that_goes_on(void)
{
	objects();
	struct thread *high = thread_of(0, 200), *x = thread_of(1, 100);
	root_priority(ROOT);
	simple(0, SYS_WAIT, NOTE);
	EXPECT(running(0), x);
	EXPECT(simple(0, SYS_SIGNAL, NEVER), 0);
	syscall_on(0, SYS_SIGNAL_WAIT, NEVER, 0, W(0), NONE, NOTE);
	EXPECT(running(0), high);
	EXPECT(x->state, THREAD_READY);
	EXPECT(result(x), 0);
	expect_then(x);
}

TESTS(wake_ups) = {
	{ "equals run in the order of waking", equals_run_in_the_order_of_waking, 1 },
	{ "the best of several that are woken runs", the_best_of_several_runs, 1 },
	{ "a higher one runs at once", a_higher_one_runs_at_once, 1 },
	{ "an equal waits its turn", an_equal_waits_its_turn, 1 },
	{ "an equal waits its turn when its waker waits", an_equal_waits_its_turn_when_its_waker_waits, 1 },
	{ "a conversation has one slice", a_conversation_has_one_slice, 1 },
	{ "quick calls end their slice", quick_calls_end_their_slice, 1 },
	{ "a rest of a slice is used once", a_rest_of_a_slice_is_used_once, 1 },
	{ "the fast path charges the thread that ran", the_fast_path_charges_who_ran, 1 },
	{ "woken at the end of a slice", woken_at_the_end_of_a_slice, 1 },
	{ "an equal of another core gets its slice", an_equal_of_another_core_gets_its_slice, 2 },
	{ "signalled by a thread that waits", signalled_by_a_thread_that_waits, 1 },
	{ "signalled above a thread that goes on", signalled_above_a_thread_that_goes_on, 1 },
	{ "woken and destroyed", woken_and_destroyed, 1 },
	{ "woken and destroyed on another core", woken_and_destroyed_on_another_core, 2 | TEST_ONCE },
	{ "woken beside one that is destroyed", woken_beside_one_that_is_destroyed, 2 | TEST_ONCE },
	{ 0 },
};
