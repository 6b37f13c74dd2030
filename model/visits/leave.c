/* SPDX-License-Identifier: BSD-2-Clause */
/* A core that leaves its kernel (core/core_move.h) while calls of other cores' threads are on their way to it. */
#include <skerry/cluster_mask.h>
#include <skerry/core_control.h>
#include "check.h"
#include "locality.h"
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { HOME = 1, AT = 0, A = 1000, NOTE = 1050, VISITORS = 3 };

static struct thread *root, *visitor[VISITORS];
static unsigned visitors;

/*
 * Threads of core 0 have gone to core 1, which makes one call in an entry. The object has just lost its home, so that
 * only they keep that core; root has it leave.
 */
static void visitors_gone(unsigned count)
{
	static const struct hosted_call signal = { .number = SYS_SIGNAL, .cptr = NOTE };
	machine_make_giver(2);
	root = running(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	root_priority(50);
	for (visitors = 0; visitors < count; visitors++)
		visitor[visitors] = make_thread(A + 2 * visitors, 100 - visitors, AT);
	locality_set(&machine->kernel, &slot_of(NOTE)->cap, mask_of(HOME));
	machine->kernel.work_budget = 1;
	for (unsigned i = 0; i < count; i++) {
		hosted_post_call(machine, AT, &signal);
		machine_run_core(AT);
	}
	locality_set(&machine->kernel, &slot_of(NOTE)->cap, MASK_ALL);
	root->priority = 200; /* so that those who come back do not keep it from its call */
	const uint64_t leaves = machine->kernel.map_core[HOME].number;
	machine_invokes(root, ROOT_SLOT_CLUSTER_CONTROL, CORE_LEAVE, leaves, MACHINE_NEIGHBOUR, 0);
}

static void leaves_with_one(void) { visitors_gone(1); }
/* The core makes another call in the entry in which it leaves. */
static void leaves_with_three(void) { visitors_gone(3); }

/* The core has left or has refused to; nobody is away. */
static void all_are_back(void)
{
	kernel_check(machine);
	for (unsigned i = 0; i < visitors; i++)
		EXPLORE_CHECK(visitor[i]->state == THREAD_READY, "a visitor is left behind");
	EXPLORE_CHECK(((struct notification *)slot_of(NOTE)->cap.object)->word == 1, "a visitor's call is lost");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("leaves with a visitor", 2, leaves_with_one, all_are_back),
	MACHINE_CASE("leaves with visitors of three budgets", 2, leaves_with_three, all_are_back),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
