/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores that take turns in one thread of the host, in an order drawn from the machine's seed. */
#include <stdio.h>
#include <stdlib.h>
#include "hosted.h"

enum { STEPS_MAX = 4000000 }; /* of one hosted_run(): more means that cores wait for each other */

static void turns_core_main(void *core)
{
	for (;;) {
		hosted_core_enter(core);
		fiber_yield(&((struct hosted_core *)core)->fiber);
	}
}

void turns_init(struct hosted_core *core) { fiber_init(&core->fiber, turns_core_main, core); }
void turns_free(struct hosted_core *core) { fiber_free(&core->fiber); }

void turns_pause(struct hosted_core *core)
{
	if (core->machine->config.cores > 1)
		fiber_yield(&core->fiber);
}

static unsigned choose_core(struct hosted *machine, unsigned count)
{
	if (count == 1)
		return 0;
	if (machine->config.choose)
		return machine->config.choose(machine->config.choose_argument, count) % count;
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	return (machine->random >> 33) % count;
}

static bool machine_step(struct hosted *machine)
{
	struct hosted_core *candidate[HOSTED_CORES];
	unsigned count = 0;
	for (unsigned i = 0; i < machine->config.cores; i++)
		if (hosted_core_busy(&machine->core[i]))
			candidate[count++] = &machine->core[i];
	if (!count)
		return hosted_end_turn(machine);
	hosted_self = candidate[choose_core(machine, count)];
	fiber_resume(&hosted_self->fiber);
	hosted_self = 0;
	return true;
}

void turns_run(struct hosted *const *list, unsigned count)
{
	unsigned steps = 0;
	for (bool any = true; any;) {
		any = false;
		for (unsigned i = 0; i < count; i++)
			any |= machine_step(list[i]);
		if (++steps > STEPS_MAX) {
			fprintf(stderr, "hosted machine: no end in sight (seed %llu)\n",
			        (unsigned long long)list[0]->config.seed);
			abort();
		}
	}
}
