/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the programs as Skerry does: each sleeps until it is woken, or until its next timer is due. */
#include <stdio.h>
#include "../../lwip/link.h"
#include "fuzz.h"

enum {
	TIMEOUT = 400,   /* s until everything has arrived: lwIP's longest times between two tries, in a row */
	QUIET = 50,       /* rounds in which nothing was pending */
	TIME_WAIT = 130,  /* s until closed connections are gone, or were given up */
	BLOCKS_MORE = 8   /* than at first: ARP, and lwIP's timers */
};

static void read_from_all(unsigned stack)
{
	for (unsigned i = 0; i < run.connections; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct connection *c = &run.connection[i];

			if (c->used && c->end[side].stack == (int)stack && c->end[side].file)
				end_read(c, side, true);
		}
}

static void serve(unsigned stack)
{
	stack_poll(stack);
	datagrams_take(stack);
	frames_look(stack);
	read_from_all(stack);
	lab.life[stack].calls->poll();
	frames_look(stack);
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
		const struct forward_port *port = &lab.forward.port[i];

		fprintf(stderr, "stack %u, life %lu, %sawake; at the switch %sup,%s%s%s epoch %lu, last %lu\n", i,
		        lab.life[i].host.info.life,
			lab.life[i].awake ? "" : "not ", port->end.up ? "" : "not ", port->ended ? " ended," : "",
			port->resets_sent ? " resets sent," : "", port->late ? " late," : "",
			(uint64_t)port->end.theirs->epoch, port->end.seen);
		lab.life[i].calls->describe();
	}
	fprintf(stderr, "switch %sawake: %u resets of %u for %lu ms, %u ports wait; deadline in %ld ms\n",
	        lab.switch_awake ? "" : "not ",
		lab.forward.reset_queue.count, lab.forward.reset_queue.port,
		(lab.now - lab.forward.reset_queue.since) / MILLISECOND, lab.forward.reset_queue.waiting,
		lab.forward.deadline ? (int64_t)(lab.forward.deadline - lab.now) / (int64_t)MILLISECOND : 0);
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
	const uint64_t late = lab.now + TIMEOUT * SECOND;

	for (unsigned quiet = 0; quiet < QUIET;) {
		lab_turn();
		quiet = any_pending() ? 0 : quiet + 1;
		if (lab.now > late) {
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
				lab.life[c->end[side].stack].awake = true; /* its program runs */
			}
		c->used = false;
	}
}

static void check_empty(unsigned number)
{
	const struct life_calls *calls = lab.life[number].calls;
	const long first = run.program[number].blocks;
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
	if (calls->blocks() <= first + BLOCKS_MORE && !calls->sent() && !slots)
		return;
	describe();
	fail("stack %u keeps %ld blocks (%ld at first), %zu bytes to send, %u slots", number, calls->blocks(),
	     first, calls->sent(), slots);
}

void settle_all(void)
{
	trouble_end();
	for (unsigned i = 0; i < STACKS; i++) {
		if (!lab.life[i].calls)
			stack_start(i);
		lab.life[i].awake = true;
	}
	lab.switch_awake = true;
	lab.serve = serve;
	arrive();
	close_all();
	for (const uint64_t end = lab.now + TIME_WAIT * SECOND; lab.now < end;)
		lab_turn();
	for (unsigned i = 0; i < STACKS; i++)
		check_empty(i);
}
