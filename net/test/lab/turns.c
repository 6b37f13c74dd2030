/* SPDX-License-Identifier: BSD-2-Clause */
#include "../../lwip/link.h"
#include "lab.h"

enum { LATE = 4 /* one of so many turns is left out */, ASLEEP = 50 /* ms: as long as everything sleeps at once */ };

/* The next life that runs, from index `*i` on; those behind lab.places are of programs beside their stacks. */
static struct life *next_life(unsigned *i)
{
	for (; *i < 2 * lab.places; ++*i) {
		struct life *life = *i % 2 ? &lab.program[*i / 2] : &lab.life[*i / 2];

		if (life->calls && !life->stopped)
			return life;
	}
	return NULL;
}

static uint64_t deadline_of(const struct life *life)
{
	return life->fiber ? fiber_deadline(life) : life->calls->deadline();
}

static void run_life(struct life *life)
{
	const uint64_t due = deadline_of(life);
	struct life *const before = here;

	if ((!life->awake && (!due || lab.now < due)) || (lab.draws && !lab_draw(LATE)))
		return;
	life->awake = false;
	here = life;
	if (life->fiber)
		fiber_resume(life);
	else if (lab.serve)
		lab.serve(life->host.number);
	else
		life->calls->poll();
	if (!life->fiber)
		life->awake |= !life->calls->prepare_sleep();
	here = before;
}

static void check_asleep(const struct life *life)
{
	for (unsigned i = 0; i < life->calls->links(); i++) {
		struct link *link = life->calls->link(i);

		if (port_ready(&link->port))
			fail("place %u sleeps with frames in link %u", life->host.number, i);
		if (link->waiting && link->port.may_send && ring_has_room(&link->port.transmit))
			fail("place %u sleeps with room in link %u, for which %u frames wait", life->host.number, i,
			     link->waiting);
	}
}

static void check_all_asleep(void)
{
	for (unsigned i = 0; i < lab.places && !switch_deadline(); i++) /* no source waits */
		if (port_ready(&lab.forward.port[i].end))
			fail("the switch sleeps with frames of place %u", i);
	for (unsigned i = 0; next_life(&i); i++)
		check_asleep(next_life(&i));
}

static bool all_asleep(void)
{
	bool awake = lab.switch_awake;

	for (unsigned i = 0; next_life(&i); i++)
		awake |= next_life(&i)->awake;
	return !awake;
}

/* To the next time at which anything happens by itself, at most to `end`. */
static void pass_time(uint64_t end)
{
	uint64_t next = lab.now + (all_asleep() ? ASLEEP * MILLISECOND : MILLISECOND / 100);

	for (unsigned i = 0; next_life(&i); i++) {
		const uint64_t due = deadline_of(next_life(&i));

		if (due && due < next)
			next = due;
	}
	if (switch_deadline() && switch_deadline() < next)
		next = switch_deadline();
	if (end < next)
		next = end;
	lab.now = next > lab.now ? next : lab.now + MILLISECOND / 1000;
}

static void turn(uint64_t end)
{
	for (unsigned i = 0; i < lab.places; i++)
		if (lab.played[i] && port_poll(&lab.station[i]))
			lab.switch_awake = true;
	for (unsigned i = 0; next_life(&i); i++)
		run_life(next_life(&i));
	if (lab.switch_awake || (switch_deadline() && lab.now >= switch_deadline()))
		switch_run();
	if (!lab.unchecked && all_asleep())
		check_all_asleep();
	pass_time(end);
}

void lab_turn(void) { turn(UINT64_MAX); }

void lab_pass(unsigned ms)
{
	lab.switch_awake = true;
	for (unsigned i = 0; next_life(&i); i++)
		next_life(&i)->awake = true;
	for (const uint64_t end = lab.now + ms * MILLISECOND; lab.now < end;)
		turn(end);
}
