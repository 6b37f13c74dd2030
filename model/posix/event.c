/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that sleep until something happens (apps/libc/posix/event.c), over a
 * network that is as small as can be: messages that a wire delivers, one timer,
 * and one message that waits to be sent. A thread that sleeps for ever has
 * missed its wake-up.
 */
#include <stdatomic.h>
#include <skerry/bell.h>
#include "../../net/held_signal.h"
#include "layer-model.h"

enum { SOON = 10, LATE = 20, MESSAGES = 3 };

/* The network; the lock protects it. */
static bool started, fired, unsent;
static bool got[MESSAGES + 1]; /* message i has come */
static uint32_t taken;
static uint64_t timer;
static bool done;
static unsigned wakes; /* so many other processes, which sleep, are woken by what is sent */
static bool noticed;   /* that something has changed */
static struct held_signal held;

/* What it shares with the wire, as a ring does. */
static _Atomic uint32_t arrived, sent, answered;
static struct bell bell; /* as net/lwip/link.c uses it */
static uint64_t rung[EXPLORE_THREADS];
static _Atomic uint32_t changed; /* as an epoch: only net_poll() looks at it */

static void wake_peer(uint64_t peer)
{
	const uint64_t now = held_signal_add(&held, peer);

	if (!now)
		return;
	platform_signal_peer(now);
	if (held.holding)
		held.took_wake |= model_take_signal();
}

void net_hold_signal(void) { held_signal_begin(&held); }
bool net_took_wake(void) { return held_signal_took_wake(&held); }
uint64_t net_held_signal(void) { return held_signal_take(&held); }

bool net_poll(void)
{
	bool happened = false;

	if (!started)
		return false;
	bell_awake(&bell);
	if (timer && clock_cycles() >= timer) {
		timer = 0;
		model_set(&fired);
		happened = true;
	}
	while (taken != atomic_load_explicit(&arrived, memory_order_acquire)) {
		model_set(&got[++taken]);
		happened = true;
	}
	if (!noticed && atomic_load_explicit(&changed, memory_order_acquire)) {
		model_set(&noticed);
		happened = true;
	}
	if (unsent) {
		atomic_store_explicit(&sent, 1, memory_order_release);
		for (unsigned i = 0; i < wakes; i++)
			wake_peer(MODEL_PEER + i);
	}
	unsent = false;
	return happened;
}

uint64_t net_deadline(void) { return timer; }

bool net_prepare_sleep(void)
{
	if (!started)
		return true;
	bell_arm(&bell);
	return atomic_load_explicit(&arrived, memory_order_acquire) == taken;
}

static void deliver(uint32_t message)
{
	atomic_store_explicit(&arrived, message, memory_order_release);
	if (bell_rings(&bell, &rung[explore_self()]))
		platform_signal(PLATFORM_NET);
}

static void set_up(void)
{
	model_set_up();
	explore_name(&arrived, sizeof(arrived), "arrived");
	explore_name(&bell, sizeof(bell), "bell word");
	explore_name(&sent, sizeof(sent), "sent");
	explore_name(&answered, sizeof(answered), "answered");
	explore_name(&changed, sizeof(changed), "changed");
}

static void begin_started(void) { started = true; }

/* As each call ends (apps/libc/posix/dispatch.c). */
static void leave(void)
{
	event_settle();
	layer_unlock();
}

static void sleeper(const bool *condition)
{
	layer_lock();
	model_wait_for(condition);
	leave();
}

static void one_sleeps(unsigned self)
{
	if (self)
		deliver(1);
	else
		sleeper(&got[1]);
}

/* The poller has armed nothing when another thread makes the first socket. */
static void first_socket(unsigned self)
{
	if (self == 0) {
		sleeper(&done);
	} else if (self == 1) {
		layer_lock();
		started = true;
		model_wait_for(&got[1]);
		model_set(&done);
		leave();
	} else {
		deliver(1);
	}
}

/* A timer that another thread than the poller starts, or that is due before the poller's. */
static void timer_of_another(unsigned self)
{
	if (self == 0) {
		sleeper(&done);
	} else if (self == 1) {
		layer_lock();
		timer = SOON;
		model_wait_for(&fired);
		model_set(&done);
		leave();
	} else {
		model_set_time(SOON);
	}
}

static void begin_with_timer(void)
{
	begin_started();
	timer = LATE;
}

/* The thread that starts it does not wait: its system call ends. */
static void timer_left_behind(unsigned self)
{
	if (self == 0) {
		sleeper(&fired);
	} else if (self == 1) {
		layer_lock();
		timer = SOON;
		leave();
	} else {
		model_set_time(SOON);
	}
}

/* A thread writes and sleeps on a futex, until the poller has the answer. */
static void futex_after_write(unsigned self)
{
	if (self == 0) {
		layer_lock();
		model_wait_for(&got[1]);
		done = true;
		thread_signal(&threads[1]);
		leave();
	} else if (self == 1) {
		layer_lock();
		unsent = true;
		event_leave();
		while (!done)
			thread_sleep(&threads[1], 0);
		leave();
	} else {
		while (!atomic_load_explicit(&sent, memory_order_acquire))
			explore_relax();
		deliver(1);
	}
}

static void begin_with_peer(void)
{
	begin_started();
	wakes = 1;
}

static void begin_with_peers(void)
{
	begin_started();
	wakes = MODEL_PEERS;
}

static void write_and_wait(void)
{
	layer_lock();
	unsent = true;
	model_wait_for(&got[1]);
	leave();
}

/* The peer answers what wakes it. */
static void peer(void)
{
	platform_wait(MODEL_PEER, 0);
	deliver(1);
}

static void asks_a_peer(unsigned self)
{
	if (self)
		peer();
	else
		write_and_wait();
}

/* The same beside a poller, or as one. */
static void asks_beside_a_poller(unsigned self)
{
	if (self == 0)
		sleeper(&got[1]);
	else if (self == 1)
		write_and_wait();
	else
		peer();
}

/* What happens meanwhile keeps the writer from sleeping: another message, or its deadline. */
static void asks_and_stays(unsigned self)
{
	if (self == 0) {
		layer_lock();
		unsent = true;
		event_wait(SOON);
		while (!atomic_load_explicit(&answered, memory_order_acquire))
			explore_relax();
		leave();
	} else if (self == 1) {
		platform_wait(MODEL_PEER, 0);
		atomic_store_explicit(&answered, 1, memory_order_release);
	} else {
		deliver(1);
		model_set_time(SOON);
	}
}

/* What has changed is told while both peers are asked: that signal may be taken along with one of theirs. */
static void asks_two_peers(unsigned self)
{
	if (self == 0) {
		layer_lock();
		unsent = true;
		model_wait_for(&noticed);
		leave();
	} else {
		atomic_store_explicit(&changed, 1, memory_order_release);
		platform_signal(PLATFORM_NET);
	}
}

/* The same of two threads, one of which polls for both. */
static void ask_two_peers(unsigned self)
{
	asks_two_peers(self < 2 ? 0 : 1);
}

/* Each thread waits for a message of its own and does not come back. */
static void two_leave(unsigned self)
{
	if (self < 2) {
		sleeper(&got[self + 1]);
	} else {
		deliver(1);
		deliver(2);
	}
}

/* One message ends two sleeps; the third thread's comes later. */
static void three_leave(unsigned self)
{
	if (self < 3) {
		sleeper(&got[self ? self : 1]);
	} else {
		deliver(1);
		deliver(2);
	}
}

/* A thread gives up at its deadline, as the poller or beside it. */
static void gives_up(unsigned self)
{
	if (self == 0) {
		layer_lock();
		while (event_wait(SOON))
			;
		leave();
	} else if (self == 1) {
		sleeper(&got[1]);
	} else {
		model_set_time(SOON);
		deliver(1);
	}
}

/* A thread that a signal wakes runs the handler without the lock before its call ends (apps/libc/posix/signal.c). */
static void runs_a_handler(unsigned self)
{
	if (self == 0) {
		sleeper(&got[1]);
	} else if (self == 1) {
		layer_lock();
		model_wait_for(&done);
		layer_unlock();
	} else {
		layer_lock();
		model_set(&done);
		leave();
		deliver(1);
	}
}

CASE(one_sleeps, 2)
CASE(first_socket, 3)
CASE(timer_of_another, 3)
CASE(timer_left_behind, 3)
CASE(futex_after_write, 3)
CASE(asks_a_peer, 2)
CASE(asks_beside_a_poller, 3)
CASE(asks_and_stays, 3)
CASE(asks_two_peers, 2)
CASE(ask_two_peers, 3)
CASE(two_leave, 3)
CASE(three_leave, 4)
CASE(gives_up, 3)
CASE(runs_a_handler, 3)

static const struct explore_case cases[] = {
	{ .name = "one sleeps", RUN(2, begin_started, one_sleeps) },
	{ .name = "the first socket beside a poller", RUN(3, 0, first_socket) },
	{ .name = "a timer beside a poller", RUN(3, begin_started, timer_of_another) },
	{ .name = "an earlier timer beside a poller", RUN(3, begin_with_timer, timer_of_another) },
	{ .name = "a timer left behind", RUN(3, begin_started, timer_left_behind) },
	{ .name = "a futex after a write", RUN(3, begin_started, futex_after_write) },
	{ .name = "a peer is asked", RUN(2, begin_with_peer, asks_a_peer) },
	{ .name = "a peer is asked beside a poller", RUN(3, begin_with_peer, asks_beside_a_poller) },
	{ .name = "a peer is asked by a thread that stays awake", RUN(3, begin_with_peer, asks_and_stays) },
	{ .name = "two peers are asked while something changes", RUN(2, begin_with_peers, asks_two_peers) },
	{ .name = "two threads ask two peers", RUN(3, begin_with_peers, ask_two_peers) },
	{ .name = "two leave", RUN(3, begin_started, two_leave) },
	{ .name = "three leave", RUN(4, begin_started, three_leave) },
	{ .name = "one gives up", RUN(3, begin_started, gives_up) },
	{ .name = "a handler beside a poller", RUN(3, begin_started, runs_a_handler) },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
