/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores that leave a kernel and join another (skerry/core_control.h). */
#include <string.h>
#include <skerry/cluster_mask.h>
#include <skerry/core_control.h>
#include "check.h"
#include "harness.h"
#include "pair.h"
#include "vspace.h"
#include LOCKING_HEADER

enum { CONTROL = ROOT_SLOT_CLUSTER_CONTROL, FIRST = PAIR_FIRST, THREAD = 2000, COPY = 1000 };
#define CORES PAIR_CORES
static unsigned cpu(unsigned which, unsigned index) { return pair_cpu(which, index); }
static void begin(void) { pair_of_movers(0); }
static bool has_choice(void) { return objects_have_homes(); } /* of its locks: regime dynamic has both */

static void there_and_back(void)
{
	begin();
	for (unsigned times = 1; times < 6; times += 2) {
		moves(0, cpu(0, 1), times);
		EXPECT(core_set_get64(&pair[0]->kernel.cores, 0), 1);
		EXPECT(core_set_get64(&pair[1]->kernel.cores, 0), 7);
		moves(1, cpu(0, 1), times + 1);
		EXPECT(core_set_get64(&pair[0]->kernel.cores, 0), 3);
		EXPECT(core_set_get64(&pair[1]->kernel.cores, 0), 3);
	}
	pair_end();
}

/* A thread runs on a core that has joined; the core stays as long as the thread is placed there, whatever it does. */
static void threads_run_there(void)
{
	begin();
	moves(0, cpu(0, 1), 1);
	be(1);
	struct thread *thread = make_thread(THREAD, 5, CORES);
	EXPECT(running(CORES), thread);
	be_oneself();
	EXPECT(by(1, CORE_LEAVE, cpu(0, 1), FIRST), SKERRY_BUSY);
	be(1);
	EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
	be_oneself();
	EXPECT(by(1, CORE_LEAVE, cpu(0, 1), FIRST), SKERRY_BUSY);
	be(1);
	EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
	settle();
	EXPECT(running(CORES), thread);
	EXPECT(call(THREAD, TCB_SCHEDULE, W(5, 1), W(ROOT_SLOT_TCB)), 0);
	settle();
	EXPECT(running(1), thread);
	be_oneself();
	EXPECT(by(1, CORE_LEAVE, cpu(0, 1), FIRST), 0);
	be(1);
	EXPECT(call(THREAD, TCB_SCHEDULE, W(5, CORES), W(ROOT_SLOT_TCB)), SKERRY_BAD_ARGUMENT);
	delete(THREAD);
	EXPECT(pair[1]->kernel.placed[1], 0);
	be_oneself();
	pair_end();
}

/* No address space counts on a core that has left: a shootdown would wait for it for ever. */
static void owes_nothing(void)
{
	begin();
	be(0);
	make_thread(THREAD, 5, 1);
	const struct vspace *vspace = (const struct vspace *)slot_of(ROOT_SLOT_VSPACE)->cap.object;
	EXPECT(vspace_is_active(pair[0]->kernel.cpu[1], vspace), true);
	delete(THREAD);
	settle();
	be_oneself();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), 0);
	EXPECT(vspace_is_active(pair[0]->kernel.cpu[1], vspace), false);
	EXPECT(vspace_is_active(pair[0]->kernel.cpu[0], vspace), true);
	EXPECT(pair[0]->kernel.cpu[1]->own.tlb_valid[vspace->place], false);
	pair_end();
}

static void refused(void)
{
	begin();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 0), FIRST + 1), SKERRY_BUSY); /* the first */
	EXPECT(by(0, CORE_LEAVE, cpu(1, 1), FIRST + 1), SKERRY_BUSY); /* another cluster's */
	EXPECT(by(0, CORE_LEAVE, cpu(1, 0), FIRST + 1), SKERRY_BAD_ARGUMENT); /* no room */
	EXPECT(by(0, CORE_TAKE, cpu(1, 1), 0), SKERRY_BUSY);
	for (uint64_t label = CORE_READ; label <= CORE_TAKE; label++)
		EXPECT(by(0, label, 1ull << 32 | cpu(0, 1), FIRST + 1), SKERRY_BAD_ARGUMENT);
	static const uint64_t none[] = { 0, FIRST, FIRST + 2, UINT64_MAX, 1ull << 32 | (FIRST + 1) };
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		EXPECT(by(0, CORE_LEAVE, cpu(0, 1), none[i]), SKERRY_BAD_ARGUMENT);
	be(0);
	EXPECT(call(CONTROL, CORE_LEAVE, W(cpu(0, 1)), NONE), SKERRY_TRUNCATED);
	EXPECT(call(CONTROL, CORE_READ, NONE, NONE), SKERRY_TRUNCATED);
	copy(COPY, CONTROL, RIGHT_READ, 0);
	EXPECT(call(COPY, CORE_READ, W(cpu(0, 1)), NONE), 0);
	EXPECT(word(running(0), 0), core_word(0, FIRST, FIRST, CORE_OWNED));
	EXPECT(word(running(0), 1), 1);
	EXPECT(call(COPY, CORE_LEAVE, W(cpu(0, 1), FIRST + 1), NONE), SKERRY_NO_RIGHTS);
	EXPECT(call(COPY, CORE_TAKE, W(cpu(0, 1)), NONE), SKERRY_NO_RIGHTS);
	be_oneself();
	EXPECT(word_of(cpu(0, 1)), core_word(0, FIRST, FIRST, CORE_OWNED));
	pair_end();
}

/* A thread that was given the control, on the core that it asks for: its own core is not let go under it. */
static void not_from_itself(void)
{
	begin();
	be(0);
	make_thread(THREAD, 5, 1);
	EXPECT(syscall_on(1, SYS_CALL, CONTROL, CORE_LEAVE, W(cpu(0, 1), FIRST + 1), NONE, 0), SKERRY_BUSY);
	EXPECT(word_of(cpu(0, 1)), core_word(0, FIRST, FIRST, CORE_OWNED));
	be_oneself();
	pair_end();
}

enum { NOTE = 2100 };

/* Cores that have come count when the kernel changes its locks, those that have left do not: it ends, to and fro. */
static void change_of_locks(void)
{
	if (!has_choice())
		return;
	begin();
	for (unsigned times = 1; times < 9; times += 2) {
		enum granularity wanted = times & 2 ? GRANULARITY_FINE : GRANULARITY_COARSE;
		moves(0, cpu(0, 1), times);
		for (unsigned which = 0; which < 2; which++) {
			for (unsigned turns = 0; turns < 2; turns++)
				pair_changes(which, wanted);
			EXPECT(pair_changes(which, wanted), false);
		}
		moves(1, cpu(0, 1), times + 1);
		EXPECT(pair_changes(0, wanted), false);
		EXPECT(pair_changes(1, wanted), false);
	}
	pair_end();
}

/* While a core is on its way no change begins; while one is under way no core leaves or is taken. */
static void one_at_a_time(void)
{
	if (!has_choice())
		return;
	begin();
	be(0);
	EXPECT(order_granularity(GRANULARITY_FINE), true);
	struct cpu *cpu0 = machine->kernel.cpu[0];
	EXPECT(kernel_count_core(cpu0, machine->kernel.cpu[1], false), false);
	be_oneself();
	for (unsigned turns = 0; turns < 3; turns++)
		pair_changes(0, GRANULARITY_FINE);
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), 0);
	EXPECT(control_claim(hosted_control(FIRST + 1), control_read(hosted_control(FIRST + 1)), FIRST), true);
	EXPECT(by(1, CORE_TAKE, cpu(0, 1), 0), 0);
	EXPECT(core_state(word_of(cpu(0, 1))), CORE_JOINING);
	be(1);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT(call(ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, W(i % 2 ? GRANULARITY_FINE : GRANULARITY_COARSE),
		            NONE), 0);
		EXPECT(word(machine->root, 0), 1); /* neither has begun: the opposite would take it back */
	}
	be_oneself();
	pair_end();
}

/* Others' calls would travel to a core that has left. */
static void objects_at_home(void)
{
	if (!has_choice())
		return;
	begin();
	be(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE, mask_of(1)), NONE), 0);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE + 1, mask_make(0, 1, 3)), NONE), 0);
	be_oneself();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), SKERRY_BUSY);
	be(0);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE + 1, mask_of(0)), NONE), 0);
	be_oneself();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), SKERRY_BUSY);
	be(0);
	delete(NOTE);
	EXPECT(machine->kernel.homes[0], 1);
	be_oneself();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), 0);
	be(0);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE + 1, mask_of(1)), NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE + 1, mask_make(0, 1, 3)), NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_LOCALITY, W(NOTE + 1, mask_make(0, 0, 3)), NONE), 0);
	EXPECT(machine->kernel.homes[0], 1);
	be_oneself();
	EXPECT(by(1, CORE_TAKE, cpu(0, 1), 0), 0);
	pair_end();
}

/* A fence takes the cores that the cluster has: not one that has left it, but one that has joined. */
static void fenced_with_its_cores(void)
{
	begin();
	moves(1, cpu(1, 1), 1);
	uint64_t lost = FIRST + 1;
	EXPECT(by(0, CLUSTER_CLAIM, lost, control_read(hosted_control(lost))), 0);
	EXPECT(by(0, CLUSTER_FENCE, lost, 0), 0);
	EXPECT(pair[0]->fenced, 1);
	EXPECT(core_state(word_of(cpu(1, 0))), CORE_HELD);
	EXPECT(word_of(cpu(1, 1)), core_word(1, FIRST, FIRST, CORE_OWNED));
	EXPECT(by(0, CLUSTER_START, lost, 0), 0);
	pair_end();
}

/* Held in the middle of its way: it stays the lost cluster's. Taken by a cluster that is claimed: it does not enter. */
static void claimed_meanwhile(void)
{
	begin();
	EXPECT(by(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), 0);
	EXPECT(control_claim(hosted_control(FIRST + 1), control_read(hosted_control(FIRST + 1)), FIRST), true);
	EXPECT(by(1, CORE_TAKE, cpu(0, 1), 0), 0);
	EXPECT(core_state(word_of(cpu(0, 1))), CORE_JOINING);
	EXPECT(core_set_get64(&pair[1]->kernel.cores, 0), 3);
	EXPECT(core_hold(hosted_core_control(cpu(0, 1)), FIRST + 1), true);
	EXPECT(core_is_of(word_of(cpu(0, 1)), FIRST + 1), true);
	pair_end();
}

/* Threads that fault without a handler are counted, and the core that would have said how many leaves. */
static void reports_outlive_their_core(void)
{
	static const uint64_t words[4] = { 0x1234, 2, 3, 4 };
	enum { REPORTED = 8, FAULTS = REPORTED + 3 };
	char text[HOSTED_CONSOLE + 1] = { 0 };
	begin();
	be(0);
	struct thread *thread = make_thread(THREAD, 100, 1);
	for (unsigned i = 0; i < FAULTS; i++) {
		EXPECT(running(1), thread);
		hosted_post_fault(machine, 1, FAULT_EXCEPTION, 4, words);
		settle();
		EXPECT(thread->state, THREAD_INACTIVE);
		if (i + 1 < FAULTS)
			EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
	}
	delete(THREAD);
	EXPECT(machine->kernel.reports_missed, FAULTS - REPORTED);
	EXPECT(tried(0, CORE_LEAVE, cpu(0, 1), FIRST + 1), 0);
	be(0);
	hosted_advance(machine, machine->kernel.tsc_hz);
	settle();
	for (unsigned i = 0; i < machine->console_size && i < HOSTED_CONSOLE; i++)
		text[i] = machine->console[i];
	EXPECT(machine->kernel.reports_missed, 0);
	EXPECT(strstr(text, "kernel: 3 more threads without fault handler stopped") != 0, true);
	be_oneself();
	pair_end();
}

TESTS(cores) = {
	{ "a core leaves and comes back", there_and_back, 2 },
	{ "threads run on a core that has joined", threads_run_there, 2 },
	{ "a core that has left owes nothing", owes_nothing, 2 },
	{ "what is refused", refused, 2 },
	{ "a core does not leave under the thread that asks for it", not_from_itself, 2 },
	{ "the locks change among the cores that are here", change_of_locks, 2 },
	{ "a core moves, or the locks change", one_at_a_time, 2 },
	{ "a core at which objects are at home", objects_at_home, 2 },
	{ "a fence takes the cores that the cluster has", fenced_with_its_cores, 2 },
	{ "a cluster is claimed while a core moves", claimed_meanwhile, 2 },
	{ "reports outlive their core", reports_outlive_their_core, 2 },
	{ 0 },
};
