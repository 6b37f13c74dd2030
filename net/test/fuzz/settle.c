/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the programs as Skerry does: each sleeps until it is woken, or until its next timer is due. A ring that has
 * something for a program that sleeps unwoken is a lost wake-up.
 */
#include <stdio.h>
#include "../../lwip/link.h"
#include "fuzz.h"

static const uint64_t MILLISECOND = 1000000, SECOND = 1000000000;
enum {
	TIMEOUT = 400,   /* s until everything has arrived: lwIP's longest times between two tries, in a row */
	QUIET = 50,       /* rounds in which nothing was pending */
	TIME_WAIT = 130,  /* s until closed connections are gone, or were given up */
	BLOCKS_MORE = 8,  /* than at first: ARP, and lwIP's timers */
	STEP = 50         /* ms: as long as everything sleeps at once */
};

static void check_asleep(unsigned stack)
{
	for (unsigned i = 0; i < run.stack[stack].calls->links(); i++) {
		struct link *link = run.stack[stack].calls->link(i);

		if (port_ready(&link->port))
			fail("stack %u sleeps with frames in link %u", stack, i);
		if (link->waiting && link->port.may_send && ring_has_room(&link->port.transmit))
			fail("stack %u sleeps with room in link %u, for which %u frames wait", stack, i, link->waiting);
	}
}

static void check_switch_asleep(void)
{
	for (unsigned i = 0; i < STACKS && !run.forward.deadline; i++) /* no source waits */
		if (port_ready(&run.forward.port[i].end))
			fail("the switch sleeps with frames of stack %u", i);
}

static void read_all(unsigned stack)
{
	for (unsigned i = 0; i < run.connections; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct connection *c = &run.connection[i];

			if (c->used && c->end[side].stack == (int)stack && c->end[side].file)
				end_read(c, side, true);
		}
}

static void run_stack(unsigned number)
{
	struct stack *stack = &run.stack[number];
	const uint64_t due = stack->calls->deadline();

	if (!stack->awake && (!due || run.now < due))
		return;
	stack->awake = false;
	stack_poll(number);
	datagrams_take(number);
	frames_look(number);
	read_all(number);
	stack->calls->poll();
	frames_look(number);
	stack->awake |= !stack->calls->prepare_sleep();
}

static bool all_asleep(void)
{
	bool awake = run.switch_awake;

	for (unsigned i = 0; i < STACKS; i++)
		awake |= run.stack[i].awake;
	return !awake;
}

static void run_all(void)
{
	for (unsigned i = 0; i < STACKS; i++)
		run_stack(i);
	if (run.switch_awake || (run.forward.deadline && run.now >= run.forward.deadline))
		switch_run();
	if (!all_asleep())
		return;
	check_switch_asleep();
	for (unsigned i = 0; i < STACKS; i++)
		check_asleep(i);
}

/* To the next time at which anything happens by itself. */
static void pass_time(void)
{
	uint64_t next = run.now + (all_asleep() ? STEP * MILLISECOND : MILLISECOND / 100);

	for (unsigned i = 0; i < STACKS; i++) {
		const uint64_t due = run.stack[i].calls->deadline();

		if (due && due < next)
			next = due;
	}
	if (run.forward.deadline && run.forward.deadline < next)
		next = run.forward.deadline;
	run.now = next > run.now ? next : run.now + MILLISECOND / 1000;
}

static void describe(void)
{
	for (unsigned i = 0; i < run.connections; i++)
		for (unsigned side = 0; side < 2; side++) {
			const struct connection *c = &run.connection[i];
			const struct end *end = &c->end[side];

			if (c->used && !c->broken)
				fprintf(stderr,
				        "connection %u, port %u, end %u at %d: %s, %lu read of %lu,%s%s%s%s%s%s%s\n",
				        c->id, c->port, side, end->stack,
					c->accepted ? "accepted" : "not accepted", end->read, c->end[!side].written,
					end->file ? " open" : "",
					end->ended ? " ended" : "", end->failed ? " failed" : "",
					end->closed ? " closed" : "", end->shut ? " shut" : "",
					end->gone ? " gone" : "", end->cut ? " cut" : "");
		}
	for (unsigned i = 0; i < STACKS; i++) {
		const struct forward_port *port = &run.forward.port[i];

		fprintf(stderr, "stack %u, life %lu, %sawake; at the switch %sup,%s%s%s epoch %lu, last %lu\n", i,
		        run.stack[i].host.info.life,
			run.stack[i].awake ? "" : "not ", port->end.up ? "" : "not ", port->ended ? " ended," : "",
			port->resets_sent ? " resets sent," : "", port->late ? " late," : "",
			(uint64_t)port->end.theirs->epoch, port->end.seen);
		run.stack[i].calls->describe();
	}
	fprintf(stderr, "switch %sawake: %u resets of %u for %lu ms, %u ports wait; deadline in %ld ms\n",
	        run.switch_awake ? "" : "not ",
		run.forward.reset_queue.count, run.forward.reset_queue.port,
		(run.now - run.forward.reset_queue.since) / MILLISECOND, run.forward.reset_queue.waiting,
		run.forward.deadline ? (int64_t)(run.forward.deadline - run.now) / (int64_t)MILLISECOND : 0);
}

static bool any_pending(void)
{
	bool pending = false;

	for (unsigned i = 0; i < run.connections; i++)
		pending |= connection_is_pending(&run.connection[i]);
	return pending;
}

static void arrive(void)
{
	const uint64_t late = run.now + TIMEOUT * SECOND;

	for (unsigned quiet = 0; quiet < QUIET; pass_time()) {
		run_all();
		quiet = any_pending() ? 0 : quiet + 1;
		if (run.now > late) {
			describe();
			fail("not everything has arrived");
		}
	}
}

static void close_all(void)
{
	for (unsigned i = 0; i < run.connections; i++) {
		struct connection *c = &run.connection[i];

		for (unsigned side = 0; c->used && side < 2; side++)
			if (c->end[side].file) {
				end_close(c, side, false);
				run.stack[c->end[side].stack].awake = true; /* its program runs */
			}
		c->used = false;
	}
}

static void check_empty(unsigned number)
{
	const struct stack *stack = &run.stack[number];
	const struct stack_calls *calls = stack->calls;
	unsigned slots = 0;

	for (unsigned i = 0; i < calls->links(); i++) {
		const struct link *link = calls->link(i);

		for (unsigned k = 0; link->slot && k < CABLE_SLOTS; k++)
			slots += !!link->slot[k].sent;
		if (link->port.up && !link->waiting)
			continue;
		describe();
		fail("stack %u, link %u: %s, %u frames wait", number, i, link->port.up ? "up" : "not up",
		     link->waiting);
	}
	if (calls->blocks() <= stack->blocks + BLOCKS_MORE && !calls->sent() && !slots)
		return;
	describe();
	fail("stack %u keeps %ld blocks (%ld at first), %zu bytes to send, %u slots", number, calls->blocks(),
	     stack->blocks, calls->sent(), slots);
}

void settle(void)
{
	trouble_end();
	for (unsigned i = 0; i < STACKS; i++) {
		if (!run.stack[i].calls)
			life_start(i);
		run.stack[i].awake = true;
	}
	run.switch_awake = true;
	arrive();
	close_all();
	for (const uint64_t end = run.now + TIME_WAIT * SECOND; run.now < end; pass_time())
		run_all();
	for (unsigned i = 0; i < STACKS; i++)
		check_empty(i);
}
