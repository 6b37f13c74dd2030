/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depth-first search over executions, each run from the start. The threads are
 * fibers that stop before each access at which a choice is to be made.
 *
 * Sleep sets (Godefroid 1996) keep two executions from differing only in the
 * order of accesses that commute, so that each execution in the sense of C11
 * (which load read which store, the order of stores to each place) is seen once.
 * Those that are given up as another's twin are counted as redundant.
 */
#include "explore.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine.h"
#include "fiber.h"

enum { DEPTH = 100000 };

static struct strand {
	struct fiber fiber, fresh;
	bool finished, stopped; /* has done all; stands before an access */
	struct op op;
	const void *code;
	bool hardware; /* explore_as_hardware() */
	bool waits; /* until a place that the last turn read is written */
	struct turn turn, last;
} strand[EXPLORE_THREADS];

/* A choice. From `first` on, `asleep` actions that sleep, then `count` to explore, of which `at` is being explored. */
struct node {
	unsigned first, count, at, asleep;
};

static const struct explore_case *now;
static int self = NOBODY;
static bool running, failed, redundant;
static char failure[512];
static jmp_buf outside;
static struct action *actions;
static unsigned action_room;
static struct node *nodes;
static unsigned node_count, node_room;
static struct engine_count count;

bool engine_all_schedules;

int engine_self(void) { return self; }
int engine_watched(void) { return self == NOBODY || strand[self].hardware ? NOBODY : self; }
void explore_as_hardware(bool on) { strand[self].hardware = on; }
unsigned explore_self(void) { return self; }
bool explore_running(void) { return running; }

/* Back to the explorer, until it resumes this thread. */
static void stop(void)
{
	fiber_yield(&strand[self].fiber);
}

void explore_fail(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vsnprintf(failure, sizeof(failure), format, list);
	va_end(list);
	failed = true;
	if (!running) {
		fprintf(stderr, "%s\n", failure);
		exit(1);
	}
	if (self == NOBODY)
		longjmp(outside, 1);
	for (;;)
		stop();
}

void explore_outcome(uint64_t outcome)
{
	for (unsigned i = 0; i < count.outcomes; i++)
		if (count.outcome[i] == outcome)
			return;
	if (count.outcomes == sizeof(count.outcome) / sizeof(count.outcome[0]))
		explore_fail("too many outcomes");
	count.outcome[count.outcomes++] = outcome;
}

static void perform(unsigned thread, struct op *op, write_name choice, const void *code)
{
	plain_access(thread, op->address, op->size, op_writes(op), true, code);
	memory_apply(thread, op, choice);
	turn_note(&strand[thread].turn, thread, op);
	report_step(thread, op, choice, code);
}

static struct {
	unsigned thread, left; /* left: accesses, the last of which is not made; 0: nobody dies */
	void (*die)(void);
} death;

void explore_die_at(unsigned step, void (*die)(void))
{
	death.thread = (unsigned)self;
	death.left = step;
	death.die = die;
}

void engine_access(struct op *op, const void *code)
{
	if (running && death.left && death.thread == (unsigned)self && --death.left == 0)
		death.die();
	if (!running || engine_watched() == NOBODY || plain_is_hardware(op->address)) {
		memory_apply_alone(op);
		return;
	}
	struct strand *s = &strand[self];
	s->op = *op;
	s->code = code;
	if (shared_note(self, op) || s->waits) {
		s->stopped = true;
		stop();
		s->stopped = false;
	} else {
		write_name choice[CHOICES];
		if (memory_choices(self, op, choice) != 1) {
			/* a place that has become another's; the exploration begins anew */
			redundant = true;
			stop();
		}
		perform(self, &s->op, choice[0], code);
	}
	*op = s->op;
	s->waits = false;
}

void explore_relax(void)
{
	if (!running || self == NOBODY)
		explore_fail("a wait with nobody to wait for");
	struct strand *s = &strand[self];
	bool again = turn_same(&s->turn, &s->last);
	memory_turn(self, again);
	if (again && turn_newer(&s->turn)) {
		/* it could have waited for what it did not look at: that is another execution */
		redundant = true;
		stop();
	}
	s->waits = !s->turn.wrote;
	s->last = s->turn;
	s->turn.count = 0;
	s->turn.wrote = false;
}

void explore_raise(struct explore_line *line)
{
	struct op op = { .kind = OP_RMW, .size = 1, .address = (uint64_t)line, .release = true, .drained = true };
	engine_access(&op, __builtin_return_address(0));
}

void explore_rest(struct explore_line *line, bool (*ready)(void *argument), void *argument)
{
	struct op op = { .kind = OP_RMW, .size = 1, .address = (uint64_t)line, .acquire = true, .ready = ready,
		         .argument = argument };
	engine_access(&op, __builtin_return_address(0));
}

static void thread_main(void *argument)
{
	struct strand *s = argument;
	now->thread(s - strand);
	s->finished = true;
	for (;;)
		stop();
}

static void resume(unsigned thread)
{
	if (now->resume)
		now->resume(thread);
	self = thread;
	fiber_resume(&strand[thread].fiber);
	self = NOBODY;
}

static struct action *add_action(unsigned at)
{
	if (at == action_room) {
		action_room = action_room ? 2 * action_room : 4096;
		actions = realloc(actions, action_room * sizeof(*actions));
		if (!actions)
			abort();
	}
	return &actions[at];
}

static bool same_action(const struct action *a, const struct action *b)
{
	return a->thread == b->thread && a->choice == b->choice;
}

static bool commute(const struct action *a, const struct action *b)
{
	if (a->thread == b->thread)
		return false;
	return a->address != b->address || !((a->writes && b->writes) || (a->sequential && b->sequential));
}

/* All that the threads may do now, behind the sleeping ones at `first`; how many in all, sleeping or not. */
static unsigned collect(struct node *node)
{
	unsigned all = 0;
	node->count = 0;
	for (unsigned t = 0; t < now->threads; t++) {
		const struct strand *s = &strand[t];
		write_name choice[CHOICES];
		if (s->finished || (s->waits && !turn_newer(&s->last)) || (s->op.ready && !s->op.ready(s->op.argument)))
			continue;
		unsigned choices = memory_choices(t, &s->op, choice);
		for (unsigned i = 0; i < choices; i++, all++) {
			struct action a = { t, op_writes(&s->op), s->op.sequential, choice[i], s->op.address };
			unsigned z = 0;
			while (z < node->asleep && !same_action(&actions[node->first + z], &a))
				z++;
			if (z == node->asleep)
				*add_action(node->first + node->asleep + node->count++) = a;
		}
	}
	return all;
}

/* What sleeps after the parent's present action: what slept or was explored before it, and commutes with it. */
static void inherit_sleep(struct node *node, const struct node *parent)
{
	const struct action chosen = actions[parent->first + parent->asleep + parent->at];
	node->first = parent->first + parent->asleep + parent->count;
	node->asleep = 0;
	for (unsigned i = 0; i < parent->asleep + parent->at && !engine_all_schedules; i++) {
		const struct action a = actions[parent->first + i];
		if (commute(&a, &chosen))
			*add_action(node->first + node->asleep++) = a;
	}
}

static bool all_rest(void)
{
	for (unsigned t = 0; t < now->threads; t++)
		if (!strand[t].finished && !strand[t].op.ready)
			return false;
	return true;
}

/* A new choice; false: there is none, the execution has come to its end. */
static bool push_node(void)
{
	if (node_count == node_room) {
		node_room = node_room ? 2 * node_room : 1024;
		nodes = realloc(nodes, node_room * sizeof(*nodes));
		if (!nodes)
			abort();
	}
	struct node *node = &nodes[node_count];
	*node = (struct node){ 0 };
	if (node_count)
		inherit_sleep(node, node - 1);
	unsigned all = collect(node);
	if (!all && !all_rest())
		explore_fail("the threads wait for each other for ever");
	if (node->count) {
		node_count++;
		count.states++;
		return true;
	}
	redundant = all != 0;
	return false;
}

static void start(void)
{
	memory_start();
	plain_start();
	report_start();
	failed = redundant = false;
	death.left = 0; /* of an execution that was given up */
	running = true;
	if (now->begin)
		now->begin();
	for (unsigned t = 0; t < now->threads; t++) {
		struct strand *s = &strand[t];
		struct fiber fresh = s->fresh;
		*s = (struct strand){ .fresh = fresh, .fiber = fresh };
	}
	memory_start();
	for (unsigned t = 0; t < now->threads && !failed && !redundant; t++)
		resume(t);
}

static void run(void)
{
	start();
	for (unsigned depth = 0; !failed && !redundant; depth++) {
		if (depth == DEPTH)
			explore_fail("no end in sight");
		if (depth == node_count && !push_node())
			break;
		const struct node *node = &nodes[depth];
		const struct action a = actions[node->first + node->asleep + node->at];
		struct strand *s = &strand[a.thread];
		perform(a.thread, &s->op, a.choice, s->code);
		resume(a.thread);
		if (depth > count.longest)
			count.longest = depth;
	}
	if (!failed && !redundant && now->end)
		now->end();
}

/* To the next branch that is not explored; false: none is left. */
static bool backtrack(void)
{
	while (node_count) {
		struct node *node = &nodes[node_count - 1];
		if (++node->at < node->count)
			return true;
		node_count--;
	}
	return false;
}

static void explore(void)
{
	shared_start();
	memset(&count, 0, sizeof(count));
	node_count = 0;
	seen_clear();
	do {
		if (!setjmp(outside))
			run();
		self = NOBODY;
		running = false;
		plain_undo();
		if (failed || shared_was_wrong())
			return;
		bool new = !redundant && seen_first(memory_identity());
		*(new ? &count.executions : &count.redundant) += 1;
	} while (backtrack());
}

const char *engine_explore(const struct explore_case *c, struct engine_count *result)
{
	now = c;
	shared_forget_all();
	plain_no_hardware();
	if (c->set_up)
		c->set_up();
	for (unsigned t = 0; t < c->threads; t++) {
		fiber_init(&strand[t].fiber, thread_main, &strand[t]);
		strand[t].fresh = strand[t].fiber;
	}
	do
		explore();
	while (!failed && shared_was_wrong());
	for (unsigned t = 0; t < c->threads; t++)
		fiber_free(&strand[t].fresh);
	if (c->tear_down)
		c->tear_down();
	*result = count;
	return failed ? failure : 0;
}
