/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamic locks (lock/dynamic_lock.h) while they are switched: what they guard is plain memory, so that two cores
 * inside are a data race. A core that has done its part passes epochs only when it is interrupted, as an idle core
 * does.
 */
#include <stdatomic.h>
#include "explore.h"
#include "epoch.h"
#include "dynamic_lock.h"

enum { CORES = 3 };

static struct epochs epochs;
static struct dynamic_place place[CORES];
static struct dynamic_lock lock, other;
static uint64_t guarded;       /* by `lock` */
static uint64_t inside[CORES]; /* each core's own: how often it has been inside */

static struct explore_line line[CORES];
static bool interrupted[CORES]; /* hardware */
static uint32_t threads;

void kernel_relax(struct cpu *waiter) { explore_relax(); }

static void send_interrupt(unsigned core)
{
	explore_raise(&line[core]);
	interrupted[core] = true;
}

static bool is_interrupted(void *core) { return *(bool *)core; }
static void wait_for_interrupt(unsigned self)
{
	explore_rest(&line[self], is_interrupted, &interrupted[self]);
	interrupted[self] = false;
}

/* Where this core has not passed the epoch that began, it enters next, as if it had interrupted itself. */
static void interrupt_others(unsigned self, bool began)
{
	for (unsigned i = 0; began && i < threads; i++)
		if (i != self)
			send_interrupt(i);
}

static void enter(unsigned self) { interrupt_others(self, epoch_pass(&epochs, &place[self].epoch)); }

static enum dynamic_hold use(unsigned self)
{
	enum dynamic_hold hold = dynamic_take(&lock, &place[self], 0);
	if (hold == DYNAMIC_AWAY)
		return hold;
	guarded++;
	inside[self]++;
	dynamic_release(&lock, hold);
	return hold;
}

static enum dynamic_hold enter_and_use(unsigned self)
{
	enter(self);
	return use(self);
}

static void demote_now(unsigned self, struct dynamic_lock *which, unsigned home)
{
	bool began;
	EXPLORE_CHECK(dynamic_demote(which, &epochs, &place[self], home, &began), "an enabled lock is not demoted");
	interrupt_others(self, began);
}

static void promote(unsigned self)
{
	bool began;
	enter(self);
	dynamic_promote(&lock, &epochs, &place[self], &began);
	interrupt_others(self, began);
}

_Noreturn static void idle(unsigned self)
{
	for (;;) {
		wait_for_interrupt(self);
		enter(self);
	}
}

/* Idle, but for an attempt after each interrupt, until the lock is taken so. */
_Noreturn static void use_until(unsigned self, enum dynamic_hold hold)
{
	while (enter_and_use(self) != hold)
		wait_for_interrupt(self);
	idle(self);
}

static void begin_with(unsigned cores, uint32_t tag)
{
	threads = cores;
	epochs_init(&epochs, cores);
	for (unsigned i = 0; i < cores; i++)
		dynamic_place_init(&place[i], i);
	lock.tag = tag;
}
static void two_enabled(void) { begin_with(2, 0); }
static void three_enabled(void) { begin_with(3, 0); }
static void two_disabled(void) { begin_with(2, dynamic_tag(DYNAMIC_DISABLED, 0, 0)); }
static void three_disabled(void) { begin_with(3, dynamic_tag(DYNAMIC_DISABLED, 0, 0)); }

/* Core 0 demotes, and goes on until it takes the lock without an atomic instruction. */
static void demoted_at_home(unsigned self)
{
	if (self == 0) {
		enter(0);
		demote_now(0, &lock, 0);
		use_until(0, DYNAMIC_ALONE);
	} else {
		enter_and_use(self);
		enter_and_use(self);
		idle(self);
	}
}

/* As it begins, the other core may have passed the epoch that another switch has begun: one more is needed. */
static void demoted_in_an_epoch(unsigned self)
{
	if (self == 1) {
		enter(1);
		demote_now(1, &other, 1);
		enter_and_use(1);
	} else {
		enter(0);
		demote_now(0, &lock, 0);
		enter(0);
		while (place[0].epoch.seen < 2) {
			wait_for_interrupt(0);
			enter(0);
		}
		use(0);
	}
	idle(self);
}

/* By a core that is not to be its home, and then has it no more. */
static void demoted_for_another(unsigned self)
{
	if (self == 0) {
		use_until(0, DYNAMIC_ALONE);
	} else {
		enter_and_use(1);
		demote_now(1, &lock, 0);
		enter(1);
		EXPLORE_CHECK(use(1) == DYNAMIC_AWAY, "a lock that is demoted for another core is taken");
		idle(1);
	}
}

/* By another core than its home, which waits until it has the lock. */
static void promoted_by_another_core(unsigned self)
{
	if (self == 0) {
		enter_and_use(0);
		enter_and_use(0);
		idle(0);
	} else {
		promote(1);
		use_until(1, DYNAMIC_LOCKED);
	}
}

/* A third core does nothing but pass epochs. */
static void demoted_beside_an_idle_core(unsigned self)
{
	if (self == 2)
		idle(2);
	enter(self);
	if (self == 0) {
		demote_now(0, &lock, 0);
		for (enter(0); place[0].epoch.seen < 3; enter(0))
			wait_for_interrupt(0);
	}
	use(self);
	idle(self);
}

/* The home need not wait; it may be told to by another core at the same time. */
static void promoted_at_home(unsigned self)
{
	if (self == 0) {
		enter_and_use(0);
		promote(0);
		enter_and_use(0);
	} else {
		enter_and_use(self);
		enter_and_use(self);
	}
	idle(self);
}

/* Taken back before it is final, or after, or before it has begun; the home goes on in either case. */
static void demotion_taken_back(unsigned self)
{
	if (self == 0) {
		enter(0);
		demote_now(0, &lock, 0);
		enter_and_use(0);
		enter_and_use(0);
		idle(0);
	} else {
		promote(1);
		enter_and_use(1);
		idle(1);
	}
}

/* Two cores want two homes: one gets its own. */
static void two_homes(unsigned self)
{
	bool began;
	enter(self);
	bool won = dynamic_demote(&lock, &epochs, &place[self], self, &began);
	interrupt_others(self, began);
	if (won)
		use_until(self, DYNAMIC_ALONE);
	EXPLORE_CHECK(use(self) == DYNAMIC_AWAY, "the lock has two homes");
	idle(self);
}

static void consistent(void)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < threads; i++)
		all += inside[i];
	EXPLORE_CHECK(guarded == all, "%llu entries left a trace of %llu", (unsigned long long)all,
	              (unsigned long long)guarded);
	EXPLORE_CHECK(lock.ticket.next == lock.ticket.serving, "the lock stays taken");
}
static void ends_disabled(void)
{
	consistent();
	EXPLORE_CHECK(dynamic_state(lock.tag) == DYNAMIC_DISABLED && dynamic_home(lock.tag) < threads,
	              "the lock is not disabled");
}
static void ends_enabled(void)
{
	consistent();
	EXPLORE_CHECK(lock.tag == 0, "the lock is not enabled");
}

static void set_up(void)
{
	explore_name(&epochs, sizeof(epochs), "epochs");
	explore_name(&lock, sizeof(lock), "lock");
	explore_name(&other, sizeof(other), "another lock");
	explore_name(&guarded, sizeof(guarded), "what the lock guards");
	explore_name(line, sizeof(line), "interrupts");
	explore_hardware(interrupted, sizeof(interrupted));
}

#define CASE(text, count, start, body, after) \
	{ .name = text, .threads = count, .set_up = set_up, .begin = start, .thread = body, .end = after }
static const struct explore_case cases[] = {
	CASE("demoted at home, 2 cores", 2, two_enabled, demoted_at_home, ends_disabled),
	CASE("demoted in an epoch, 2 cores", 2, two_enabled, demoted_in_an_epoch, consistent),
	CASE("demoted for another, 2 cores", 2, two_enabled, demoted_for_another, ends_disabled),
	CASE("promoted by another core, 2 cores", 2, two_disabled, promoted_by_another_core, ends_enabled),
	CASE("promoted at home, 2 cores", 2, two_disabled, promoted_at_home, ends_enabled),
	CASE("a demotion taken back, 2 cores", 2, two_enabled, demotion_taken_back, consistent),
	CASE("two homes, 2 cores", 2, two_enabled, two_homes, ends_disabled),
	CASE("promoted at home, 3 cores", 3, three_disabled, promoted_at_home, ends_enabled),
	CASE("demoted beside an idle core, 3 cores", 3, three_enabled, demoted_beside_an_idle_core, ends_disabled),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
