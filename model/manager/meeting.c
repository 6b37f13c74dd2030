/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two machines over one channel, each first its loader (machine_handshake.h), then its manager's channel code: both
 * loaders meet, and a machine that is switched off, and on again, joins the other one, which runs; its loader may be
 * off once more before any of its accesses.
 */
#include <setjmp.h>
#include "managers.h"

enum { HELLO = 100, GARBAGE = 0x77, SOME = 8 /* bytes behind the header, for cases without rings */ };

static jmp_buf off[SIDES];
static _Atomic bool done[SIDES]; /* its loader has come to its end */
static bool breaks_header, with_rings;

/* The manager's timer, which rings whatever happens. */
static void tick(unsigned side)
{
	atomic_fetch_or_explicit(&bell[side], 1, memory_order_release);
	if (played < 0)
		explore_raise(&line[side]);
}

static struct handshake_loader say_hello(unsigned side)
{
	struct handshake_loader l = { .header = (struct channel_header *)memory, .side = side,
		                    .size = with_rings ? sizeof(memory) : sizeof(struct channel_header) + SOME };
	if (with_rings) {
		atomic_store_explicit(&listens[side], 0, memory_order_release);
		atomic_store_explicit(&bell[side], 0, memory_order_release);
	}
	handshake_hello(&l, HELLO + 10 * side); /* the same number each time: the protocol makes two of it */
	return l;
}

/* The loader, up to its end. */
static void load(unsigned side)
{
	struct handshake_loader l = say_hello(side);
	if (with_rings)
		tick(!side);
	while (!handshake_poll(&l))
		explore_relax();
	handshake_finish(&l);
}

static void set_up_remote(void)
{
	set_up();
	for (unsigned side = 0; side < SIDES; side++)
		info[side].channel[0].remote = 1;
}

/* Nobody is on; an earlier run has left something everywhere. */
static void nobody(void)
{
	memset(memory, GARBAGE, with_rings ? sizeof(memory) : sizeof(struct channel_header) + SOME);
}

/* Both run, and messages have passed: as many as the ring has slots. */
static void both_run(void)
{
	struct handshake_loader l[SIDES];
	with_rings = true;
	nobody();
	for (played = 0; played < SIDES; played++)
		l[played] = say_hello((unsigned)played);
	while (!(handshake_poll(&l[0]) & handshake_poll(&l[1])))
		;
	for (unsigned side = 0; side < SIDES; side++)
		handshake_finish(&l[side]);
	both_up();
	played = 1;
	send(1, 11); /* its last words, which nobody has read yet */
	played = -1;
	bell[0] = 0;
}

static void off_and_on(void) { longjmp(off[side_of_self()], 1); }

/* What a kernel gone wild may do to a header, its own half and the other's. */
static void scribble(void)
{
	struct channel_header *h = (struct channel_header *)memory;
	for (unsigned side = 0; side < SIDES; side++) {
		atomic_store_explicit(&h->side[side].generation, 1, memory_order_relaxed);
		atomic_store_explicit(&h->side[side].acknowledged, 2, memory_order_relaxed);
		atomic_store_explicit(&h->handshake.side[side].granted, 0, memory_order_relaxed);
	}
}

/* Side 1 is off, and on again; it says something else. */
static void joins(unsigned self)
{
	if (!self)
		serve(0);
	if (breaks_header)
		scribble();
	load(1);
	begin_instance(3);
	send(3, 12);
	serve(3);
}

/* It is off before the access `step` of its loader, and on again. */
static void load_twice(unsigned self, unsigned step)
{
	if (!setjmp(off[self])) {
		explore_die_at(step, off_and_on);
		load(self);
		explore_die_at(0, off_and_on);
	} else {
		load(self);
	}
	atomic_store_explicit(&done[self], true, memory_order_release);
}

static void joins_twice(unsigned self, unsigned step)
{
	if (self)
		load_twice(1, step);
	else
		serve(0);
}

/* Both are switched on at once. */
static void meets(unsigned self)
{
	load_twice(self, 0);
	memory[sizeof(struct channel_header) + self] = 1; /* as its manager may */
}

static void wild(void)
{
	both_run();
	breaks_header = true;
}

static void came(void)
{
	EXPLORE_CHECK(manager[0].last == 12 && manager[0].received >= 1, "the new machine's message never arrives");
	EXPLORE_CHECK(manager[0].received <= 2, "a message came twice, or one of a former life");
	EXPLORE_CHECK(manager[0].lost >= 1 && manager[3].lost == 0, "a machine was started again and nobody noticed");
}

/* The loader has come to its end, with what the peer has granted, or with what two that begin anew have. */
static void has_met(unsigned side)
{
	const struct machine_handshake_side *mine = &((struct channel_header *)memory)->handshake.side[side];
	const struct machine_handshake_side *theirs = &((struct channel_header *)memory)->handshake.side[!side];
	uint64_t own = atomic_load_explicit(&mine->own, memory_order_relaxed),
	         granted = atomic_load_explicit(&theirs->granted, memory_order_relaxed);
	EXPLORE_CHECK(done[side], "a loader waits for good");
	EXPLORE_CHECK(atomic_load_explicit(&theirs->joined, memory_order_relaxed) ==
			      atomic_load_explicit(&mine->hello, memory_order_relaxed) ? own == granted &&
			      own > 1 : own == 1,
		      "a loader leaves with another generation than it was given");
}

static void joiner_has_met(void)
{
	has_met(1);
	EXPLORE_CHECK(manager[0].lost == 1, "a machine was started again and nobody noticed, or it was lost twice");
}
static void both_have_met(void)
{
	has_met(0);
	has_met(1);
}

#define STEPS(each) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10) each(11) each(12) each(13) each(14) \
	each(15) each(16) each(17) each(18)
#define THREADS(n) static void joins_##n(unsigned self) { joins_twice(self, n); }
STEPS(THREADS)
#define CASES(n)                                                                                                                 \
	{ .name = "joins, off before access " #n, .threads = 2, .set_up = set_up_remote, .begin = both_run, \
	  .thread = joins_##n, \
	  .end = joiner_has_met },

static const struct explore_case cases[] = {
	{ .name = "one joins", .threads = 2, .set_up = set_up_remote, .begin = both_run, .thread = joins, .end = came },
	{ .name = "one joins after it overwrote the header", .threads = 2, .set_up = set_up_remote, .begin = wild,
	  .thread = joins,
	  .end = came },
	{ .name = "both on", .threads = 2, .set_up = set_up_remote, .begin = nobody, .thread = meets,
	  .end = both_have_met },
	STEPS(CASES)
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
