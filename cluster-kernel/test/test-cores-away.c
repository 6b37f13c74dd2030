/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel while one of its cores is away, or is on its way and does not arrive. */
#include <skerry/core_control.h>
#include <skerry/memory_control.h>
#include "harness.h"
#include "pair.h"
#include "thread.h"
#include LOCKING_HEADER

enum { ORDERS = 4, CORE = 1, NEIGHBOUR = 5, NOTE = 2030, HANDLER = 2040 };
enum { FIRST = PAIR_FIRST, THREAD = 2000, NODE = 2010, MEMORY = 2020, BITS = 22, NODE_BITS = 10, LARGE = 96 << 20 };

/* The kernel's locks can still be changed, to and fro, by the cores that are here. */
static void expect_changes_end(unsigned which)
{
	for (unsigned turns = 0; objects_have_homes() && turns < 4; turns++) {
		enum granularity wanted = turns % 2 ? GRANULARITY_COARSE : GRANULARITY_FINE;
		for (unsigned i = 0; i < 3; i++)
			pair_changes(which, wanted);
		EXPECT(pair_changes(which, wanted), false);
	}
}

/* Memory is given away, and comes, while a core is not here: when it is, its TLB has nothing of the time before. */
static void memory_moves(void)
{
	const unsigned core = pair_cpu(0, 1);
	pair_of_movers(LARGE);
	be(0);
	cut(BITS, MEMORY, 1);
	uint64_t base = slot_of(MEMORY)->cap.object;
	for (unsigned times = 1; times < 5; times += 2) {
		moves(0, core, times);
		be(0);
		EXPECT(call(ROOT_SLOT_CLUSTER_CONTROL, MEMORY_GIVE, W(FIRST + 1), W(MEMORY)), 0);
		be(1);
		EXPECT(call(ROOT_SLOT_CLUSTER_CONTROL, MEMORY_TAKE, W(base, BITS, MEMORY), W(CNODE)), 0);
		be_oneself();
		moves(1, core, times + 1); /* kernel_check() sees what it has flushed */
		EXPECT(pair[0]->core[1].direct_seen, times / 2 + 1);
		be(1);
		EXPECT(call(ROOT_SLOT_CLUSTER_CONTROL, MEMORY_GIVE, W(FIRST), W(MEMORY)), 0);
		be(0);
		EXPECT(call(ROOT_SLOT_CLUSTER_CONTROL, MEMORY_TAKE, W(base, BITS, MEMORY), W(CNODE)), 0);
		be_oneself();
	}
	pair_end();
}

/* Another cluster holds the core, so that it does not leave. It counts as before. */
static void word_refuses(void)
{
	const unsigned core = pair_cpu(0, 1);
	pair_of_movers(0);
	expect_changes_end(0);
	EXPECT(core_hold(hosted_core_control(core), FIRST), true);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(by(0, CORE_LEAVE, core, FIRST + 1), SKERRY_BUSY);
	EXPECT(core_set_get64(&pair[0]->kernel.cores, 0), 3);
	expect_changes_end(0);
	be(0);
	const struct thread *thread = make_thread(THREAD, 5, 1);
	EXPECT(running(1), thread);
	be_oneself();
	pair_end();
}

/* The core has come as far as the kernel's lock when its word is changed. */
static unsigned hold_it(void *argument, unsigned count)
{
	const struct hosted_core *core = argument;
	struct core_control *word = hosted_core_control(pair_cpu(0, 1));
	if (core->inside && core_state(core_read(word)) == CORE_JOINING)
		EXPECT(core_hold(word, FIRST + 1), true);
	return count - 1;
}

static void does_not_arrive(void)
{
	const unsigned core = pair_cpu(0, 1);
	pair_of_movers(0);
	expect_changes_end(1);
	EXPECT(tried(0, CORE_LEAVE, core, FIRST + 1), 0);
	pair[1]->config.choose = hold_it;
	pair[1]->config.choose_argument = &pair[1]->core[PAIR_CORES];
	EXPECT(tried(1, CORE_TAKE, core, 0), 0);
	pair[1]->config.choose = 0;
	EXPECT(core_state(word_of(core)), CORE_HELD);
	EXPECT(core_set_get64(&pair[1]->kernel.cores, 0), 3);
	EXPECT(pair[1]->core[PAIR_CORES].away, true);
	expect_changes_end(1);
	pair_end();
}

/* Core 1 goes on; once the list of CNodes to be emptied has one, core 0 does mostly. */
static unsigned until_a_zombie(void *argument, unsigned count)
{
	unsigned *turns = argument;
	return pair[0]->kernel.reap_list && ++*turns % 4 ? 0 : count - 1;
}

/* A core comes back with its timer set for nothing, whatever that was set for when the core left: a sleeper that is
 * sent there wakes. */
static void timer_is_set_anew(void)
{
	const unsigned core = pair_cpu(0, 1);
	pair_of_movers(0);
	be(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make_thread(THREAD, 5, 1);
	make_thread(THREAD + 2, 5, 1);
	EXPECT(machine->kernel.cpu[1]->own.timer_wanted != 0, true);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(THREAD + 2 * i, TCB_SUSPEND, NONE, NONE) ||
		       call(THREAD + 2 * i, TCB_SCHEDULE, W(250, 0), W(ROOT_SLOT_TCB)), 0);
	be_oneself();
	moves(0, core, 1);
	moves(1, core, 2);
	be(0);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(5, 0), W(ROOT_SLOT_TCB)), 0);
	hosted_advance(machine, 2 * machine->kernel.slice);
	settle();
	struct thread *sleeper = (struct thread *)slot_of(THREAD)->cap.object;
	const uint64_t deadline = hosted_now(machine) + machine->kernel.tsc_hz;
	EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(deadline), NONE, 0);
	EXPECT(sleeper->state, THREAD_WAITING);
	EXPECT(call(THREAD, TCB_SCHEDULE, W(250, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(sleeper->core, 1);
	hosted_advance(machine, 2 * machine->kernel.tsc_hz);
	settle();
	EXPECT(running(1), sleeper);
	be_oneself();
	pair_end();
}

/* A thread deletes a CNode, and is suspended before that is empty: its core is to go on with it, and stays for that. */
static void clean_up_is_due(void)
{
	const unsigned core = pair_cpu(0, 1);
	unsigned turns = 0;
	pair_of_movers(0);
	be(0);
	make_thread(THREAD, 5, 1);
	make(OBJECT_CNODE, NODE_BITS, NODE, 1);
	machine->kernel.work_budget = 1;
	const struct hosted_call delete_it = { .number = SYS_CALL, .cptr = CNODE,
	                                       .info = message_info(CNODE_DELETE, 0, 1), .word = { NODE } };
	const struct hosted_call suspend = { .number = SYS_CALL, .cptr = THREAD,
	                                     .info = message_info(TCB_SUSPEND, 0, 0) };
	machine->config.choose = until_a_zombie;
	machine->config.choose_argument = &turns;
	hosted_post_call(machine, 1, &delete_it);
	hosted_post_call(machine, 0, &suspend);
	settle();
	machine->config.choose = 0;
	EXPECT(result(machine->root), 0);
	EXPECT(machine->kernel.reap_list != 0, true);
	EXPECT(call(THREAD, TCB_SCHEDULE, W(5, 0), W(ROOT_SLOT_TCB)), 0);
	be_oneself();
	EXPECT(tried(0, CORE_LEAVE, core, FIRST + 1), SKERRY_BUSY);
	be(0);
	for (unsigned i = 0; i < 2000 && machine->kernel.reap_list; i++) {
		hosted_advance(machine, machine->kernel.tsc_hz / 100);
		settle();
	}
	EXPECT(machine->kernel.reap_list, 0);
	hosted_advance(machine, machine->kernel.tsc_hz);
	settle();
	be_oneself();
	EXPECT(tried(0, CORE_LEAVE, core, FIRST + 1), 0);
	pair_end();
}

static uint64_t leave(void)
{
	uint64_t error = call(ROOT_SLOT_CLUSTER_CONTROL, CORE_LEAVE, W(CORE, NEIGHBOUR), NONE);
	settle();
	return error;
}

/* The machine's place is taken by one that can give its cores to a neighbour, and rings itself. */
static void be_giver(bool remote)
{
	static const struct hosted_controlled controlled[] = { { .cluster = NEIGHBOUR, .cores = 2 } };
	const struct hosted_link link = { .id = 2, .side = 0, .peer = 0, .peer_cores = 2, .remote = remote };
	struct hosted_config config = machine->config;
	config.controlled_count = 1;
	config.controlled = controlled;
	config.channel_count = 1;
	config.channel = &link;
	hosted_destroy(machine);
	machine = hosted_create(&config);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
}

/* A core stays while something would arrive at it: an interrupt of a device or of a peer, or a peer that it must
 * poll. */
static void interrupts_keep_it(void)
{
	for (unsigned remote = 0; remote < 2; remote++) {
		be_giver(remote);
		EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, CORE, 3, 0), W(CNODE)), 0);
		EXPECT(leave(), SKERRY_BUSY);
		EXPECT(leave(), SKERRY_BUSY);
		delete(HANDLER);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(7, CORE), W(NOTE)), 0);
		EXPECT(leave(), SKERRY_BUSY);
		EXPECT(leave(), SKERRY_BUSY);
		revoke(NOTE);
		delete(NOTE);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(7, 0), W(NOTE + 1)), 0);
		hosted_advance(machine, machine->kernel.tsc_hz);
		settle();
		if (leave() == SKERRY_BUSY)
			leave(); /* as tried() */
		EXPECT(core_set_get64(&machine->kernel.cores, 0), 1); /* it listened: it polls no more */
	}
}

/* Nobody listens any more: a core to which a doorbell went may leave, and the peer is told. */
static void listeners_are_revoked(void)
{
	for (unsigned remote = 0; remote < 2; remote++) {
		be_giver(remote);
		struct channel_end *end = &machine->kernel.channel[0];
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(7, CORE), W(NOTE)), 0);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(8, CORE), W(NOTE + 1)), 0);
		EXPECT(end->rx->route[7], CORE);
		revoke(NOTE);
		EXPECT(end->rx->route[7], DOORBELL_UNBOUND);
		EXPECT(leave(), SKERRY_BUSY);
		revoke(NOTE + 1);
		EXPECT(end->rx->route[8], DOORBELL_UNBOUND);
		hosted_advance(machine, machine->kernel.tsc_hz);
		settle();
		EXPECT(machine->kernel.cpu[CORE]->own.poll_at, 0);
		if (leave() == SKERRY_BUSY)
			leave(); /* as tried() */
		EXPECT(core_set_get64(&machine->kernel.cores, 0), 1);
	}
}

/* Which core receives a doorbell is the kernel's own knowledge, whatever the peer writes into the page. */
static void a_peer_writes_routes(void)
{
	be_giver(false);
	struct doorbell_area *page = machine->kernel.channel[0].rx;
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(7, CORE), W(NOTE)), 0);
	atomic_store(&page->route[7], 0);
	EXPECT(leave(), SKERRY_BUSY);
	EXPECT(leave(), SKERRY_BUSY);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(7, 0), W(NOTE)), 0);
	for (unsigned number = 0; number < DOORBELL_COUNT; number++)
		atomic_store(&page->route[number], CORE);
	if (leave() == SKERRY_BUSY)
		leave(); /* as tried() */
	EXPECT(core_set_get64(&machine->kernel.cores, 0), 1);
}

static unsigned orders, turns;

/* The core has left the kernel, and is not parked yet. */
static bool is_leaving(void) { return machine->core[CORE].away && core_state(word_of(CORE)) == CORE_LEAVING; }

static unsigned order_locks(void *argument, unsigned count)
{
	(void)argument;
	for (; is_leaving() && !machine->core[0].inside && orders < ORDERS; orders++)
		EXPECT(order_granularity(orders % 2 ? GRANULARITY_COARSE : GRANULARITY_FINE),
		       true); /* none begins: the opposite would take it back */
	return ++turns % count;
}

/* A thread on the last core, so that there is always a choice. */
static bool yields(void *argument, struct hosted *of, unsigned core)
{
	(void)argument;
	if (core == CORE + 1 && orders < ORDERS)
		hosted_post_call(of, core, &(struct hosted_call){ .number = SYS_YIELD });
	return core == CORE + 1 && orders < ORDERS;
}

static void locks_stay(void)
{
	if (!objects_have_homes())
		return;
	be_giver(false);
	orders = 0;
	make_thread(THREAD, 5, CORE + 1);
	machine->config.choose = order_locks;
	machine->config.program = yields;
	const struct hosted_call leave_it = { .number = SYS_CALL, .cptr = ROOT_SLOT_CLUSTER_CONTROL,
	                                      .info = message_info(CORE_LEAVE, 0, 2),
		                              .word = { CORE, NEIGHBOUR } };
	hosted_post_call(machine, 0, &leave_it);
	machine->core[CORE + 1].quiet = false;
	settle();
	machine->config.choose = 0;
	machine->config.program = 0;
	EXPECT(result(machine->root), 0);
	EXPECT(orders, ORDERS);
	EXPECT(core_state(word_of(CORE)), CORE_PARKED);
}

TESTS(cores_away) = {
	{ "no change of the locks while a core leaves", locks_stay, 3 },
	{ "a core to which interrupts go", interrupts_keep_it, 2 },
	{ "a core whose listeners are revoked", listeners_are_revoked, 2 },
	{ "a peer that writes routes", a_peer_writes_routes, 2 },
	{ "memory moves while a core is away", memory_moves, 2 },
	{ "a core is held that was to leave", word_refuses, 2 },
	{ "a core is held that was to come", does_not_arrive, 2 },
	{ "a core comes back and sets its timer", timer_is_set_anew, 2 },
	{ "a core has CNodes to empty", clean_up_is_due, 2 },
	{ 0 },
};
