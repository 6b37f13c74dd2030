/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of a network port (net/port_end.h) as one of them ends before any of
 * its atomic accesses that write, and its successor opens the port: the two of them meet,
 * and each frame that is taken was sent in this pair of lives. No timer helps.
 *
 * Death stops a program between two accesses; its cluster-manager closes the
 * port (port_close()) and starts the successor, which knows nothing.
 */
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include "explore.h"

/* Each atomic access of what follows that writes comes behind a place to die: one that reads leaves nothing behind. */
static void die_here(void);
#undef atomic_store_explicit
#undef atomic_fetch_or_explicit
#undef atomic_exchange_explicit
#define atomic_store_explicit(object, value, order) (die_here(), __atomic_store_n(object, value, order))
#define atomic_fetch_or_explicit(object, value, order) (die_here(), __atomic_fetch_or(object, value, order))
#define atomic_exchange_explicit(object, value, order) (die_here(), __atomic_exchange_n(object, value, order))
#include "port_end.h"

enum { ENDS = 2, FIRST_LIFE = 2, LENGTH = 64 };

static _Alignas(4096) uint8_t memory[PORT_SIZE];

/* What one life of a program has of its own; its side's number is its thread's. */
static struct life {
	struct port_end end;
	bool sent, taken; /* in this pair of lives: one frame */
	uint64_t pair;    /* `seen` of that pair */
} life[ENDS];

/* The case at hand */
static unsigned dies_at[ENDS]; /* before its access of this number; 0: not at all */
static unsigned wild;          /* how the stack writes before it dies */
static bool bells;             /* they sleep when there is nothing to do; otherwise they look again and again */
static bool again;             /* both had met before, and the one that dies is a successor itself */
static bool settled;           /* and the switch has seen that one's predecessor end */
static unsigned sender;        /* the side that sends the frame */

static unsigned accesses[ENDS];
static jmp_buf death[ENDS];
static bool mortal[ENDS], playing;

static void die_here(void)
{
	unsigned self = playing ? ENDS : explore_self();
	if (self >= ENDS || !mortal[self] || ++accesses[self] != dies_at[self])
		return;
	mortal[self] = false;
	longjmp(death[self], 1);
}

static _Atomic uint32_t bell[ENDS];
static struct explore_line line[ENDS];
static void signal(unsigned of)
{
	if (playing || !bells)
		return;
	__atomic_fetch_or(&bell[of], 1, __ATOMIC_RELEASE);
	explore_raise(&line[of]);
}
static bool rung(void *which) { return *(uint32_t *)which != 0; }
static void wait(unsigned self)
{
	if (!bells) {
		explore_relax();
		return;
	}
	explore_rest(&line[self], rung, &bell[self]);
	__atomic_exchange_n(&bell[self], 0, __ATOMIC_ACQUIRE);
}

/* A frame names its sender and its receiver. */
static bool send(struct life *l)
{
	uint64_t *frame = port_reserve(&l->end);
	if (!frame)
		return false;
	frame[0] = l->end.own;
	frame[1] = l->end.up ? l->end.seen : 0;
	port_publish(&l->end, LENGTH);
	return true;
}

static bool take(struct life *l)
{
	uint32_t length;
	const uint64_t *frame = port_peek(&l->end, &length);
	if (!frame)
		return false;
	EXPLORE_CHECK(frame[0] == l->end.seen, "a frame of life %llu is taken for one of life %llu",
		      (unsigned long long)frame[0], (unsigned long long)l->end.seen);
	EXPLORE_CHECK(!frame[1] || frame[1] == l->end.own, "a frame for life %llu is taken by life %llu",
		      (unsigned long long)frame[1], (unsigned long long)l->end.own);
	EXPLORE_CHECK(length == LENGTH, "a frame of another length");
	port_release(&l->end);
	return true;
}

/* As the switch, stacks and drivers do. Returns whether there is nothing more to do in this pair of lives. */
static bool pass(unsigned self)
{
	struct life *l = &life[self];
	bool wake = port_poll(&l->end);
	if (l->pair != l->end.seen) {
		l->pair = l->end.seen;
		l->sent = port_count(&l->end.transmit); /* before the other side's first life */
		l->taken = false;
	}
	if (self == sender && !l->sent)
		wake |= l->sent = send(l);
	if (self != sender && !l->taken)
		l->taken = take(l);
	if (wake)
		signal(!self);
	return l->end.up && (self == sender ? l->sent : l->taken);
}

static void start(unsigned self, uint64_t epoch)
{
	life[self] = (struct life){ .end = port_open(memory, self ? PORT_TO_SWITCH : PORT_FROM_SWITCH, epoch) };
	signal(!self);
}

/* What its manager does once it has stopped. */
static void end(unsigned self)
{
	port_close((struct port_epochs *)(memory + PORT_EPOCHS), self ? PORT_TO_SWITCH : PORT_FROM_SWITCH);
	signal(!self);
}

/* Both words of both sides, and what stands in the rings, as one that dies may leave them. */
static void write_wildly(unsigned self, unsigned how)
{
	const uint64_t next = port_position(3 * FIRST_LIFE, FIRST_LIFE);
	struct port_side *mine = port_mine(&life[self].end), *theirs = port_theirs(&life[self].end);
	struct ring *out = port_ring(memory, life[self].end.out), *in = port_ring(memory, !life[self].end.out);
	switch (how) {
	case 1: atomic_store_explicit(&mine->epoch, 100, memory_order_relaxed); break;
	case 2: atomic_store_explicit(&mine->epoch, 0, memory_order_relaxed); break;
	case 3: atomic_store_explicit(&mine->acknowledged, 77, memory_order_relaxed); break;
	case 4: atomic_store_explicit(&theirs->epoch, 100, memory_order_relaxed); break;
	case 5: atomic_store_explicit(&theirs->epoch, 0, memory_order_relaxed); break;
	case 6: atomic_store_explicit(&theirs->acknowledged, 77, memory_order_relaxed); break;
	case 7: /* a frame where its successor's first will be */
		atomic_store_explicit(&out->slot[0].sequence, next + 1, memory_order_relaxed);
		break;
	case 8: /* and one for it */
		atomic_store_explicit(&in->slot[0].sequence, next + 1, memory_order_relaxed);
		break;
	case 9: atomic_store_explicit(&in->taken, ~0ull, memory_order_relaxed); break;
	case 10: atomic_store_explicit(&out->taken, next + 1, memory_order_relaxed); break;
	default: break;
	}
}
enum { WILD = 10, THEIRS_FIRST = 4, THEIRS_LAST = 6 };

/* The first life of the case, which dies if it is to. */
static void live(unsigned self)
{
	bool dies = dies_at[self];
	if (dies) {
		if (setjmp(death[self]))
			return;
		mortal[self] = true;
	}
	if (dies && again) {
		if (!settled)
			end(self);
		start(self, 2 * FIRST_LIFE);
	} else if (!again) {
		start(self, FIRST_LIFE);
	}
	while (dies && !pass(self))
		wait(self);
	mortal[self] = false;
}

/* A switch that finds its own words changed goes on with another epoch. */
static uint64_t last_life(unsigned side)
{
	if (side)
		return 3 * FIRST_LIFE;
	return wild >= THEIRS_FIRST && wild <= THEIRS_LAST ? FIRST_LIFE + 2 : FIRST_LIFE;
}

static void run(unsigned self)
{
	if (!self || !wild)
		live(self);
	if (self && !wild)
		end(self);
	if (self)
		start(self, 3 * FIRST_LIFE);
	while (!pass(self) || bells || life[self].end.seen != last_life(!self))
		wait(self);
}

static void both_up(void)
{
	playing = true;
	for (unsigned i = 0; i < ENDS; i++)
		start(i, FIRST_LIFE);
	for (unsigned i = 0; i < 3 * ENDS; i++)
		pass(i % ENDS);
	for (unsigned i = 0; i < ENDS; i++) {
		EXPLORE_CHECK(life[i].end.up && (i == sender ? life[i].sent : life[i].taken),
		              "the port does not come up");
		life[i].sent = life[i].taken = false; /* another one */
	}
	pass(sender); /* which the other one has not taken */
	settled = !wild && dies_at[1] > 1;
	if (wild) { /* the switch has seen nothing of it */
		write_wildly(1, wild);
		end(1);
	} else if (settled) {
		end(1);
		pass(0);
		accesses[1] = 1;
	}
	playing = false;
}

/* And has a frame for the next life. */
static void switch_opens(void)
{
	playing = true;
	start(0, FIRST_LIFE);
	pass(0);
	playing = false;
}

static void met(void)
{
	for (unsigned i = 0; i < ENDS; i++) {
		EXPLORE_CHECK(life[i].end.up && life[i].end.seen == life[!i].end.own, "the two never meet");
		EXPLORE_CHECK(i == sender ? life[i].sent : life[i].taken, "the new frame never arrives");
	}
}

/* --- the cases: one for each place to die --- */

/*
 * It is always the stack that dies: the other end has the same code. A first life that has told of itself is as a
 * second one, and before that it has told nothing, whichever write it dies at.
 */
enum { FIRST_DEATHS = 1, SECOND_DEATHS = 11, DEATHS = FIRST_DEATHS + SECOND_DEATHS, CASES = 2 * (DEATHS + WILD) };

static unsigned sender_in(unsigned number) { return number & 1; }
static unsigned write_in(unsigned number)
{
	number /= 2;
	return 1 + (number < FIRST_DEATHS ? number : number < DEATHS ? number - FIRST_DEATHS : number - DEATHS);
}

static void begin(unsigned number)
{
	wild = number < 2 * DEATHS ? 0 : write_in(number);
	again = number >= 2 * FIRST_DEATHS;
	sender = sender_in(number);
	if (!wild)
		dies_at[1] = write_in(number);
	bells = again && !wild && dies_at[1] == 1;
	explore_name(memory, PORT_RING_SIZE, "ring to the switch");
	explore_name(memory + PORT_EPOCHS, sizeof(struct port_epochs), "epochs");
	explore_name(memory + PORT_RING_SIZE, PORT_RING_SIZE, "ring to the stack");
	if (again)
		both_up();
	else
		switch_opens();
}

#define TENS(ten) ten() ten(1) ten(2) ten(3) ten(4)
#define BEGIN(n) static void begin_##n(void) { begin(n); }
#define BEGIN_TEN(t) BEGIN(t##0) BEGIN(t##1) BEGIN(t##2) BEGIN(t##3) BEGIN(t##4) BEGIN(t##5) BEGIN(t##6) BEGIN(t##7) BEGIN(t##8) BEGIN(t##9)
TENS(BEGIN_TEN)
#define NAME_TEN(t) begin_##t##0, begin_##t##1, begin_##t##2, begin_##t##3, begin_##t##4, begin_##t##5, begin_##t##6, \
begin_##t##7, begin_##t##8, begin_##t##9,
static void (*const begins[])(void) = { TENS(NAME_TEN) };
_Static_assert(sizeof(begins) / sizeof(begins[0]) >= CASES, "one for each case");

int main(int argc, char **argv)
{
	static struct explore_case cases[CASES + 1];
	static char name[CASES][96];

	for (unsigned i = 0; i < CASES; i++) {
		const char *what = i < 2 * FIRST_DEATHS ? "the stack's first life dies before" :
				   i < 2 * DEATHS	? "the stack's second life dies before" :
							  "wild";
		snprintf(name[i], sizeof(name[i]), "%s write %u, a frame of the %s", what, write_in(i),
		         sender_in(i) ? "stack" : "switch");
		cases[i] = (struct explore_case){ .name = name[i], .threads = ENDS, .begin = begins[i], .thread = run,
		                                  .end = met };
	}
	return explore_main(argc, argv, cases);
}
