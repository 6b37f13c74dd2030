/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Visitors, threads whose calls another core makes (core/visit.h), where they come in numbers: the core's own threads
 * have their turns, the core does not leave before all calls are made, and a visitor that is suspended is not searched
 * for free.
 */
#include <string.h>
#include <skerry/cluster_mask.h>
#include <skerry/core_control.h>
#include "check.h"
#include "endpoint.h"
#include "fiber.h"
#include "harness.h"
#include "locality.h"
#include "notification.h"
#include "pair.h"
#include "ticket_lock.h"
#include "visit.h"
#include LOCKING_HEADER

enum { HOME = 1, AT = 2, NOTE = 1900, OTHER_NOTE = 1700, VICTIM = 1000, THREAD = 2000, THREADS = 60, CROWD = 80,
       ENDPOINT = 1750, RECEIVER = 1010, FIRST = PAIR_FIRST, BUDGET = 6000 };

static struct thread *thread[CROWD];

/* Core 1 is the home of a notification, which `count` threads on the cores from 2 on will signal; kernel fine. */
static void begin(unsigned cores, unsigned count)
{
	const struct hosted_controlled controlled = { FIRST + 1, cores, 0 };
	struct hosted_config config = { .cluster = FIRST, .cores = cores, .seed = machine->config.seed,
	                                .controlled_count = 1, .controlled = &controlled };
	pair[0] = hosted_create(&config);
	be(0);
	check_every(1u << 30);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	memset(thread, 0, sizeof(thread));
	for (unsigned i = 0; i < count; i++)
		thread[i] = make_thread(THREAD + 2 * i, 100 - i % 100, AT + i % (cores - AT));
	while (order_granularity(GRANULARITY_FINE))
		settle();
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE, mask_of(HOME)), NONE), 0);
	settle();
	machine->kernel.work_budget = BUDGET;
}

static void end(void)
{
	settle();
	kernel_check(machine);
	hosted_destroy(pair[0]);
	be_oneself();
}

static void step(unsigned core)
{
	hosted_self = &machine->core[core];
	fiber_resume(&hosted_self->fiber);
	hosted_self = 0;
}

enum { PATIENCE = 1000 }; /* so many rounds; then cores are waited for that do not go on: a writer waits for all */

static void run_all_but_home(void)
{
	unsigned rounds = 0;
	for (bool any = true; any;) {
		any = false;
		rounds++;
		for (unsigned i = 0; i < machine->config.cores; i++)
			if ((i != HOME || rounds > PATIENCE) && hosted_core_busy(&machine->core[i])) {
				step(i);
				any = true;
			}
	}
}

/* One entry, to its end. */
static void enter_home(void)
{
	unsigned rounds = 0;
	for (step(HOME); machine->core[HOME].inside; step(HOME))
		for (unsigned i = 0; ++rounds > PATIENCE && i < machine->config.cores; i++)
			if (i != HOME && hosted_core_busy(&machine->core[i]))
				step(i);
}

static void all_go_away(unsigned count)
{
	const struct hosted_call signal = { .number = SYS_SIGNAL, .cptr = NOTE };
	for (unsigned i = 0; i < count; i++) {
		hosted_post_call(machine, AT, &signal);
		run_all_but_home();
		EXPECT(thread[i]->state, THREAD_AWAY);
	}
}

static unsigned away(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < CROWD && thread[i]; i++)
		count += thread[i]->state == THREAD_AWAY;
	return count;
}

/* Each budget of visitors is followed by a turn of the core's own thread, however many are left, or come meanwhile. */
static void own_threads_have_turns(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	struct thread *victim = make_thread(VICTIM, 255, HOME);
	EXPECT(running(HOME), victim);
	all_go_away(THREADS);
	const struct hosted_call poll = { .number = SYS_POLL, .cptr = NOTE };
	unsigned budgets = 0;
	while (away()) {
		unsigned before = away();
		enter_home();
		EXPECT(away() < before, true);
		budgets++;
		hosted_post_call(machine, HOME, &poll);
		while (!hosted_done(machine, HOME)) {
			before = away();
			enter_home();
			EXPECT(away(), before); /* entries before the turn make no calls */
		}
		uint64_t until = machine->kernel.cpu[HOME]->own.visits_until;
		EXPECT(until >= hosted_now(machine) + machine->kernel.visit_turn / 2, true);
		hosted_advance(machine, until - hosted_now(machine));
	}
	EXPECT(budgets, THREADS / (BUDGET / 400));
	end();
}

/* Nine cores signal without end; their threads are of the lowest priority. */
enum { FLOODERS = 9, PART = 100 };
static uint64_t turns, outside, left_at, flood_calls;
static bool flooding;

static bool flood(void *argument, struct hosted *m, unsigned core)
{
	static const struct hosted_call signal = { .number = SYS_SIGNAL, .cptr = NOTE };
	(void)argument;
	if (!flooding || core < AT)
		return false;
	flood_calls++;
	hosted_post_call(m, core, &signal);
	return true;
}

static void own_threads_keep_their_core(void)
{
	if (!objects_have_homes())
		return;
	begin(AT + FLOODERS, THREADS);
	make_thread(VICTIM, 255, HOME);
	machine->config.program = flood;
	flooding = true, turns = outside = flood_calls = 0;
	for (unsigned i = AT; i < AT + FLOODERS; i++)
		machine->core[i].quiet = false;
	const uint64_t start = hosted_now(machine);
	left_at = start;
	for (unsigned n = 0; n < 400000; n++) {
		struct hosted_core *home = &machine->core[HOME];
		unsigned i = HOME + n % (FLOODERS + 1);
		if (n % PART == 0)
			hosted_advance(machine, PART); /* the time of programs */
		if (!hosted_core_busy(&machine->core[i]))
			continue;
		bool enters = i == HOME && !home->inside;
		if (enters)
			outside += hosted_now(machine) - left_at, turns++;
		step(i);
		if (i == HOME && !home->inside)
			left_at = hosted_now(machine);
	}
	EXPECT(flood_calls > 1000 && turns > 10, true);
	EXPECT(outside * 2 > hosted_now(machine) - start, true);
	flooding = false;
	end();
}

/* The first budget has been made, the rest has been taken from the list of those that came; the object has no home any
 * more. */
static void a_core_does_not_leave_its_visitors(void)
{
	const uint64_t leaves = (FIRST * HOSTED_CORES) + HOME;
	if (!objects_have_homes())
		return;
	for (unsigned entries = 0; entries < 3; entries++) {
		begin(3, THREADS);
		EXPECT(running(HOME), 0);
		all_go_away(THREADS);
		for (unsigned i = 0; i < entries; i++)
			enter_home();
		EXPECT(away() > 0, true);
		locality_set(&machine->kernel, &slot_of(NOTE)->cap, MASK_ALL);
		const struct hosted_call leave = { .number = SYS_CALL, .cptr = ROOT_SLOT_CLUSTER_CONTROL,
		                                   .info = message_info(CORE_LEAVE, 0, 2),
		                                   .word = { leaves, FIRST + 1 } };
		hosted_post_call(machine, 0, &leave);
		settle();
		EXPECT(away(), 0);
		EXPECT(result(machine->root) == SKERRY_BUSY || result(machine->root) == SKERRY_OK, true);
		end();
	}
}

/* A thread that is away is searched for: that counts as work. */
static void a_search_is_charged(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	all_go_away(THREADS);
	const struct hosted_call suspend = { .number = SYS_CALL, .cptr = THREAD,
	                                     .info = message_info(TCB_SUSPEND, 0, 0) };
	hosted_post_call(machine, 0, &suspend);
	run_all_but_home();
	EXPECT(thread[0]->state, THREAD_INACTIVE);
	EXPECT(BUDGET - machine->kernel.cpu[0]->own.work_left >= THREADS * 4, true);
	end();
}

/* Where so many wait for a home already, a call does not travel: its thread makes it as the writer. */
static void a_home_has_enough_visitors(void)
{
	if (!objects_have_homes())
		return;
	begin(3, CROWD);
	all_go_away(VISITORS_MAX);
	for (unsigned i = VISITORS_MAX; i < CROWD; i++) {
		hosted_post_call(machine, AT, &(struct hosted_call){ .number = SYS_SIGNAL, .cptr = NOTE });
		run_all_but_home();
		EXPECT(running(AT), thread[VISITORS_MAX]);
		EXPECT(result(thread[VISITORS_MAX]), 0);
		EXPECT(((const struct notification *)slot_of(NOTE)->cap.object)->word, 1);
		EXPECT(away(), VISITORS_MAX);
	}
	settle();
	EXPECT(away(), 0);
	end();
}

/*
 * A turn of own threads is no longer than a time slice, however long a host has stopped the core among visitors' calls:
 * here at a lock that another core seems to hold.
 */
static void a_turn_has_an_end(void)
{
	if (!objects_have_homes())
		return;
	begin(3, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	const struct thread *receiver = make_thread(RECEIVER, 255, AT);
	EXPECT(call(RECEIVER, TCB_BIND, NONE, W(NOTE)), 0);
	syscall_on(AT, SYS_RECV, ENDPOINT, 0, NONE, NONE, 0);
	EXPECT(receiver->state, THREAD_RECEIVING);
	struct thread *victim = make_thread(VICTIM, 255, HOME);
	EXPECT(running(HOME), victim);
	all_go_away(1);
	const uint64_t slice = machine->kernel.slice;
	struct cpu *home = machine->kernel.cpu[HOME];
	struct ticket_lock *lock = (struct ticket_lock *)&((struct endpoint *)slot_of(ENDPOINT)->cap.object)->lock;
	uint32_t ticket = atomic_fetch_add(&lock->next, 1);
	home->own.visits_until = 0;
	for (unsigned i = 0; i < PATIENCE; i++)
		step(HOME);
	EXPECT(machine->core[HOME].inside, true);
	hosted_advance(machine, 10 * slice);
	ticket_release(lock, ticket);
	while (machine->core[HOME].inside)
		step(HOME);
	EXPECT(thread[0]->state, THREAD_READY);
	EXPECT(home->own.visits_until > hosted_now(machine) - slice, true);
	EXPECT(home->own.visits_until <= hosted_now(machine) + slice + machine->kernel.visit_turn, true);
	end();
}

static bool goes_back(unsigned i) { return thread[i]->state == THREAD_READY && thread[i]->context.again; }

/* Of those whose calls have been made, so that those run that must make theirs again: these are of lower priority. */
static void suspend_served(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct hosted_call suspend = { .number = SYS_CALL, .cptr = THREAD + 2 * i,
		                                     .info = message_info(TCB_SUSPEND, 0, 0) };
		hosted_post_call(machine, 0, &suspend);
		run_all_but_home();
		EXPECT(thread[i]->state, THREAD_INACTIVE);
	}
}

/*
 * The timer's entry at the end of a turn may have the kernel for itself, because of other work that is due. It makes no
 * visitor's call then. Each goes back, and its own core makes the call: it does not travel again, to the next such
 * entry.
 */
static void calls_that_go_back_are_made(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	make_thread(VICTIM, 255, HOME);
	EXPECT(running(HOME) != 0, true);
	all_go_away(THREADS);
	enter_home();
	struct cpu *home = machine->kernel.cpu[HOME];
	while (!home->own.visits_at)
		enter_home();
	unsigned before = away();
	EXPECT(before > 0 && home->own.visits_until > hosted_now(machine), true);
	/* another thing that is due then, for which the entry must be exclusive */
	home->own.report_at = home->own.visits_at;
	hosted_advance(machine, home->own.visits_at - hosted_now(machine));
	enter_home();
	EXPECT(home->own.report_at, 0);
	EXPECT(away() < before, true);
	unsigned first = 0;
	while (!goes_back(first))
		first++;
	suspend_served(first);
	EXPECT(thread[first]->state, THREAD_READY);
	EXPECT(goes_back(first), false);
	end();
}

/* Without a thread of its own a core makes calls at once: no turn ends first. */
static void no_turn_for_nobody(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	make(OBJECT_NOTIFICATION, 0, OTHER_NOTE, 1);
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = OTHER_NOTE };
	make_thread(VICTIM, 255, HOME);
	EXPECT(running(HOME) != 0, true);
	all_go_away(THREADS);
	while (!machine->kernel.cpu[HOME]->own.visits_at)
		enter_home();
	EXPECT(away() > 0, true);
	hosted_post_call(machine, HOME, &wait);
	while (hosted_core_busy(&machine->core[HOME]))
		enter_home();
	EXPECT(running(HOME), 0);
	EXPECT(away(), 0);
	end();
}

/* An entry that has spent its budget on deadlines makes no calls, and begins no turn without that. */
static void deadlines_take_no_turn(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	make(OBJECT_NOTIFICATION, 0, OTHER_NOTE, 1);
	make_thread(VICTIM + 2, 254, HOME);
	const uint64_t deadline = hosted_now(machine) + machine->kernel.tsc_hz;
	syscall_on(HOME, SYS_WAIT, OTHER_NOTE, 0, W(deadline), NONE, 0);
	make_thread(VICTIM, 254, HOME);
	EXPECT(running(HOME) != 0, true);
	all_go_away(THREADS);
	hosted_advance(machine, deadline - hosted_now(machine) - machine->kernel.visit_turn);
	struct cpu *home = machine->kernel.cpu[HOME];
	while (!home->own.visits_at)
		enter_home();
	hosted_advance(machine, deadline - hosted_now(machine) + 100 * machine->kernel.visit_turn);
	machine->kernel.work_budget = 1;
	unsigned before = away();
	EXPECT(before > 0, true);
	enter_home();
	EXPECT(away(), before);
	EXPECT(home->own.visits_at && home->own.visits_at <= hosted_now(machine), true);
	for (unsigned entries = 0; entries < 4 && away() == before; entries++)
		enter_home(); /* the first ones correct what the deadline has left in its heap */
	EXPECT(away(), before - 1);
	end();
}

/* A thread that another core has woken, and its own has not placed yet: to search for it counts as work, too. */
static void a_search_for_the_woken_is_charged(void)
{
	if (!objects_have_homes())
		return;
	begin(3, THREADS);
	make(OBJECT_NOTIFICATION, 0, OTHER_NOTE, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		syscall_on(AT, SYS_WAIT, OTHER_NOTE + i, 0, NONE, NONE, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct hosted_call signal = { .number = SYS_SIGNAL, .cptr = OTHER_NOTE + i };
		hosted_post_call(machine, 0, &signal);
		while (!hosted_done(machine, 0) || machine->core[0].inside)
			step(0);
		EXPECT(thread[i]->queued, THREAD_REQUEUED);
	}
	const struct hosted_call suspend = { .number = SYS_CALL, .cptr = THREAD,
	                                     .info = message_info(TCB_SUSPEND, 0, 0) };
	hosted_post_call(machine, 0, &suspend);
	unsigned rounds = 0;
	while ((!hosted_done(machine, 0) || machine->core[0].inside) && rounds++ < PATIENCE)
		step(0);
	/* for a core that has a bias, and places its threads when it gives that up */
	const bool waits = machine->core[0].inside;
	const int32_t left = machine->kernel.cpu[0]->own.work_left;
	settle();
	EXPECT(thread[0]->state, THREAD_INACTIVE);
	EXPECT(waits || BUDGET - left >= THREADS * 4, true);
	end();
}

TESTS(visitors) = {
	{ "own threads have turns between visitors", own_threads_have_turns, 3 | TEST_ONCE },
	{ "own threads keep their core", own_threads_keep_their_core, 3 | TEST_ONCE },
	{ "a core does not leave its visitors", a_core_does_not_leave_its_visitors, 3 },
	{ "calls that go back are made", calls_that_go_back_are_made, 3 | TEST_ONCE },
	{ "a search for a visitor is charged", a_search_is_charged, 3 | TEST_ONCE },
	{ "a search for a woken thread is charged", a_search_for_the_woken_is_charged, 3 | TEST_ONCE },
	{ "a home has enough visitors", a_home_has_enough_visitors, 3 | TEST_ONCE },
	{ "a turn has an end", a_turn_has_an_end, 3 | TEST_ONCE },
	{ "no turn for nobody", no_turn_for_nobody, 3 | TEST_ONCE },
	{ "deadlines take no turn", deadlines_take_no_turn, 3 | TEST_ONCE },
	{ 0 },
};
