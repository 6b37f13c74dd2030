/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch: a process on a network core that joins the network ports of its
 * stacks, of this cluster and others, with the NIC driver's or, if it is a
 * lower switch, with a port of the upper one.
 *
 * It works while any frame moves and sleeps at once when none does. It does
 * not poll before it sleeps: a spinning network core would take the time of
 * the cores it serves where they share a processor.
 */
#include "../program/program.h"
#include "switch.h"

static struct forward forward;
static uint64_t logged, next_line[PROCESS_MAX_PORTS];

static char *write_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *write_ipv4(char *at, uint32_t address)
{
	for (unsigned i = 0; i < 4; i++, address >>= 8) {
		unsigned byte = address & 255;

		if (byte >= 100)
			*at++ = (char)('0' + byte / 100);
		if (byte >= 10)
			*at++ = (char)('0' + byte / 10 % 10);
		*at++ = (char)('0' + byte % 10);
		*at++ = i < 3 ? '.' : ' ';
	}
	return at;
}

/* A line on the console for a port's first dropped frame, and whenever their number has doubled. */
static void report_drops(void)
{
	if (forward.dropped == logged)
		return;
	logged = forward.dropped;
	for (unsigned i = 0; i < forward.count; i++) {
		const struct forward_port *port = &forward.port[i];
		char line[120], *end = write_text(line, "the switch: the port of ");

		if (port->dropped <= next_line[i])
			continue;
		next_line[i] = 2 * port->dropped - 1;
		end = port->upper || port->lower ? write_text(end, "another switch ")
		      : port->uplink		 ? write_text(end, "the network driver ")
						 : write_ipv4(end, port->ipv4);
		*write_text(end, "takes its frames too slowly; dropped so far:") = 0;
		program_say(line, port->dropped);
	}
}

static void wake_port(void *context, unsigned port)
{
	(void)context;
	notification_signal(PROCESS_SLOT_PORT_WAKE + port);
}

/* A cluster-manager wakes the switch, too, when a program with a port has ended, and one that starts. */
static void wait_for_frames(void)
{
	notification_wait(PROCESS_SLOT_WAKE, forward.deadline, 0);
}

_Noreturn void program_main(const struct process_info *info)
{
	if (info->port_count > PROCESS_MAX_PORTS)
		program_fail("too many ports:", info->port_count);
	if (info->route_count > PROCESS_MAX_PORTS)
		program_fail("too many stations:", info->route_count);
	/* a second: longer than a busy stack is silent, shorter than its peers' timeout */
	forward_init(&forward, info->port, info->port_count, (void *)PROCESS_PORTS_VADDR, info->tsc_hz, info->life);
	forward_bells(&forward, info->port, bell_at(PROCESS_BELL_OWN), bell_at(PROCESS_BELL_PORTS));
	forward_routes(&forward, info->route, info->route_count);
	for (;;) {
		while (forward_pass(&forward, read_tsc()))
			forward_signal(&forward, wake_port, 0);
		report_drops();
		if (forward_last_pass(&forward, read_tsc()))
			forward_signal(&forward, wake_port, 0);
		else
			wait_for_frames();
	}
}
