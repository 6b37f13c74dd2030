/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "arena.h"
#include "hosted.h"

enum { LOOK_S = 10, LOOKS = 6 }; /* processor time of this process */

static const char *(*what)(void);

static void say(const char *line) { (void)!write(STDERR_FILENO, line, strlen(line)); }

/* What a core does is read while it does it: a guess, and said as one. */
__attribute__((no_sanitize("thread"))) static void tell_core(unsigned cluster, unsigned index,
                                                             const struct hosted_core *core)
{
	const struct thread *thread = core->cpu ? core->cpu->shared.current : 0;
	bool timers = core->cpu && core->cpu->shared.timers.first[1];
	char line[200];
	snprintf(line, sizeof(line), "machine %u core %u: %u entries, %s, %u turns of waiting, %s%s\n", cluster, index,
	         core->entries, core->inside ? "in the kernel" : "outside the kernel", core->spins,
	         core->cpu && thread == &core->cpu->shared.idle ? "idle" : "runs a thread",
	         timers ? ", a deadline is set" : "");
	say(line);
}

static void tell(void)
{
	say(what());
	say("\n");
	for (unsigned cluster = 0; cluster < ARENA_CLUSTERS; cluster++)
		for (unsigned index = 0; index < HOSTED_CORES; index++) {
			const struct hosted_core *core = hosted_core_by_apic(hosted_apic(cluster, index));
			if (core)
				tell_core(cluster, index, core);
		}
}

static void end(int number)
{
	signal(number, SIG_DFL);
	if (number == SIGTERM)
		say("told to end before it was done: ");
	else if (number == SIGSEGV)
		say("segmentation fault: ");
	tell();
	raise(number);
}

static uint64_t all_entries(void)
{
	uint64_t sum = 0;
	for (unsigned apic = 0; apic < ARENA_CLUSTERS * HOSTED_CORES; apic++) {
		const struct hosted_core *core = hosted_core_by_apic(apic);
		sum += core ? core->entries : 0;
	}
	return sum;
}

static void look(int number)
{
	static uint64_t before;
	static unsigned looks;
	uint64_t now = all_entries();
	looks = now == before ? looks + 1 : 0;
	before = now;
	if (looks < LOOKS)
		return;
	(void)number;
	say("stands still: no core has entered the kernel in a minute of processor time: ");
	raise(SIGABRT);
}

void watch(const char *(*tells)(void))
{
	static const int ends[] = { SIGTERM, SIGABRT, SIGSEGV };
	const struct itimerval often = { .it_interval.tv_sec = LOOK_S, .it_value.tv_sec = LOOK_S };
	what = tells;
	setvbuf(stdout, 0, _IOLBF, 0); /* what was done is in the log, however it ends */
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &(struct sigaction){ .sa_handler = end, .sa_flags = SA_RESETHAND }, 0);
	sigaction(SIGPROF, &(struct sigaction){ .sa_handler = look, .sa_flags = SA_RESTART }, 0);
	setitimer(ITIMER_PROF, &often, 0);
}
