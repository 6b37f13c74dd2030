/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By how much a program that stops and resumes a thread of its own without pause, from another core, slows the other
 * programs of the thread's core. Printed is one run of the hosted port, in which each core has a clock of its own: it
 * grows by the cycles of the host that the core was in the kernel, and for each entry by what a processor takes for an
 * interrupt or a system call. What sending an interrupt takes is not in it, how long it is on its way is. Checked is
 * what needs no clock: how often the core is interrupted.
 */
#include <stdio.h>
#include <x86intrin.h>
#include "harness.h"
#include "message.h"
#include "thread.h"

enum { CORES = 2, STALLED = 1000, CALLER = 1010, VICTIM = 1020, CALLS = 20000, WARM = 2000 };
enum { INTERRUPT = 400, ARRIVAL = 800 /* of an interrupt at another core */, SYSCALL = 100,
       ODD = 4000 /* the host did something else meanwhile */ };

static uint64_t calls;
static bool may_call;

/* The caller, on core 1, suspends and resumes the thread; the others only compute. */
static bool program(void *argument, struct hosted *of, unsigned core)
{
	(void)argument;
	if (core != 1 || !may_call)
		return false;
	if (calls)
		EXPECT(result(running(1)), 0);
	const uint64_t label = calls++ % 2 ? TCB_RESUME : TCB_SUSPEND;
	hosted_post_call(of, 1, &(struct hosted_call){ .number = SYS_CALL, .cptr = STALLED,
	                                               .info = message_info(label, 0, 0) });
	return true;
}

struct figures {
	double lost; /* share of core 0 that its kernel takes */
	double entries; /* of core 0, for each pair of calls */
};

/* The core whose clock is behind goes on. */
static struct figures run(void)
{
	uint64_t clock[CORES] = { 0 }, kernel = 0, begin = 0, entries = 0;
	struct figures figures = { 0 };
	machine->core[1].quiet = false;
	may_call = true;
	calls = 0;
	while (calls < CALLS) {
		const unsigned at = hosted_core_busy(&machine->core[0]) && clock[0] <= clock[1] ? 0 : 1;
		const bool inside = machine->core[at].inside, idle = !hosted_core_busy(&machine->core[0]);
		hosted_self = &machine->core[at];
		uint64_t time = __rdtsc();
		fiber_resume(&hosted_self->fiber);
		time = __rdtsc() - time;
		hosted_self = 0;
		const uint64_t cost = (time > ODD ? INTERRUPT : time) + (inside ? 0 : at ? SYSCALL : INTERRUPT);
		clock[at] += cost;
		if (idle && hosted_core_busy(&machine->core[0]) && clock[0] < clock[1] + ARRIVAL)
			clock[0] = clock[1] + ARRIVAL; /* its programs have computed until then */
		kernel += at ? 0 : cost;
		entries += !at && !inside;
		if (calls == WARM && !begin)
			begin = clock[1], kernel = entries = 0;
	}
	may_call = false;
	settle();
	figures.lost = (double)kernel / (double)(clock[1] - begin);
	figures.entries = (double)entries / ((CALLS - WARM) / 2);
	return figures;
}

static void share(unsigned stalled_priority, const char *how)
{
	struct hosted_config config = { .cluster = 9, .cores = CORES, .seed = 1, .program = program };
	struct hosted *saved = machine;
	may_call = false;
	machine = hosted_create(&config);
	make_thread(STALLED, stalled_priority, 0);
	make_thread(VICTIM, 100, 0);
	make_thread(CALLER, 100, 1);
	root_priority(1);
	struct figures f = run();
	printf("%s, a thread of %s priority is stalled: its core is in the kernel for %.0f %% of the time, %.2f "
	       "entries for each suspend and resume\n", REGIME_HEADER, how, 100 * f.lost, f.entries);
	/* one by which it is stopped, one by which it is let go on, and some that the host's speed decides: no third */
	EXPECT(f.entries < 2.5, true);
	/* what does not run is not stopped, nor does it begin at once */
	EXPECT(stalled_priority > 100 || f.entries < 0.1, true);
	hosted_destroy(machine);
	machine = saved;
}

static void shares(void)
{
	share(99, "lower");
	share(100, "equal");
	share(101, "higher");
}

TESTS(stall_share) = {
	{ "what stalls take from a core", shares, CORES | TEST_ONCE },
	{ 0 },
};
