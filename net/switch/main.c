/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch: a process on its cluster's network core that joins the network
 * ports of all stacks, of this cluster and others, with the NIC driver's.
 *
 * It works while any frame moves and sleeps at once when none does. It does
 * not poll before it sleeps: a spinning network core would take the time of
 * the cores it serves where they share a processor.
 */
#include "../program/program.h"
#include "forward.h"

static struct forward forward;

static void wake(void *context, unsigned port)
{
	(void)context;
	notification_signal(PROCESS_SLOT_PORT_WAKE + port);
}

_Noreturn void program_main(const struct process_info *info)
{
	if (info->port_count > PROCESS_MAX_PORTS)
		program_fail("too many ports:", info->port_count);
	/* a second: longer than a busy stack is silent, shorter than its peers' patience */
	forward_init(&forward, info->port, info->port_count, (void *)PROCESS_PORTS_VADDR, info->tsc_hz);
	for (;;) {
		while (forward_pass(&forward, read_tsc()))
			forward_signal(&forward, wake, 0);
		if (forward_last_pass(&forward, read_tsc()))
			forward_signal(&forward, wake, 0);
		else
			notification_wait(PROCESS_SLOT_WAKE, forward.deadline, 0);
	}
}
